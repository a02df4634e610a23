%% Atoms: creation, conversion, order, length limits, quoting, unicode.
-module(atoms).
-export([main/1, id/1]).

main(_) ->
    p([list_to_atom(S) || S <- ["a", "A", "with space", "", "é", "日本", "1st", "a@b", "_x", "it's"]]),
    p(lists:sort([list_to_atom(S) || S <- ["b", "a", "ab", "", "B", "é", "z", "日"]])),
    p([atom_to_list(X) || X <- [a, 'A b', '', 'é']]),
    p([atom_to_binary(X) || X <- [a, 'é', '日本']]),
    p([atom_to_binary(X, latin1) || X <- [a, 'é']]),
    p([binary_to_atom(B, latin1) || B <- [<<"x">>, <<233>>]]),
    L255 = lists:duplicate(255, $x), W255 = lists:duplicate(255, 16#65E5),
    p([length(atom_to_list(list_to_atom(L))) || L <- [L255, W255]]),
    p([t(fun() -> list_to_atom(id(L)) end) || L <- [[$y | L255], [$y | W255], [-1], [16#D800], [a], a, [$a | $b], [1114112]]]),
    p([t(fun() -> binary_to_atom(id(B), E) end) || {B, E} <- [{<<255>>, utf8}, {<<16#C3>>, utf8}, {a, utf8}, {<<"a">>, bad}, {list_to_binary(L255 ++ "z"), utf8}]]),
    p([t(fun() -> list_to_existing_atom(id(S)) end) || S <- ["ok", "surely not " ++ "existing", "main"]]),
    p(binary_to_existing_atom(<<"error">>, utf8)),
    p([list_to_atom("made_" ++ integer_to_list(N)) =:= list_to_atom("made_" ++ integer_to_list(N)) || N <- [1, 2]]),
    Atoms = [list_to_atom("atom_" ++ integer_to_list(N)) || N <- lists:seq(1, 2000)],
    p({length(lists:usort(Atoms)), hd(lists:sort(Atoms)), lists:last(lists:sort(Atoms))}),
    p([A < B || {A, B} <- [{a, b}, {a, aa}, {'A', a}, {'', a}, {z, 'é'}, {'é', '日'}, {abc, abd}, {abcdefghi, abcdefghj}]]),
    p([undefined, nil, null, true, 'true', infinity]),
    p(erlang:system_info(atom_count) > 2000).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~tp~n", [X]).

id(X) -> X.
