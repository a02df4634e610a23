%% ETS: all table types, keys, matching, select, update, ordering, errors, ownership.
-module(ets_basic).
-export([main/1]).

main(_) ->
    [types(T) || T <- [set, ordered_set, bag, duplicate_bag]],
    T = ets:new(t, [ordered_set, public, named_table, {keypos, 2}]),
    p(T),
    ets:insert(t, [{v, N, N * N} || N <- lists:seq(1, 20)]),
    p([ets:lookup(t, 3), ets:lookup(t, 3.0), ets:lookup(t, 99), ets:member(t, 5), ets:first(t), ets:last(t), ets:next(t, 5), ets:prev(t, 5), ets:next(t, 20), ets:info(t, size), ets:lookup_element(t, 4, 3)]),
    p([ets:match(t, {v, '$1', 16}), ets:match_object(t, {'_', 2, '_'}), ets:select(t, [{{'_', '$1', '$2'}, [{'>', '$2', 300}], ['$1']}]), ets:select(t, [{{v, '$1', '_'}, [{'<', '$1', 4}], [{{'$1', {'*', '$1', 2}}}]}]), ets:select_count(t, [{{'_', '$1', '_'}, [{'=:=', {'rem', '$1', 5}, 0}], [true]}])]),
    p([ets:select_delete(t, [{{'_', '$1', '_'}, [{'>', '$1', 15}], [true]}]), ets:info(t, size), ets:update_element(t, 1, {3, new}), ets:update_counter(t, 2, {3, 100}), ets:update_counter(t, 2, [{3, 1}, {3, -2, 50, 0}]), ets:take(t, 3), ets:delete(t, 4), ets:tab2list(t)]),
    p([ets:foldl(fun({_, K, _}, S) -> K + S end, 0, t), ets:foldr(fun({_, K, _}, L) -> [K | L] end, [], t)]),
    {L1, C} = ets:select(t, [{{'_', '$1', '_'}, [], ['$1']}], 5), {L2, _} = ets:select(C),
    p([L1, L2]),
    p([ets:insert_new(t, {v, 1, x}), ets:insert_new(t, {v, 100, x}), ets:delete_all_objects(t), ets:info(t, size)]),
    p([b(F) || F <- [fun() -> ets:lookup(nope, 1) end, fun() -> ets:insert(t, {short}) end, fun() -> ets:insert(t, a) end, fun() -> ets:new(t, [named_table]) end, fun() -> ets:new(x, [bad]) end, fun() -> ets:update_counter(t, zz, 1) end, fun() -> ets:lookup_element(t, zz, 1) end, fun() -> ets:next(t, a) end]]),
    Self = self(),
    {P, R} = spawn_monitor(fun() -> X = ets:new(x, [protected]), ets:insert(X, {k, v}), Self ! {tab, X}, receive stop -> ok end end),
    X = receive {tab, X0} -> X0 end,
    p([ets:lookup(X, k), b(fun() -> ets:insert(X, {k, w}) end)]),
    P ! stop, receive {'DOWN', R, _, _, _} -> ok end,
    p([ets:info(X), b(fun() -> ets:lookup(X, k) end)]),
    Big = ets:new(big, []),
    [ets:insert(Big, {N, lists:seq(1, N rem 10), <<N:64>>}) || N <- lists:seq(1, 5000)],
    p([ets:info(Big, size), lists:sum([length(L) || {_, L, _} <- ets:tab2list(Big)]), element(3, hd(ets:lookup(Big, 77)))]),
    erlang:garbage_collect(),
    p(lists:sum([K || [{K, _, <<K:64>>}] <- [ets:lookup(Big, N) || N <- lists:seq(1, 5000)]])),
    p([ets:delete(Big), b(fun() -> ets:info(Big, bad) end), ets:whereis(t) =/= undefined, ets:delete(t), ets:whereis(t)]),
    H = ets:new(heir, [{heir, Self, data}, public]),
    {P2, _} = spawn_monitor(fun() -> receive go -> ok end end),
    ets:give_away(H, P2, gift), P2 ! go,
    p(receive {'ETS-TRANSFER', H, P2, D} -> D after 20000 -> none end),
    p(ets:test_ms({a, 5}, [{{'$1', '$2'}, [{'>', '$2', 3}], ['$$']}])),
    p(ets:match_spec_run([{1, a}, {2, b}], ets:match_spec_compile([{{'$1', b}, [], ['$1']}]))).

types(Type) ->
    T = ets:new(x, [Type]),
    ets:insert(T, [{1, a}, {1, b}, {1.0, c}, {1, a}, {b, 2}, {"s", 3}, {{t, 1}, 4}]),
    p({Type, lists:sort(ets:tab2list(T)), lists:sort(ets:lookup(T, 1)), lists:sort(ets:lookup(T, 1.0)), ets:info(T, size), ets:info(T, type)}),
    ets:delete_object(T, {1, a}),
    p(lists:sort(ets:lookup(T, 1))),
    ets:delete(T).

b(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
