%% unicode conversions, errors, incomplete input, normal forms.
-module(unicode_module).
-export([main/1, id/1]).

main(_) ->
    S = "aåδ€😀",
    [p({E, unicode:characters_to_binary(S, unicode, E), unicode:characters_to_list(unicode:characters_to_binary(S, unicode, E), E)}) || E <- [utf8, utf16, {utf16, little}, utf32, {utf32, little}]],
    p([unicode:characters_to_binary("åäö", latin1, utf8), unicode:characters_to_binary("åäö", unicode, latin1), unicode:characters_to_binary(S, unicode, latin1), unicode:characters_to_list(<<229, 228>>, latin1), unicode:characters_to_list(<<"åä"/utf8>>), unicode:characters_to_list([<<"å"/utf8>>, $ä, ["x", <<"y">>]])]),
    p([unicode:characters_to_list(B) || B <- [<<255>>, <<"ok", 255, "x">>, <<"a", 16#C3>>, <<16#E2, 16#82>>, <<16#ED, 16#A0, 16#80>>, <<>>, [<<16#C3>>, <<16#A5>>]]]),
    p([unicode:characters_to_binary(B) || B <- [<<"a", 16#C3>>, [55296], [1114112], "ok", [<<"x", 255>>, "rest"], [-1]]]),
    p([t(fun() -> unicode:characters_to_list(X) end) || X <- [a, [a], [1 | 2], 5, [<<1:1>>]]]),
    p([[t(fun() -> unicode:characters_to_list(X, E) end) || E <- [latin1, utf8, utf16]]
       || X <- [[], "a", S, [255, 256], [16#D7FF, 16#D800], [16#E000, 16#10FFFF], [16#110000], [1, -1], [1 bsl 70], [$a | b],
                [$a | <<"b">>], [$a, [$b]], [$a, []], [1.0], lists:seq(1, 300)]]),
    p([unicode:bom_to_encoding(B) || B <- [<<239, 187, 191, "x">>, <<254, 255>>, <<255, 254>>, <<0, 0, 254, 255>>, <<"none">>]]),
    p([unicode:encoding_to_bom(E) || E <- [utf8, utf16, {utf32, little}]]),
    D = "e\x{301}a\x{30A}",
    p([unicode:characters_to_nfc_list(D), unicode:characters_to_nfd_list("éå"), unicode:characters_to_nfc_binary(D), unicode:characters_to_nfkc_list("ﬁ²"), unicode:characters_to_nfkd_binary("ﬁ²")]),
    Big = lists:flatten(lists:duplicate(3000, S)),
    B = unicode:characters_to_binary(Big),
    p({byte_size(B), unicode:characters_to_list(B) =:= Big, erlang:phash2(B), length(unicode:characters_to_list(unicode:characters_to_binary(B, utf8, utf16), utf16))}),
    p([list_to_atom("åäö€"), binary_to_atom(<<"日本"/utf8>>), atom_to_list('日本'), atom_to_binary('åäö', utf8), atom_to_binary('åäö', latin1), t(fun() -> atom_to_binary(id('日本'), latin1) end), 'åäö' < 'åäp', length(atom_to_list('日本'))]).

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.

p(X) -> io:format("~tp~n", [X]).
