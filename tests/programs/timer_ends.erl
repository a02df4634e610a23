%% Timers whose message goes to a process that ends: they go with it, whoever has started them, and before anybody learns of the end.
%% Those that go to a name stay.
-module(timer_ends).
-export([main/1]).

-define(LONG, 100000).

main(_) ->
    Self = self(),
    %% Its own, and those of others.
    {P, M} = spawn_monitor(fun() ->
        Self ! {own, [erlang:F(?LONG + N, self(), {N, "text"}) || N <- lists:seq(1, 150), F <- [send_after, start_timer]]},
        receive stop -> ok end
    end),
    Own = receive {own, Refs} -> Refs end,
    register(timer_ends, P),
    Mine = [erlang:send_after(?LONG, P, x) || _ <- lists:seq(1, 150)],
    Named = erlang:send_after(?LONG, timer_ends, x),
    p([lists:all(fun is_running/1, Own ++ Mine), is_running(Named)]),
    P ! stop,
    receive {'DOWN', M, _, _, _} -> ok end,
    p([lists:usort([erlang:read_timer(R) || R <- Own ++ Mine]), lists:usort([erlang:cancel_timer(R) || R <- Own ++ Mine])]),
    p([is_running(Named), erlang:cancel_timer(Named) > 0, erlang:cancel_timer(Named)]),
    %% To one that has ended already.
    p([erlang:read_timer(erlang:send_after(?LONG, P, x)), erlang:cancel_timer(erlang:start_timer(?LONG, P, x)), erlang:start_timer(0, P, x) =:= x]),
    %% One that is killed, one that is told so by its link.
    p([how(fun(Q) -> exit(Q, kill) end), how(fun(Q) -> exit(Q, bad) end)]),
    %% Others stay when the process that started them ends.
    {S, MS} = spawn_monitor(fun() -> Self ! {started, erlang:start_timer(20, Self, from_one_that_ended)} end),
    receive {'DOWN', MS, _, S, _} -> ok end,
    R = receive {started, Started} -> Started end,
    p(receive {timeout, R, Last} -> Last end),
    %% Timers that start and processes that end at the same time.
    p(lists:usort([race() || _ <- lists:seq(1, 300)])).

how(End) ->
    {P, M} = spawn_monitor(fun() -> receive stop -> ok end end),
    R = erlang:send_after(?LONG, P, x),
    true = is_running(R),
    End(P),
    receive {'DOWN', M, _, _, _} -> erlang:read_timer(R) end.

race() ->
    {P, M} = spawn_monitor(fun() -> receive go -> ok end end),
    P ! go,
    Refs = start(P, M, []),
    lists:usort([erlang:read_timer(R) || R <- Refs]).

%% Starts timers until the process has ended, and one more.
start(P, M, Refs) ->
    Ref = erlang:send_after(?LONG, P, x),
    receive {'DOWN', M, _, _, _} -> [Ref, erlang:send_after(?LONG, P, x) | Refs] after 0 -> start(P, M, [Ref | Refs]) end.

is_running(R) -> is_integer(erlang:read_timer(R)).

p(X) -> io:format("~p~n", [X]).
