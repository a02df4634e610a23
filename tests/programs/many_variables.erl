%% Functions with more live variables than any set of registers: arguments, locals, across calls.
-module(many_variables).
-export([main/1, id/1, wide/40]).

main(_) ->
    p(apply(?MODULE, wide, lists:seq(1, 40))),
    p(locals(id(1), id(2), id(3), id(4))),
    p(across(id(100))),
    p(clobber([id(N) || N <- lists:seq(1, 30)])),
    p(swap(1, 2, 3, 4, 10)),
    p(rotate(a, b, c, d, e, 7)),
    p(nested_tuples(id({1, {2, {3, {4, {5, {6, {7, {8, 9}}}}}}}}))),
    p(branches(id(3), id(5))),
    p(erlang:phash2(tuple40(id(x)))),
    p(mixed(id(1), id(2.0), id([3]), id({4}), id(<<5>>))).

wide(A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, A21, A22, A23, A24, A25, A26, A27, A28, A29, A30, A31, A32, A33, A34, A35, A36, A37, A38, A39, A40) ->
    X = id(A1 + A40),
    {X, [A2, A4, A6, A8, A10, A12, A14, A16, A18, A20, A22, A24, A26, A28, A30, A32, A34, A36, A38], A3 + A5 + A7 + A9 + A11 + A13 + A15 + A17 + A19 + A21 + A23 + A25 + A27 + A29 + A31 + A33 + A35 + A37 + A39}.

locals(A, B, C, D) ->
    E = A + B, F = B * C, G = C - D, H = {A, B}, I = [C, D], J = E + F, K = id(J), L = K + G, M = id(L), N = {M, H}, O = [N | I], P = id(O),
    {A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P}.

across(A) ->
    B = id(A + 1), C = id(B + 1), D = id(C + 1), E = id(D + 1), F = id(E + 1), G = id(F + 1), H = id(G + 1), I = id(H + 1),
    J = try id(I + 1) catch _:_ -> 0 end,
    K = case id(J) of Z when Z > 0 -> id(Z); _ -> 0 end,
    A + B + C + D + E + F + G + H + I + J + K.

clobber([A, B, C, D, E, F, G, H, I, J | Rest]) ->
    erlang:garbage_collect(),
    X = lists:sum(Rest),
    erlang:garbage_collect(),
    {J, I, H, G, F, E, D, C, B, A, X}.

swap(A, B, C, D, 0) -> {A, B, C, D};
swap(A, B, C, D, N) -> swap(B, A, D, C, N - 1).

rotate(A, B, C, D, E, 0) -> [A, B, C, D, E];
rotate(A, B, C, D, E, N) -> rotate(E, A, B, C, D, N - 1).

nested_tuples({A, {B, {C, {D, {E, {F, {G, {H, I}}}}}}}}) -> [I, H, G, F, E, D, C, B, A].

branches(A, B) ->
    X = if A > B -> id(1); A < B -> id(2); true -> id(3) end,
    Y = case {X, A} of {1, _} -> B; {2, N} -> N + id(B); _ -> 0 end,
    {A, B, X, Y}.

tuple40(X) -> {X, 1, X, 2, X, 3, X, 4, X, 5, X, 6, X, 7, X, 8, X, 9, X, 10, [X, X, {X, [X | X]}], X, 11, X, 12, X, 13, X, 14, X, 15, #{X => X, {X} => [X]}, <<"lit">>}.

mixed(A, B, C, D, E) ->
    F = A + B, G = [F | C], H = {D, E, G}, I = id(H), <<J>> = E, K = J * 2.5, {L} = D,
    {I, K + F, L bsl A, float(A) / B}.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
