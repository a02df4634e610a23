%% The time since the start of the machine, and the order of processes/0: those that were made first come first.
-module(since_start).
-export([main/1]).

main(_) ->
    timer:sleep(60),
    {Total, Total} = statistics(wall_clock),
    io:format("~p~n", [Total >= 60]),
    {Later, Since} = statistics(wall_clock),
    io:format("~p~n", [Later =:= Total + Since]),
    First = made(20),
    [stop(P) || {N, P} <- lists:zip(lists:seq(1, 20), First), N rem 3 =/= 0],
    Second = made(40),
    Expected = [P || {N, P} <- lists:zip(lists:seq(1, 20), First), N rem 3 =:= 0] ++ Second,
    io:format("~p~n", [[P || P <- processes(), lists:member(P, Expected)] =:= Expected]).

made(Count) ->
    [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, Count)].

stop(Pid) ->
    Monitor = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.
