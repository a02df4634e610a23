%% Fields of bitstrings that are shorter than a word, and characters in UTF-8 that are none: wherever they lie.
-module(short_bits).
-export([main/1, characters/1, skipped/1, fields/1, bits/1, starts/1]).

main(_) ->
    Points = [0, 16#7f, 16#80, 16#7ff, 16#800, 16#fff, 16#1000, 16#cfff, 16#d000, 16#d7ff, 16#e000, 16#fffe, 16#ffff,
              16#10000, 16#10ffff],
    Whole = << <<Point/utf8>> || Point <- Points >>,
    io:format("~w~n", [places(fun characters/1, Whole)]),
    io:format("~w~n", [[places(fun characters/1, Bytes) || Bytes <- broken()]]),
    io:format("~w~n", [[places(fun skipped/1, Bytes) || Bytes <- [Whole | broken()]]]),
    io:format("~w~n", [erlang:phash2([characters(<<A, B>>) || A <- lists:seq(0, 255), B <- lists:seq(0, 255)])]),
    io:format("~w~n", [erlang:phash2([characters(<<A, B, C>>) || A <- lists:seq(16#df, 16#f5),
                                                              B <- lists:seq(16#7f, 16#c1),
                                                              C <- [16#7f, 16#80, 16#bf, 16#c0]])]),
    Text = <<"abcdefghijklmnop">>,
    [io:format("~w~n", [places(fun fields/1, binary:part(Text, 0, Size))]) || Size <- lists:seq(0, 10)],
    io:format("~w~n", [places(fun bits/1, <<16#a5, 16#3c, 16#ff>>)]),
    io:format("~w~n", [[starts(Start) || Start <- [<<>>, <<"a">>, <<"ab">>, <<"ac">>, <<"abc">>, <<"abd">>, <<"abcdefg">>,
                                                   <<"abcdefgh">>, <<"xyz">>, <<"xy", 1:1>>, <<"xy", 0:1>>]]]).

%% Sequences that are cut off, too long for what they say, of surrogates, or beyond what there is.
broken() ->
    [<<>>, <<16#80>>, <<16#bf, 65>>, <<16#c0, 16#80>>, <<16#c1, 16#bf>>, <<16#c2>>, <<16#c2, 65>>, <<16#c2, 16#c0>>,
     <<16#df, 16#bf, 16#df>>, <<16#e0, 16#9f, 16#bf>>, <<16#e0, 16#a0, 16#80>>, <<16#e1, 16#80>>, <<16#e1, 16#80, 65>>,
     <<16#e1, 65, 16#80>>, <<16#ed, 16#9f, 16#bf>>, <<16#ed, 16#a0, 16#80>>, <<16#ed, 16#bf, 16#bf>>, <<16#ee, 16#80, 16#80>>,
     <<16#ef, 16#bf, 16#bf>>, <<16#f0, 16#8f, 16#bf, 16#bf>>, <<16#f0, 16#90, 16#80, 16#80>>, <<16#f4, 16#8f, 16#bf, 16#bf>>,
     <<16#f4, 16#90, 16#80, 16#80>>, <<16#f5, 16#80, 16#80, 16#80>>, <<16#ff>>].

%% What a function makes of bytes: alone, in the midst of others, within bytes, and outside of the heap.
places(Function, Bytes) ->
    Size = bit_size(Bytes),
    Part = fun(Bits, Skip) -> <<_:Skip, Part:Size/bits, _/bits>> = Bits, Function(Part) end,
    Around = [Part(<<0:Skip, Bytes/bits, 255>>, Skip) || Skip <- [8, 64, 3, 61]],
    Far = binary:copy(<<"far">>, 100),
    Outside = Part(<<Far/binary, Bytes/bits, Far/binary>>, 8 * byte_size(Far)),
    End = <<Far/binary, Bytes/bits>>,
    AtEnd = Part(End, 8 * byte_size(Far)),
    Alone = Function(Bytes),
    case lists:all(fun(Other) -> Other =:= Alone end, [Outside, AtEnd | Around]) of
        true -> Alone;
        false -> {differ, Alone, Around, Outside, AtEnd}
    end.

characters(<<Character/utf8, Rest/bits>>) -> [Character | characters(Rest)];
characters(Rest) -> {left, bit_size(Rest)}.

skipped(<<_/utf8, Rest/bits>>) -> skipped(Rest);
skipped(Rest) -> bit_size(Rest).

fields(<<A:1, B:11, C:52, Rest/bits>>) -> [A, B, C | fields(Rest)];
fields(<<A:3, B:17/signed, Rest/bits>>) -> [A, B | fields(Rest)];
fields(<<A:7/signed, Rest/bits>>) -> [A | fields(Rest)];
fields(<<1:1, Rest/bits>>) -> [one | fields(Rest)];
fields(<<A:1, Rest/bits>>) -> [A | fields(Rest)];
fields(<<>>) -> [].

bits(<<1:1, Rest/bits>>) -> [1 | bits(Rest)];
bits(<<0:1, Rest/bits>>) -> [0 | bits(Rest)];
bits(<<>>) -> [].

starts(<<"abcdefg", Rest/bits>>) -> {seven, Rest};
starts(<<"abc", Rest/bits>>) -> {three, Rest};
starts(<<"ab", Rest/bits>>) -> {two, Rest};
starts(<<"xy", 1:1>>) -> bit;
starts(<<"xyz">>) -> xyz;
starts(<<"a", Rest/bits>>) -> {one, Rest};
starts(Other) -> Other.
