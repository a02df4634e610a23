%% Function heads, case, if, select_val and select_tuple_arity over atoms, integers, floats, tuples.
-module(pattern_match).
-export([main/1, id/1]).

main(_) ->
    Terms = [a, b, c, d, e, true, 0, 1, 2, 3, 1000, 1 bsl 64, -1, 1.0, 2.0, 0.0, "", "abc", [a],
             [a | b], {}, {a}, {a, b}, {1, 2, 3}, {x, {y, z}}, <<>>, <<"ab">>, #{}, #{a => 1}],
    [io:format("~w: ~w ~w ~w ~w ~w ~w~n",
               [T, atom(T), int(T), flo(T), arity(T), list(T), nested(T)]) || T <- Terms],
    io:format("~w~n", [[same(A, B) || A <- [1, 1.0, a, {1}], B <- [1, 1.0, a, {1}, {1.0}]]]),
    io:format("~w~n", [[sign(N) || N <- [-3, 0, 9, 0.5, -0.5]]]),
    {X, [Y | Z], #{k := V}, <<W:16, R/binary>>} = id({1, [2, 3], #{k => 4, l => 5}, <<0, 7, "rest">>}),
    io:format("~w ~w ~w ~w ~w ~w~n", [X, Y, Z, V, W, R]).

atom(a) -> 1; atom(b) -> 2; atom(c) -> 3; atom(d) -> 4; atom(true) -> 5; atom(_) -> no.

int(0) -> zero; int(1) -> one; int(2) -> two; int(3) -> three; int(1000) -> thousand;
int(18446744073709551616) -> big; int(N) when is_integer(N) -> other; int(_) -> no.

flo(1.0) -> one; flo(2.0) -> two; flo(F) when is_float(F) -> other; flo(_) -> no.

arity({}) -> 0; arity({_}) -> 1; arity({_, _}) -> 2; arity({_, _, _}) -> 3;
arity(T) when is_tuple(T) -> more; arity(_) -> no.

list([]) -> nil; list([$a | _]) -> a_string; list([_]) -> one; list([_ | T]) when is_list(T) -> many;
list([_ | _]) -> improper; list(_) -> no.

nested({x, {y, Z}}) -> Z; nested({x, _}) -> x; nested(_) -> no.

same(X, X) -> true;
same(_, _) -> false.

sign(N) ->
    if N < 0 -> negative;
       N > 0 -> positive;
       true -> zero
    end.

id(X) -> X.
