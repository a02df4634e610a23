%% dict, orddict, gb_trees, gb_sets, sets, ordsets: one sequence of operations on each.
-module(key_value_modules).
-export([main/1]).

main(_) ->
    Pairs = [{(N * 7919) rem 503, N} || N <- lists:seq(1, 400)],
    [dict_like(M, Pairs) || M <- [dict, orddict]],
    trees(Pairs),
    [set_like(M, [K || {K, _} <- Pairs]) || M <- [sets, ordsets, gb_sets]],
    V2 = sets:from_list([a, b, c], [{version, 2}]),
    p({V2, lists:sort(sets:to_list(sets:add_element(d, V2)))}).

dict_like(M, Pairs) ->
    D = lists:foldl(fun({K, V}, A) -> M:store(K, V, A) end, M:new(), Pairs),
    D = case M of dict -> D; _ -> M:from_list(Pairs) end,
    p({M, M:size(D), erlang:phash2(lists:sort(M:to_list(D))), M:find(1, D), M:find(x, D), M:is_key(2, D), M:fetch(3, D)}),
    D2 = lists:foldl(fun(K, A) -> M:erase(K, A) end, D, lists:seq(1, 500, 2)),
    p({M:size(D2), lists:sum(M:fetch_keys(D2)), M:fold(fun(_, V, S) -> V + S end, 0, D2), M:is_empty(D2)}),
    D3 = M:update_counter(cnt, 5, M:update_counter(cnt, 1, M:append(l, x, M:append(l, y, D2)))),
    p({M:fetch(cnt, D3), M:fetch(l, D3), M:size(M:filter(fun(_, V) -> is_integer(V) andalso V > 200 end, D3)), M:fetch(l, M:append_list(l, [1, 2], D3))}),
    D4 = M:merge(fun(_, A, B) -> {A, B} end, M:from_list([{a, 1}, {b, 2}]), M:from_list([{b, 3}])),
    p({lists:sort(M:to_list(D4)), M:update(a, fun(X) -> X + 1 end, D4) =/= D4, lists:sort(M:to_list(M:map(fun(_, V) -> {V} end, D4))), M:take(a, D4) =/= error, M:take(z, D4)}),
    p([try M:fetch(zz, D) catch C:_ -> C end, M:fetch(zz, M:update(zz, fun(X) -> X end, 7, D))]).

trees(Pairs) ->
    T = lists:foldl(fun({K, V}, A) -> gb_trees:enter(K, V, A) end, gb_trees:empty(), Pairs),
    p({gb_trees:size(T), erlang:phash2(gb_trees:to_list(T)), erlang:phash2(T), gb_trees:smallest(T), gb_trees:largest(T), gb_trees:lookup(1, T), gb_trees:lookup(x, T)}),
    T2 = lists:foldl(fun(K, A) -> gb_trees:delete_any(K, A) end, T, lists:seq(1, 500, 2)),
    p({gb_trees:size(T2), erlang:phash2(T2), erlang:phash2(gb_trees:balance(T2)), gb_trees:keys(gb_trees:map(fun(_, V) -> V end, T2)) =:= gb_trees:keys(T2)}),
    {K, V, T3} = gb_trees:take_smallest(T2),
    p({K, V, gb_trees:size(T3), element(1, gb_trees:take_largest(T2)), drain(gb_trees:next(gb_trees:iterator_from(480, T2)))}),
    p([try gb_trees:insert(K, x, T2) catch C:E -> {C, element(1, E)} end, try gb_trees:get(x, T2) catch C:_ -> C end, try gb_trees:delete(x, T2) catch C:_ -> C end]).

drain(none) -> [];
drain({K, _, I}) -> [K | drain(gb_trees:next(I))].

set_like(M, Keys) ->
    S = M:from_list(Keys),
    E = M:from_list(lists:seq(0, 1000, 2)),
    p({M, M:size(S), erlang:phash2(lists:sort(M:to_list(S))), M:is_element(1, S), M:is_element(x, S), M:size(M:union(S, E)), M:size(M:intersection(S, E)), M:size(M:subtract(S, E)), M:is_subset(M:intersection(S, E), E), M:is_disjoint(S, E)}),
    p({M:fold(fun(X, A) -> X + A end, 0, S), M:size(M:filter(fun(X) -> X > 100 end, S)), M:size(M:del_element(1, S)), M:size(M:add_element(1, S)), M:is_set(S), M:is_empty(M:new()), M:size(M:union([S, E, M:from_list([a])]))}).

p(X) -> io:format("~p~n", [X]).
