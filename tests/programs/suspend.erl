%% suspend_process, resume_process, and their counts.
-module(suspend).
-export([main/1]).

main(_) ->
    Self = self(),
    P = spawn(fun() -> counter(Self) end),
    P ! ping, p(receive {pong, P} -> pong after 20000 -> none end),
    p(erlang:suspend_process(P)),
    p(process_info(P, status)),
    P ! ping,
    p(receive {pong, P} -> pong after 30 -> none end),
    p(process_info(P, message_queue_len)),
    p(erlang:suspend_process(P)),
    p(erlang:resume_process(P)),
    p(receive {pong, P} -> pong after 20 -> none end),
    {suspending, [{_, A, B}]} = process_info(Self, suspending),
    p({A, B}),
    p(erlang:resume_process(P)),
    p(receive {pong, P} -> pong after 20000 -> none end),
    p(erlang:suspend_process(P, [unless_suspending])),
    p(erlang:suspend_process(P, [unless_suspending])),
    p(erlang:resume_process(P)),
    [p(try F() catch C:R -> {C, R} end) || F <- [fun() -> erlang:resume_process(P) end, fun() -> erlang:suspend_process(Self) end,
                                                 fun() -> erlang:suspend_process(a) end, fun() -> erlang:suspend_process(P, [bad]) end]],
    %% The suspension ends with the suspending process.
    {S, Ref} = spawn_monitor(fun() -> erlang:suspend_process(P), receive stop -> ok end end),
    receive after 10 -> ok end,
    P ! ping,
    p(receive {pong, P} -> pong after 20 -> none end),
    S ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end,
    p(receive {pong, P} -> pong after 20000 -> none end),
    exit(P, kill).

counter(To) -> receive ping -> To ! {pong, self()}, counter(To) end.

p(X) -> io:format("~w~n", [X]).
