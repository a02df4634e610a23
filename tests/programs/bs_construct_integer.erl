%% Binary construction from integers: sizes, units, signs, endianness, alignment, errors.
-module(bs_construct_integer).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 127, 128, 255, 256, -129, 65535, 16#123456789A, -16#123456789A, 1 bsl 64, -(1 bsl 64) - 1,
          16#0102030405060708090A0B0C0D0E0F10],
    [p({N, S, <<(id(N)):(id(S))>>, <<N:S/little>>, <<N:S/signed-little>>, <<N:S/native>>})
     || N <- Ns, S <- [0, 1, 3, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 100, 128, 129]],
    [p(<<1:1, N:16, 1:1>>) || N <- Ns],
    [p(<<0:3, N:13/little, 7:3, N:64>>) || N <- Ns],
    [p(<<N:2/unit:8, N:3/unit:4, N:5/integer-unit:3>>) || N <- Ns],
    [p(<<N, N:8, N:4, N:4>>) || N <- Ns],
    S = id(5),
    p(<<S:8, 1:S, 2:S, 3:S, 4:S, 0:4>>),
    p([t(fun() -> <<(id(1)):(id(X))>> end) || X <- [-1, a, 1.0, 1 bsl 70, -(1 bsl 70), "8"]]),
    p([t(fun() -> <<(id(X)):8>> end) || X <- [a, 1.0, <<>>, [], {}]]),
    p([t(fun() -> <<0:4, (id(X)):(id(12))/little>> end) || X <- [a, 1.0, 1]]),
    p(t(fun() -> <<(id(1)):(id(1 bsl 60))/unit:256>> end)),
    p(<< <<X:Y>> || X <- [1, 2, 3], Y <- [1, 2, 3, 10] >>),
    p(<< <<X:32/little>> || X <- lists:seq(1, 20) >>),
    p(<<"literal", 1, "more", 16#FFFF:16, 0:1>>),
    p(<<"abc":16, "xyz":4/unit:8, "le":16/little>>),
    p(byte_size(<<0:(id(100000))>>)).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
