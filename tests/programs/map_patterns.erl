%% Map patterns with many keys, keys in variables, nested, in funs, comprehensions and receives.
-module(map_patterns).
-export([main/1, id/1]).

main(_) ->
    M = id(#{a => 1, b => 2, c => 3, d => #{e => [#{f => 6}]}, "s" => 7, 8 => 9, {t} => 10}),
    #{a := A, b := B, c := C, d := #{e := [#{f := F}]}, "s" := S, 8 := N, {t} := T} = M,
    p([A, B, C, F, S, N, T]),
    p([get_key(K, M) || K <- [a, "s", 8, {t}, none, 8.0]]),
    p([shape(X) || X <- [#{type => circle, r => 2}, #{type => rect, w => 2, h => 3}, #{type => rect, w => 2}, #{type => other}, #{}, []]]),
    self() ! #{id => 1, body => x}, self() ! #{id => 2, body => y},
    Want = id(2), p(receive #{id := Want, body := Body} -> Body end),
    p([V || #{v := V} <- [#{v => 1}, #{w => 2}, #{v => 3}]]),
    p((fun(#{k := X}) -> X; (#{}) -> nothing end)(#{k => found})),
    p(try #{zz := _} = M catch error:{badmatch, Bad} -> map_size(Bad) end),
    p(case M of #{a := 1, b := 3} -> first; #{a := 1, b := 2} -> second end),
    p(same(#{k => 1, l => 1})), p(same(#{k => 1, l => 2})),
    p(update(M)), p(count(#{}, "hello world")),
    p([case X of #{a := _} when map_size(X) > 1 -> big; #{a := _} -> small; _ -> no end || X <- [#{a => 1}, #{a => 1, b => 2}, #{b => 1}]]),
    Large = maps:from_list([{I, I * I} || I <- lists:seq(1, 100)]),
    #{10 := L10, 50 := L50, 99 := L99} = Large, p([L10, L50, L99]),
    K1 = id(42), #{K1 := L42} = Large, p(L42),
    p([case Large of #{X := Y} -> Y; _ -> none end || X <- [1, 100, 101, 1.0]]),
    p(map_size(Large#{1 := a, 200 => b})),
    p(nested_update(#{x => #{y => #{z => 1}}})),
    p([try missing(K) catch error:Reason -> Reason end || K <- [empty, one]]).

get_key(K, M) -> case M of #{K := V} -> V; _ -> missing end.

shape(#{type := circle, r := R}) -> {circle, 3 * R * R};
shape(#{type := rect, w := W, h := H}) -> {rect, W * H};
shape(#{type := T}) when is_atom(T) -> {unknown, T};
shape(M) when is_map(M) -> empty;
shape(_) -> none.

same(#{k := X, l := X}) -> same;
same(#{k := _, l := _}) -> different.

update(#{a := A} = M) -> maps:with([a, new, b], M#{a := A + 1, new => A, b := {A}}).

count(M, []) -> lists:sort(maps:to_list(M));
count(M, [C | R]) -> case M of #{C := N} -> count(M#{C := N + 1}, R); _ -> count(M#{C => 1}, R) end.

%% Keys that a constant map does not have.
missing(empty) -> Empty = #{}, Empty#{true := id(1)};
missing(one) -> One = #{a => 1}, One#{b := id(2), a := id(3)}.

nested_update(#{x := #{y := Y} = X} = M) -> M#{x := X#{y := Y#{z := 2, w => 3}}}.

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
