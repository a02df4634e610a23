%% zlib: whole binaries, streams, dictionaries, flushes, parameters, errors. Compressed bytes are compared by their hash.
-module(zlib_module).
-export([main/1]).

main(_) ->
    D = iolist_to_binary([io_lib:format("line ~w of the text: ~w~n", [N, N * N rem 977]) || N <- lists:seq(1, 3000)]),
    whole(D),
    streams(D),
    dictionaries(D),
    parameters(D),
    ends(D),
    checksums(D),
    errors(D),
    p([h(term_to_binary(binary_to_list(D), [{compressed, L}])) || L <- lists:seq(0, 9)]).

whole(D) ->
    p([h(zlib:compress(D)), h(zlib:zip(D)), h(zlib:gzip(D))]),
    p([D =:= F(G(D)) || {F, G} <- [{fun zlib:uncompress/1, fun zlib:compress/1}, {fun zlib:unzip/1, fun zlib:zip/1},
        {fun zlib:gunzip/1, fun zlib:gzip/1}]]),
    p([zlib:uncompress(zlib:compress(X)) || X <- [<<>>, <<"a">>, ["io", [<<"list">>]]]]),
    p(zlib:gunzip(iolist_to_binary([zlib:gzip("one"), zlib:gzip("two")]))),
    p(zlib:compress("hello hello hello")).

streams(D) ->
    [begin
        Z = zlib:open(),
        ok = zlib:deflateInit(Z, L, deflated, W, M, S),
        B1 = zlib:deflate(Z, binary:part(D, 0, 10000), none),
        B2 = zlib:deflate(Z, binary:part(D, 10000, 10000), sync),
        B3 = zlib:deflate(Z, binary:part(D, 20000, 5000), full),
        B4 = zlib:deflate(Z, binary:part(D, 25000, byte_size(D) - 25000), finish),
        ok = zlib:deflateEnd(Z),
        zlib:close(Z),
        C = iolist_to_binary([B1, B2, B3, B4]),
        p({L, W, M, S, byte_size(C), h(C), inflate_slowly(C, W) =:= D})
    end || {L, W, M, S} <- [{default, 15, 8, default}, {none, 15, 8, default}, {best_speed, 15, 8, default},
        {best_compression, 15, 9, default}, {3, -15, 8, filtered}, {9, 31, 1, default}, {6, 9, 8, huffman_only}, {7, -12, 5, rle}]],
    Z = zlib:open(),
    ok = zlib:inflateInit(Z),
    p(safe(zlib:safeInflate(Z, zlib:compress(binary:copy(<<0>>, 100000))), Z, 0)),
    ok = zlib:inflateReset(Z),
    p(catch zlib:inflateChunk(Z, zlib:compress(binary:copy(<<1>>, 100)))),
    zlib:close(Z).

safe({continue, O}, Z, N) -> safe(zlib:safeInflate(Z, []), Z, N + iolist_size(O));
safe({finished, O}, _, N) -> N + iolist_size(O).

inflate_slowly(C, W) ->
    Z = zlib:open(),
    ok = zlib:inflateInit(Z, W),
    R = iolist_to_binary([zlib:inflate(Z, X) || X <- cut(C)]),
    ok = zlib:inflateEnd(Z),
    zlib:close(Z),
    R.

cut(<<X:100/binary, R/binary>>) -> [X | cut(R)];
cut(X) -> [X].

dictionaries(D) ->
    Z = zlib:open(),
    ok = zlib:deflateInit(Z),
    A = zlib:deflateSetDictionary(Z, "line of the text: "),
    C = iolist_to_binary(zlib:deflate(Z, binary:part(D, 0, 200), finish)),
    ok = zlib:deflateEnd(Z),
    p({A, h(C)}),
    ok = zlib:inflateInit(Z),
    p(t(fun() -> zlib:inflate(Z, C) end)),
    p(zlib:inflateSetDictionary(Z, "line of the text: ")),
    p(iolist_to_binary(zlib:inflate(Z, [])) =:= binary:part(D, 0, 200)),
    p(h(zlib:inflateGetDictionary(Z))),
    zlib:close(Z),
    Y = zlib:open(),
    ok = zlib:deflateInit(Y, default, deflated, -15, 8, default),
    p(zlib:deflateSetDictionary(Y, "abc")),
    zlib:close(Y),
    X = zlib:open(),
    ok = zlib:inflateInit(X),
    p(zlib:inflate(X, C, [{exception_on_need_dict, false}])),
    p(t(fun() -> zlib:inflateSetDictionary(X, "wrong") end)),
    zlib:close(X).

parameters(D) ->
    Z = zlib:open(),
    ok = zlib:deflateInit(Z, 1),
    B1 = zlib:deflate(Z, binary:part(D, 0, 10000)),
    ok = zlib:deflateParams(Z, best_compression, huffman_only),
    B2 = zlib:deflate(Z, binary:part(D, 10000, 10000), finish),
    C = iolist_to_binary([B1, B2]),
    p({h(C), zlib:uncompress(C) =:= binary:part(D, 0, 20000)}),
    ok = zlib:deflateReset(Z),
    p(h(zlib:deflate(Z, D, finish))),
    zlib:close(Z).

ends(D) ->
    C = zlib:compress(binary:part(D, 0, 100)),
    Two = <<C/binary, C/binary>>,
    [begin
        Z = zlib:open(),
        ok = zlib:inflateInit(Z, 15, B),
        p({B, t(fun() -> byte_size(iolist_to_binary(zlib:inflate(Z, Two))) end), t(fun() -> zlib:inflateEnd(Z) end)}),
        zlib:close(Z)
    end || B <- [cut, reset, error]],
    Y = zlib:open(),
    ok = zlib:inflateInit(Y),
    zlib:inflate(Y, binary:part(C, 0, 10)),
    p(t(fun() -> zlib:inflateEnd(Y) end)),
    ok = zlib:deflateInit(Y),
    zlib:deflate(Y, "abc"),
    p(t(fun() -> zlib:deflateEnd(Y) end)).

checksums(D) ->
    p([erlang:crc32(D), erlang:adler32(D), erlang:crc32(7, D), erlang:adler32(7, D)]),
    {A, B} = split_binary(D, 1234),
    p(erlang:crc32(D) =:= erlang:crc32_combine(erlang:crc32(A), erlang:crc32(B), byte_size(B))),
    p(erlang:adler32(D) =:= erlang:adler32_combine(erlang:adler32(A), erlang:adler32(B), byte_size(B))).

errors(D) ->
    Z = zlib:open(),
    p([t(F) || F <- [fun() -> zlib:uncompress(<<"junk">>) end, fun() -> zlib:uncompress(<<>>) end, fun() -> zlib:unzip(<<1, 2, 3>>) end,
        fun() -> zlib:gunzip(D) end, fun() -> zlib:compress(a) end, fun() -> zlib:deflate(Z, D) end,
        fun() -> zlib:inflate(Z, D) end, fun() -> zlib:deflateEnd(Z) end, fun() -> zlib:deflateInit(Z, 77) end,
        fun() -> zlib:deflateInit(Z, 1, deflated, 77, 8, default) end, fun() -> zlib:inflateInit(Z, 99) end,
        fun() -> zlib:deflateInit(Z), zlib:deflateInit(Z) end, fun() -> zlib:deflate(Z, a) end,
        fun() -> zlib:deflate(Z, "a", nope) end, fun() -> zlib:close(Z), zlib:close(Z) end, fun() -> zlib:deflate(x, D) end]]),
    Y = zlib:open(),
    Self = self(),
    spawn(fun() -> Self ! t(fun() -> zlib:deflateInit(Y) end) end),
    p(receive M -> M end),
    P = spawn(fun() -> receive go -> Self ! t(fun() -> zlib:deflateInit(Y) end) end end),
    p(zlib:set_controlling_process(Y, P)),
    P ! go,
    p(receive N -> N end),
    p(t(fun() -> zlib:close(Y) end)).

t(F) -> try F() catch C:R -> {C, R} end.

h(B) -> erlang:md5(B).

p(X) -> io:format("~0p~n", [X]).
