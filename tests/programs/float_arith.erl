%% Float arithmetic, conversion, comparison, errors and printing.
-module(float_arith).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, -0.0, 1.0, -1.0, 0.1, 0.2, 1.0e10, 1.0e-10, 1.7976931348623157e308, 2.2250738585072014e-308,
          5.0e-324, 123456789.123, -3.5],
    [io:format("~w ~w: ~w~n", [A, B, [t(F, id(A), id(B)) || F <- operators()]]) || A <- Fs, B <- Fs],
    [io:format("~w ~w: ~w~n", [A, I, [t(F, id(A), id(I)) || F <- operators()] ++
                                         [t(F, id(I), id(A)) || F <- operators()]])
     || A <- [0.5, -2.0, 1.0e300], I <- [0, 1, -7, 1 bsl 70]],
    io:format("~w~n", [hypot(id(3), id(4.0))]),
    io:format("~w~n", [poly(id(1.5), id(2))]),
    io:format("~w~n", [[float(I) || I <- [0, 1, -5, 1 bsl 53, (1 bsl 53) + 1, 1 bsl 64]]]),
    io:format("~w~n", [[abs(F) || F <- Fs]]),
    io:format("~w~n", [[-id(F) || F <- Fs]]),
    io:format("~w~n", [lists:foldl(fun(I, S) -> S + 1 / I end, 0, lists:seq(1, 1000))]),
    io:format("~w~n", [newton(2.0, 1.0, 20)]),
    io:format("~w~n", [4 * lists:sum([sign(K) / (2 * K + 1) || K <- lists:seq(0, 999)])]).

operators() ->
    [fun(A, B) -> A + B end, fun(A, B) -> A - B end, fun(A, B) -> A * B end, fun(A, B) -> A / B end,
     fun(A, B) -> A < B end, fun(A, B) -> A == B end, fun(A, B) -> A =:= B end].

t(F, A, B) -> try F(A, B) catch error:R -> R end.

hypot(A, B) when is_number(A), is_float(B) -> math:sqrt(A * A + B * B).

%% A chain which the compiler keeps in float registers.
poly(X, N) when is_float(X) ->
    Y = X * X - 3.0 * X + N,
    Z = (Y / 2.0 + X) * -(Y),
    -Z + Y.

newton(_, X, 0) -> X;
newton(N, X, K) -> newton(N, (X + N / X) / 2, K - 1).

sign(K) when K rem 2 =:= 0 -> 1.0;
sign(_) -> -1.0.

id(X) -> X.
