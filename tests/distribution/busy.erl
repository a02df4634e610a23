%% Senders and a connection that has too much to carry: who waits, who does not, and that everything arrives.
-module(busy).
-export([main/1, count/2]).

%% A long message, which leaves in fragments, and a short one.
-define(PIECE, 100000).
-define(SHORT, 50000).

main(Other) ->
    say(limit, erlang:system_info(dist_buf_busy_limit)),
    Pid = spawn(Other, ?MODULE, count, [self(), 0]),
    %% Far more than may wait: it all arrives, from each sender in order.
    Me = self(),
    Senders = [spawn_link(fun() -> send(Pid, N, 200), Me ! {sent, self()} end) || N <- [1, 2, 3, 4]],
    [receive {sent, Sender} -> ok after 60000 -> say(stuck, Sender) end || Sender <- Senders],
    Pid ! {self(), stop},
    say(arrived, receive {Pid, Count, InOrder} -> {Count, InOrder} after 60000 -> timeout end),
    Held = spawn(Other, timer, sleep, [infinity]),
    Ends = spawn(fun() -> link(Held), Me ! linked, receive {ends, Reason} -> exit(Reason) end end),
    receive linked -> ok end,
    %% The other side stands still, so the connection is full at some time.
    OsPid = rpc:call(Other, os, getpid, []),
    os:cmd("kill -STOP " ++ OsPid),
    Flood = spawn(fun() -> [{nobody, Other} ! binary:copy(<<"x">>, ?SHORT) || _ <- lists:seq(1, 3000)], Me ! flooded end),
    Waits = wait_until(fun() -> process_info(Flood, status) =:= {status, suspended} end, 200),
    say(sender, Waits),
    say(nosuspend, erlang:send({nobody, Other}, more, [nosuspend])),
    say(nosuspend, erlang:send_nosuspend({nobody, Other}, more)),
    fill(Other, 10),
    [say(What, waits(Act)) || {What, Act} <- acts(Other, Held)],
    Large = spawn(fun() -> Held ! binary:copy(<<"z">>, 10 * ?SHORT) end),
    say(large, wait_until(fun() -> process_info(Large, status) =:= {status, suspended} end, 20)),
    %% So does the long reason of one that ends, and the system monitor hears of it.
    erlang:system_monitor(self(), [busy_dist_port]),
    Ends ! {ends, binary:copy(<<"r">>, 10 * ?SHORT)},
    say(ends, receive {monitor, Ends, busy_dist_port, Port} when is_port(Port) -> told after 5000 -> not_told end),
    erlang:system_monitor(undefined),
    say(waits, receive flooded -> no after 300 -> yes end),
    os:cmd("kill -CONT " ++ OsPid),
    say(flooded, receive flooded -> ok after 60000 -> timeout end),
    say(call, rpc:call(Other, erlang, is_alive, [])),
    %% One that is suspended goes on when the node is gone.
    os:cmd("kill -STOP " ++ OsPid),
    Last = spawn(fun() -> [{nobody, Other} ! binary:copy(<<"x">>, ?SHORT) || _ <- lists:seq(1, 1000)], Me ! last end),
    say(sender, wait_until(fun() -> process_info(Last, status) =:= {status, suspended} end, 200)),
    os:cmd("kill -KILL " ++ OsPid),
    say(last, receive last -> ok after 60000 -> timeout end),
    say(gone, wait_until(fun() -> nodes() =:= [] end, 100)),
    say(done, ok).

%% Until the system takes nothing either.
fill(_, 0) -> ok;
fill(Other, Times) ->
    case erlang:send({nobody, Other}, binary:copy(<<"x">>, ?SHORT), [nosuspend]) of
        nosuspend -> timer:sleep(50), fill(Other, Times - 1);
        ok -> fill(Other, 10)
    end.

%% Each of these finds the connection full.
acts(Other, Pid) ->
    [{link, fun() -> link(Pid) end}, {monitor, fun() -> monitor(process, Pid) end},
     {exit, fun() -> exit(Pid, never), ok end}, {send, fun() -> erlang:send(Pid, short) end},
     {request, fun() -> spawn_request(Other, erlang, node, []) end}].

%% Who waits is shown in a function that gives the result back; OTP has several, by how far the work has come.
waits(Act) ->
    Pid = spawn(Act),
    Is = wait_until(fun() -> process_info(Pid, status) =:= {status, suspended} end, 200),
    {current_function, {_, Function, _}} = process_info(Pid, current_function),
    {Is, lists:member(Function, [bif_return_trap, dsend_continue_trap, spawn_request_yield])}.

say(What, Result) -> io:format("~p: ~p~n", [What, Result]).

send(_, _, 0) -> ok;
send(Pid, Sender, Left) -> Pid ! {Sender, Left, binary:copy(<<"y">>, ?PIECE)}, send(Pid, Sender, Left - 1).

wait_until(_, 0) -> no;
wait_until(Is, Tries) ->
    case Is() of
        true -> yes;
        false -> timer:sleep(50), wait_until(Is, Tries - 1)
    end.

count(From, Count) -> count(From, Count, #{}, true).

count(From, Count, Next, InOrder) ->
    receive
        {From, stop} -> From ! {self(), Count, InOrder};
        {Sender, Left, _} ->
            Is = maps:get(Sender, Next, 200) =:= Left,
            count(From, Count + 1, Next#{Sender => Left - 1}, InOrder andalso Is)
    end.
