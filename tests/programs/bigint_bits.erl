%% Bitwise operations on negative bignums (two's complement), and comparison with floats.
-module(bigint_bits).
-export([main/1, id/1]).

main(_) ->
    Ns = [1 bsl 64, -(1 bsl 64), (1 bsl 64) - 1, -(1 bsl 64) + 1, 1 bsl 128, -(1 bsl 128) - 1,
          16#123456789ABCDEF0123456789, -16#123456789ABCDEF0123456789, -1, 0, 1, 16#FFFFFFFF,
          -16#FFFFFFFF],
    [io:format("~.16B ~.16B: ~.16B ~.16B ~.16B~n", [A, B, id(A) band id(B), id(A) bor id(B), id(A) bxor id(B)])
     || A <- Ns, B <- Ns],
    Fs = [0.0, 1.0, -1.0, 1.8446744073709552e19, -1.8446744073709552e19, 1.0e100, 1.0e308, 9007199254740992.0,
          4294967295.0],
    Is = Ns ++ [9007199254740992, 9007199254740993, 1 bsl 200, 1 bsl 1100, -(1 bsl 1100)],
    [io:format("~w ~w: ~w~n", [I, F, {I < F, I == F, I > F, I =:= F, F < I, F == I}]) || I <- Is, F <- Fs],
    io:format("~w~n", [[float(I) || I <- Is, abs(I) < 1 bsl 1000]]),
    io:format("~w~n", [try float(id(1 bsl 1100)) catch C:R -> {C, R} end]),
    io:format("~w~n", [try id(1 bsl 1100) + 1.0 catch C2:R2 -> {C2, R2} end]),
    io:format("~w~n", [[trunc(F) || F <- Fs]]),
    io:format("~w~n", [[round(F) || F <- [2.5, -2.5, 0.5, 1.5, -0.5, 1.0e20, 4503599627370497.5, 0.49999999999999994]]]),
    io:format("~w~n", [[{floor(F), ceil(F), trunc(F)} || F <- [2.5, -2.5, 0.0, 1.0e20, -1.0e20, 3.0, -3.0]]]).

id(X) -> X.
