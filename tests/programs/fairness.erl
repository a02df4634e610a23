%% Busy processes do not starve others; priorities; yield; a loop without calls out is interrupted.
-module(fairness).
-export([main/1, spin/1]).

main(_) ->
    Spinners = [spawn(?MODULE, spin, [0]) || _ <- lists:seq(1, 4)],
    Self = self(),
    P = spawn(fun() -> ponger() end),
    p([begin P ! {Self, N}, receive {P, N} -> N end end || N <- lists:seq(1, 20)]),
    p(receive after 20 -> timer_ran end),
    H = spawn_opt(fun() -> Self ! high_ran end, [{priority, high}]),
    p(receive high_ran -> is_pid(H) after 20000 -> starved end),
    p([is_process_alive(S) || S <- Spinners]),
    [begin R = monitor(process, S), exit(S, kill), receive {'DOWN', R, _, _, X} -> p(X) end end || S <- Spinners],
    p([process_flag(priority, L) || L <- [low, high, normal, max, normal]]),
    p([erlang:yield() || _ <- [1, 2, 3]]),
    p(try process_flag(priority, highest) catch C:E -> {C, E} end),
    {_, R0} = process_info(self(), reductions),
    erlang:bump_reductions(1000),
    {_, R1} = process_info(self(), reductions),
    p(R1 - R0 >= 1000).

spin(N) -> spin((N + 1) band 16#FFFF).

ponger() -> receive {From, N} -> From ! {self(), N}, ponger() end.

p(X) -> io:format("~w~n", [X]).
