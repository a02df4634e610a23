%% persistent_term, counters, atomics.
-module(storage_terms).
-export([main/1]).

main(_) ->
    T = {big, lists:seq(1, 1000), #{k => <<"v">>}},
    p(persistent_term:put({?MODULE, a}, T)), p(persistent_term:get({?MODULE, a}) =:= T), p(persistent_term:get(no_key, default)),
    p(try persistent_term:get(no_key) catch C:R -> {C, R} end),
    Self = self(),
    spawn(fun() -> Self ! {got, persistent_term:get({?MODULE, a}) =:= T} end), p(receive {got, X} -> X end),
    p(persistent_term:put({?MODULE, a}, other)), p(persistent_term:get({?MODULE, a})), p(persistent_term:erase({?MODULE, a})), p(persistent_term:erase({?MODULE, a})),
    C1 = counters:new(3, []), counters:add(C1, 1, 5), counters:sub(C1, 1, 2), counters:put(C1, 3, -7), p([counters:get(C1, I) || I <- [1, 2, 3]]), p(maps:get(size, counters:info(C1))),
    C2 = counters:new(1, [write_concurrency]),
    Ps = [spawn_monitor(fun() -> [counters:add(C2, 1, 1) || _ <- lists:seq(1, 1000)] end) || _ <- lists:seq(1, 10)],
    [receive {'DOWN', M, _, _, _} -> ok end || {_, M} <- Ps],
    p(counters:get(C2, 1)),
    A = atomics:new(2, []), p([atomics:add_get(A, 1, 10), atomics:sub_get(A, 1, 3), atomics:exchange(A, 1, 100), atomics:compare_exchange(A, 1, 100, 200), atomics:compare_exchange(A, 1, 100, 300), atomics:get(A, 1)]),
    atomics:put(A, 2, (1 bsl 63) - 1), p(atomics:add_get(A, 2, 1)),
    U = atomics:new(1, [{signed, false}]), p([atomics:sub_get(U, 1, 1), maps:get(max, atomics:info(U))]),
    Qs = [spawn_monitor(fun() -> [atomics:add(A, 1, 1) || _ <- lists:seq(1, 1000)] end) || _ <- lists:seq(1, 10)],
    [receive {'DOWN', M, _, _, _} -> ok end || {_, M} <- Qs],
    p(atomics:get(A, 1)),
    p([b(F) || F <- [fun() -> counters:new(0, []) end, fun() -> counters:get(C1, 4) end, fun() -> counters:add(C1, 1, a) end, fun() -> atomics:new(-1, []) end, fun() -> atomics:put(A, 1, 1 bsl 64) end, fun() -> atomics:get(x, 1) end, fun() -> counters:new(1, [bad]) end]]).

b(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).
