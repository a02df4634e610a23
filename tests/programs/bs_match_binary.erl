%% Matching binary and bitstring segments, tails, sub-binaries, and reuse of the match context.
-module(bs_match_binary).
-export([main/1, id/1]).

main(_) ->
    B = id(<<"The quick brown fox">>),
    <<A:3/binary, _, C/binary>> = B,
    p({A, C}),
    p([begin <<_:N/binary, R/binary>> = B, {N, byte_size(R)} end || N <- lists:seq(0, 19)]),
    p([split(N, B) || N <- [0, 5, 19, 20, -1, a]]),
    p([tail8(X) || X <- [<<1, 2, 3>>, <<1, 2:4>>, <<1>>, <<>>, <<1:4>>]]),
    p([unit3(X) || X <- [<<>>, <<1:3>>, <<1:4>>, <<7:9>>, <<1, 2, 3>>, <<1>>]]),
    p(words(B)),
    p(lines(<<"one\ntwo\n\nfour\r\nfive">>)),
    p(sum(<<1, 2, 3, 4, 5>>, 0)),
    p(both(<<1, 2, 3, 4>>)),
    p(nested({<<5, "abcdefgh">>, [<<2, "xyz">>]})),
    p(utf_or_byte(<<"aå€"/utf8, 255, "b">>)),
    p(first_match([<<"a=1">>, <<"bb=22">>, <<"=">>, <<"none">>])),
    <<X:19/bitstring, Y/bitstring>> = B,
    p({X, bit_size(Y), <<X/bitstring, Y/bitstring>> =:= B}),
    p(deep(B, [])),
    p([Z || <<Z:2/binary, _>> <= B]),
    p([Z || <<Z:3/bits, 1:1>> <= B]),
    p([{K, V} || <<K, L, V:L/binary>> <= <<1, 2, "ab", 2, 0, 3, 3, "xyz", 4, 9, "short">>]),
    Long = binary:copy(<<"abcdefghij">>, 1000),
    p([byte_size(Part) || Part <- chunks(Long, 1024)]),
    p(erlang:phash2(chunks(Long, 777))),
    p({binary:referenced_byte_size(hd(chunks(Long, 1024))) >= 10000, binary:referenced_byte_size(binary:copy(hd(chunks(Long, 1024))))}),
    p([t(fun() -> <<_:2/binary, _/binary>> = id(V) end) || V <- [<<1>>, a, <<1, 2, 3:3>>]]).

split(N, B) ->
    case B of
        <<H:N/binary, T/binary>> -> {H, T};
        _ -> no
    end.

tail8(<<N, R/binary>>) -> {bytes, N, R};
tail8(<<N, R/bits>>) -> {bits, N, R};
tail8(B) when is_binary(B) -> binary;
tail8(_) -> bitstring.

unit3(<<B/binary-unit:3>>) -> {ok, bit_size(B)};
unit3(_) -> no.

words(B) -> words(B, <<>>, []).
words(<<$\s, R/binary>>, W, Acc) -> words(R, <<>>, [W | Acc]);
words(<<C, R/binary>>, W, Acc) -> words(R, <<W/binary, C>>, Acc);
words(<<>>, W, Acc) -> lists:reverse([W | Acc]).

lines(B) -> lines(B, 0, B).
lines(B, N, Whole) ->
    case B of
        <<"\r\n", R/binary>> -> [binary:part(Whole, 0, N) | lines(R, 0, R)];
        <<"\n", R/binary>> -> [binary:part(Whole, 0, N) | lines(R, 0, R)];
        <<_, R/binary>> -> lines(R, N + 1, Whole);
        <<>> -> [Whole]
    end.

sum(<<N, R/binary>>, S) -> sum(R, S + N);
sum(<<>>, S) -> S.

%% The same binary matched twice, so that the context must be restored.
both(B) ->
    <<A:16, _/binary>> = B,
    <<C, D/binary>> = B,
    {A, C, D, B}.

nested({<<N, S:N/binary, _/binary>>, [<<M, Q:M/binary, _/binary>> | _]}) -> {S, Q}.

utf_or_byte(<<C/utf8, R/binary>>) -> [C | utf_or_byte(R)];
utf_or_byte(<<C, R/binary>>) -> [{byte, C} | utf_or_byte(R)];
utf_or_byte(<<>>) -> [].

first_match(L) -> [key(B, 0) || B <- L].

key(B, N) ->
    case B of
        <<K:N/binary, $=, V/binary>> -> {K, V};
        <<_:N/binary, _, _/binary>> -> key(B, N + 1);
        _ -> no
    end.

deep(<<C, R/binary>>, Acc) when C =/= $q -> deep(R, [R | Acc]);
deep(R, Acc) -> {R, length(Acc), [byte_size(X) || X <- Acc]}.

chunks(B, N) when byte_size(B) > N ->
    <<C:N/binary, R/binary>> = B,
    [C | chunks(R, N)];
chunks(B, _) -> [B].

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
