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
    %% The other side stands still, so the connection is full at some time.
    OsPid = rpc:call(Other, os, getpid, []),
    os:cmd("kill -STOP " ++ OsPid),
    Flood = spawn(fun() -> [{nobody, Other} ! binary:copy(<<"x">>, ?SHORT) || _ <- lists:seq(1, 3000)], Me ! flooded end),
    Waits = wait_until(fun() -> process_info(Flood, status) =:= {status, suspended} end, 200),
    say(sender, Waits),
    say(nosuspend, erlang:send({nobody, Other}, more, [nosuspend])),
    say(nosuspend, erlang:send_nosuspend({nobody, Other}, more)),
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
