%% 10,000 processes at once: spawn, message each, collect, and all gone at the end.
-module(many_processes).
-export([main/1, worker/1]).

main(_) ->
    N = 10000,
    Self = self(),
    Before = erlang:system_info(process_count),
    Pids = [spawn(?MODULE, worker, [Self]) || _ <- lists:seq(1, N)],
    io:format("~w~n", [length(lists:usort(Pids))]),
    io:format("~w~n", [erlang:system_info(process_count) - Before >= N]),
    lists:foldl(fun(P, I) -> P ! {work, I}, I + 1 end, 1, Pids),
    io:format("~w~n", [lists:sum([receive {result, R} -> R end || _ <- Pids])]),
    Refs = [monitor(process, P) || P <- Pids],
    [P ! stop || P <- Pids],
    io:format("~w~n", [lists:usort([receive {'DOWN', R, _, _, X} -> X end || R <- Refs])]),
    io:format("~w~n", [lists:any(fun is_process_alive/1, Pids)]),
    %% A second generation, each spawned by the one before.
    spawn(fun() -> chain(2000, Self) end),
    io:format("~w~n", [receive {chained, C} -> C end]).

worker(To) ->
    receive
        {work, I} -> To ! {result, I * 2}, worker(To);
        stop -> ok
    end.

chain(0, To) -> To ! {chained, done};
chain(N, To) -> spawn(fun() -> chain(N - 1, To) end).
