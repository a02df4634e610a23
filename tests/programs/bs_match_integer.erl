%% Matching integers of every size, sign, endianness and alignment, fixed and variable.
-module(bs_match_integer).
-export([main/1, id/1]).

main(_) ->
    B = id(<<16#FE, 16#DC, 16#BA, 16#98, 16#76, 16#54, 16#32, 16#10, 16#0F, 16#1E, 16#2D, 16#3C, 16#4B, 16#5A, 16#69, 16#78, 16#87>>),
    p([begin
           <<_:O, U:S, _/bitstring>> = B,
           <<_:O, G:S/signed, _/bitstring>> = B,
           <<_:O, L:S/little, _/bitstring>> = B,
           <<_:O, M:S/signed-little, _/bitstring>> = B,
           {O, S, U, G, L, M}
       end || O <- [0, 1, 3, 8, 13], S <- [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 59, 60, 61, 63, 64, 65, 100, 120]]),
    p(fixed(B)),
    p(units(B)),
    p([kind(X) || X <- [<<>>, <<0>>, <<1>>, <<1, 2>>, <<2, 7:3>>, <<3, 5, "hello!">>, <<3, 9, "hello">>, <<4, 255, 255>>, <<4, 0, 1, 9>>, <<"GET ">>, <<"PUT /">>, a, [1]]]),
    p([dynamic(N, B) || N <- [0, 3, 8, 64, 136, 137, -1, a, 1 bsl 66]]),
    p([literal(X) || X <- [<<1, 2, 3>>, <<1, 2, 4>>, <<1, 2>>, <<16#1234:16, 5>>, <<300:16, -1:8>>, <<0:300, 1>>]]),
    p(varints(<<1, 127, 16#81, 0, 16#FF, 16#FF, 3, 0>>)),
    p(fields(<<4:4, 5:4, 0, 40:16, 7:16, 2:3, 0:13, 64, 6, 0:16, 10, 0, 0, 1, 10, 0, 0, 2, "payload">>)),
    p([X || <<X:4/signed>> <= B]),
    p([{X, Y} || <<X:5, Y:9/little>> <= B]),
    p(skip(B)),
    p(huge(<<(1 bsl 1000):1008, 77>>)).

fixed(<<A:3, B:5, C:12, D:4, E:16/little, F:32/signed, G:7, H:1, I/bits>>) -> {A, B, C, D, E, F, G, H, I}.

units(<<A:2/unit:8, B:3/unit:4, C:4, D/binary>>) -> {A, B, C, D}.

kind(<<>>) -> empty;
kind(<<0>>) -> zero;
kind(<<1, R/binary>>) -> {one, R};
kind(<<2, A:3>>) -> {two, A};
kind(<<3, N, S:N/binary, R/binary>>) -> {string, S, R};
kind(<<4, N:16/signed, R/bits>>) -> {short, N, R};
kind(<<"GET ", R/binary>>) -> {get, R};
kind(B) when is_binary(B) -> {other, byte_size(B)};
kind(_) -> no.

dynamic(N, B) ->
    case B of
        <<X:N/integer, _/bits>> -> X;
        _ -> no
    end.

literal(<<1, 2, 3>>) -> a;
literal(<<16#1234:16, 5>>) -> b;
literal(<<300:16, -1:8/signed>>) -> c;
literal(<<0:300, 1>>) -> d;
literal(<<1, _, X>>) -> {e, X};
literal(<<_:16>>) -> f.

varints(B) -> varints(B, 0, 0).
varints(<<1:1, N:7, R/binary>>, Acc, S) -> varints(R, Acc bor (N bsl S), S + 7);
varints(<<0:1, N:7, R/binary>>, Acc, S) -> [Acc bor (N bsl S) | varints(R, 0, 0)];
varints(<<>>, 0, 0) -> [].

fields(<<4:4, IHL:4, TOS, Len:16, Id:16, Flags:3, Off:13, TTL, Proto, _Sum:16, Src:4/binary, Dst:32, Rest/binary>>) ->
    {IHL, TOS, Len, Id, Flags, Off, TTL, Proto, Src, Dst, Rest}.

skip(<<_:7, A:9, _:2/binary, _:1, B:15, _/bits>>) -> {A, B}.

huge(<<N:1008, T>>) -> {N, T}.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
