%% List and binary comprehensions with several generators, filters, patterns, and errors.
-module(comprehensions).
-export([main/1, id/1]).

main(_) ->
    p([X * 2 || X <- [1, 2, 3]]),
    p([{X, Y} || X <- [1, 2, 3], Y <- [a, b], X =/= 2]),
    p([X || {ok, X} <- [{ok, 1}, error, {ok, 2}, {error, 3}]]),
    p([{X, Y, Z} || X <- lists:seq(1, 20), Y <- lists:seq(X, 20), Z <- lists:seq(Y, 20), X * X + Y * Y =:= Z * Z]),
    p([[Y || Y <- lists:seq(1, X)] || X <- [1, 2, 3]]),
    p([X || X <- [1, 2, 3, 4], X rem 2 =:= 0, X > 2]),
    p([X || X <- [1, a, "s", 2.0], is_number(X) orelse is_atom(X)]),
    p([X || X <- [1, {a}, [b]], is_list(X), hd(X) =:= b]),
    p([X || X <- lists:seq(1, 10), odd(X)]),
    p(<< <<(X + 1)>> || <<X>> <= <<1, 2, 3>> >>),
    p(<< <<X:4>> || X <- [1, 2, 3] >>),
    p([X || <<X:3>> <= <<16#AB, 16#CD>>]),
    p([{A, B} || <<A:4, B:4>> <= <<"hi">>, A < B]),
    p(<< <<B, A>> || <<A, B>> <= <<"abcdef">> >>),
    p(<< <<X>> || X <- [1, 2, 300], X < 256, _ <- [a, b] >>),
    p([C || <<C/utf8>> <= <<"aåb"/utf8>>]),
    p([{K, V} || <<K, L, V:L/binary>> <= <<1, 2, "ab", 3, 0, 4, 9, "x">>]),
    p([X || X <- [] ]),
    p([X || <<X>> <= <<>>]),
    p(<< <<X>> || X <- [] >>),
    p([(fun(Y) -> X + Y end)(10) || X <- [1, 2]]),
    p([F() || F <- [fun() -> X end || X <- [1, 2, 3]]]),
    p([t(fun() -> [X || X <- id(a)] end), t(fun() -> [X || X <- id([1 | 2])] end), t(fun() -> [X || <<X>> <= id([1])] end),
       t(fun() -> [X || X <- [1], id(1)] end), t(fun() -> << <<(id(X))/binary>> || X <- [1] >> end), t(fun() -> [1 div X || X <- [1, 0]] end)]),
    Y = outer,
    p({[Z || Z <- [1], Y =:= outer], Y}),
    [io:format("~w ", [N]) || N <- lists:seq(1, 5)], io:nl(),
    _ = [put(k, N) || N <- [1, 2, 3]],
    p(get(k)),
    p(length([1 || _ <- lists:seq(1, 100000)])),
    p(byte_size(<< <<N:32>> || N <- lists:seq(1, 10000) >>)),
    p(primes(60)).

odd(X) -> X rem 2 =:= 1.

primes(N) -> lists:seq(2, N) -- [C || X <- lists:seq(2, N), X * X =< N, C <- lists:seq(X * X, N, X)].

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
