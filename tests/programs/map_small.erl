%% Flat maps: literals, updates, matching, the maps module, errors, iteration order.
-module(map_small).
-export([main/1, id/1]).

main(_) ->
    M = id(#{a => 1, "b" => 2, <<"c">> => 3, 4 => four, 5.0 => five, {6} => six, [7] => seven}),
    p(M),
    p(maps:to_list(M)),
    p(maps:keys(M)),
    p(maps:values(M)),
    p(M#{a := one, new => 8}),
    p((id(#{}))#{x => id(1), y => 2}),
    p(map_size(M)),
    #{a := A, {6} := S} = M,
    p({A, S}),
    K = id(4),
    #{K := V} = M,
    p(V),
    p([match(X) || X <- [#{}, #{a => 1}, #{a => 2}, #{b => 1, a => 1}, #{kind => point, x => 1, y => 2}, x]]),
    p([maps:get(K1, M, none) || K1 <- [a, 4, 4.0, 5, 5.0, [7]]]),
    p([maps:is_key(K1, M) || K1 <- [a, 4, 4.0, 5, 5.0, [7]]]),
    p([maps:find(K1, M) || K1 <- [a, b]]),
    p(maps:put(z, 26, M)),
    p(maps:remove(a, M)),
    p(maps:remove(nokey, M) =:= M),
    p(maps:take(a, M)),
    p(maps:take(nokey, M)),
    p(maps:merge(#{a => 1, b => 2}, #{b => 3, c => 4})),
    p(maps:merge_with(fun(_, X, Y) -> X + Y end, #{a => 1, b => 2}, #{b => 3, c => 4})),
    p(maps:map(fun(_, X) -> X * 2 end, #{a => 1, b => 2})),
    p(maps:filter(fun(_, X) -> X > 1 end, #{a => 1, b => 2})),
    p(maps:filtermap(fun(_, X) when X > 1 -> {true, X * X}; (_, _) -> false end, #{a => 1, b => 2, c => 3})),
    p(maps:fold(fun(K2, X, Acc) -> [{K2, X} | Acc] end, [], M)),
    p(maps:foreach(fun(K2, X) -> p({K2, X}) end, #{k => v})),
    p(maps:from_list([{a, 1}, {b, 2}, {a, 3}])),
    p(maps:from_keys([c, a, b, a], 0)),
    p(maps:update(a, 2, #{a => 1})),
    p(maps:update_with(a, fun(X) -> X + 1 end, #{a => 1})),
    p(maps:update_with(b, fun(X) -> X + 1 end, 7, #{a => 1})),
    p(maps:with([a, zz, 4], M)),
    p(maps:without([a, zz, 4], M)),
    p(maps:intersect(#{a => 1, b => 2}, #{b => 3, c => 4})),
    p(maps:groups_from_list(fun(X) -> X rem 3 end, lists:seq(1, 10))),
    p(iterate(maps:next(maps:iterator(#{a => 1, b => 2, c => 3})))),
    p([#{1 => a} == #{1.0 => a}, #{1 => a} =:= #{1.0 => a}, #{a => 1} == #{a => 1.0}, #{a => 1} =:= #{a => 1.0}]),
    p([t(fun() -> maps:get(zz, M) end), t(fun() -> maps:update(zz, 1, M) end), t(fun() -> M#{zz := 1} end),
       t(fun() -> maps:from_list([a]) end), t(fun() -> maps:from_list(a) end), t(fun() -> maps:merge(M, a) end),
       t(fun() -> maps:to_list(x) end), t(fun() -> #{zz := _} = M end), t(fun() -> maps:map(fun() -> 1 end, M) end),
       t(fun() -> maps:fold(x, 1, a) end), t(fun() -> maps:remove(a, []) end)]),
    p(is_map_key(a, M) andalso not is_map_key(b, M)),
    p(lists:foldl(fun(I, Acc) -> Acc#{I rem 7 => I} end, #{}, lists:seq(1, 100))).

match(#{kind := point, x := X, y := Y}) -> {point, X, Y};
match(#{a := 1, b := _}) -> a1_b;
match(#{a := 1}) -> a1;
match(#{a := X}) -> {a, X};
match(#{}) -> map;
match(_) -> none.

iterate(none) -> [];
iterate({K, V, I}) -> [{K, V} | iterate(maps:next(I))].

t(F) -> try F() catch C:{badarity, _} -> {C, badarity}; C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
