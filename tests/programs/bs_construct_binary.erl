%% Binary segments: whole and part, units, unaligned sources and targets, errors.
-module(bs_construct_binary).
-export([main/1, id/1]).

main(_) ->
    B = id(<<"hello world">>),
    Bits = id(<<"bits", 5:3>>),
    p(<<B/binary, B/binary>>),
    p(<<B:5/binary, ",", B:(id(3))/binary>>),
    p(<<0:1, B/binary>>),
    p(<<Bits/bitstring, Bits/bitstring>>),
    p(<<Bits:7/bitstring, 1:1>>),
    p(<<Bits:(id(33))/bitstring>>),
    p(<<B:16/bitstring, B:3/binary-unit:4>>),
    p(<<1:7, B/binary, 1:1>>),
    p(<<(part(B, 3, 4))/binary, (part(B, 0, 0))/binary>>),
    p([t(fun() -> <<(id(X))/binary>> end) || X <- [Bits, a, 1, [], "str"]]),
    p([t(fun() -> <<(id(X))/bitstring>> end) || X <- [a, 1, 1.5]]),
    p([t(fun() -> <<B:(id(N))/binary>> end) || N <- [0, 11, 12, -1, a, 1 bsl 65]]),
    p([t(fun() -> <<Bits:(id(N))/bitstring>> end) || N <- [0, 35, 36, -1]]),
    p([t(fun() -> <<Bits/binary-unit:7>> end), t(fun() -> <<Bits/binary-unit:5>> end)]),
    Long = binary:copy(<<"0123456789">>, 100),
    p(byte_size(<<Long/binary, 1, Long/binary>>)),
    p(erlang:phash2(<<3:5, Long/binary, Long:77/binary, 6:6>>)),
    <<_:3, Shifted:80/bitstring, _/bitstring>> = Long,
    p(Shifted),
    p(<<Shifted/bitstring, Shifted:40/bitstring>>),
    p(bit_size(<<Shifted/bitstring, 1:1>>)),
    p(<< <<X, Bits/bitstring>> || X <- [1, 2, 3] >>),
    p(list_to_bitstring(id([1, <<1:1>>, [<<2:2>>, 255], "a" | <<7:4>>]))),
    p(bitstring_to_list(<<1, 2, 3:5>>)),
    p(iolist_to_binary([B, [$x, "yz", [[]]] | B])),
    p(iolist_size([B, [1, 2], "abc" | <<>>])),
    p([t(fun() -> iolist_to_binary(X) end) || X <- [[256], [-1], [a], [<<1:1>>], 5, [1 | 2]]]),
    p(erlang:list_to_binary([1, "b", <<3>>])),
    p(t(fun() -> list_to_binary(id(<<1>>)) end)).

part(B, P, N) -> binary:part(B, P, N).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
