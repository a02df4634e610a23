%% What two connected nodes take for a few things, in microseconds. `main/1` gets the name of the other node.
-module(distribution).
-export([main/1, echo/0, count/2, one/1, wait/0, swallow/0]).

main(Other) ->
    pong = net_adm:ping(Other),
    show(round_trip, round_trips(Other, 20000) / 20000),
    show(lists, lists(Other, 3000)),
    show(binary_20_mb, binary(Other, 20000000)),
    show(spawns, spawns(Other, 100000)),
    show(calls, calls(Other, 10000) / 10000),
    show(echo_beside_long, echo_beside_long(Other, 40)),
    show(node_dies, monitors(Other, 10000)).

show(What, Time) -> io:format("~-40s ~.1f~n", [atom_to_list(What), float(Time)]).

took(F) ->
    Start = erlang:monotonic_time(microsecond),
    F(),
    erlang:monotonic_time(microsecond) - Start.

echo() -> receive {From, Message} -> From ! Message, echo() end.

round_trips(Other, Count) ->
    Pid = spawn(Other, ?MODULE, echo, []),
    Once = fun() -> Pid ! {self(), there}, receive there -> ok end end,
    [Once() || _ <- lists:seq(1, 1000)],
    took(fun() -> [Once() || _ <- lists:seq(1, Count)] end).

count(From, 0) -> From ! done;
count(From, Left) -> receive _ -> count(From, Left - 1) end.

lists(Other, Count) ->
    List = lists:seq(1, 1000),
    took(fun() ->
                 Pid = spawn(Other, ?MODULE, count, [self(), Count]),
                 [Pid ! List || _ <- lists:seq(1, Count)],
                 receive done -> ok end
         end).

binary(Other, Size) ->
    Pid = spawn(Other, ?MODULE, echo, []),
    Binary = binary:copy(<<"x">>, Size),
    took(fun() -> Pid ! {self(), Binary}, receive Back when byte_size(Back) =:= Size -> ok end end).

one(From) -> From ! one.

spawns(Other, Count) ->
    took(fun() ->
                 [spawn_request(Other, ?MODULE, one, [self()], [{reply, no}]) || _ <- lists:seq(1, Count)],
                 [receive one -> ok end || _ <- lists:seq(1, Count)]
         end).

calls(Other, Count) ->
    took(fun() -> [erpc:call(Other, erlang, node, []) || _ <- lists:seq(1, Count)] end).

wait() -> receive stop -> ok end.

swallow() -> receive _ -> swallow() end.

%% An echo while two processes send messages of 64 MB through the same connection, one after the other.
echo_beside_long(Other, Count) ->
    Long = lists:duplicate(8, binary:copy(<<"x">>, 8000000)),
    Send = fun Send(To) -> To ! Long, Send(To) end,
    Senders = [spawn_link(fun() -> Send(spawn_link(Other, ?MODULE, swallow, [])) end) || _ <- [1, 2]],
    Echo = spawn(Other, ?MODULE, echo, []),
    Once = fun() -> Echo ! {self(), there}, receive there -> ok end end,
    timer:sleep(500),
    Time = took(fun() -> [Once() || _ <- lists:seq(1, Count)] end) / Count,
    [begin unlink(Sender), exit(Sender, kill) end || Sender <- Senders],
    Time.

%% From the end of the node to the last message about it.
monitors(Other, Count) ->
    Pids = [spawn(Other, ?MODULE, wait, []) || _ <- lists:seq(1, 100)],
    References = [monitor(process, Pid) || Pid <- Pids, _ <- lists:seq(1, Count div 100)],
    erpc:call(Other, erlang, node, []),
    took(fun() ->
                 true = erlang:disconnect_node(Other),
                 [receive {'DOWN', Reference, _, _, noconnection} -> ok end || Reference <- References]
         end).
