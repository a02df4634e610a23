%% utf8, utf16 and utf32 segments: construction, matching, skipping, invalid input.
-module(utf_segments).
-export([main/1, id/1]).

main(_) ->
    Cs = [0, $a, 127, 128, 16#7FF, 16#800, 16#D7FF, 16#E000, 16#FFFD, 16#FFFF, 16#10000, 16#10FFFF, 8364],
    [begin
         U8 = <<C/utf8>>, U16 = <<C/utf16>>, L16 = <<C/utf16-little>>, U32 = <<C/utf32>>, L32 = <<C/utf32-little>>,
         <<C/utf8>> = U8, <<C/utf16>> = U16, <<C/utf16-little>> = L16, <<C/utf32>> = U32, <<C/utf32-little>> = L32,
         <<X/utf8, _/binary>> = <<U8/binary, "tail">>,
         <<_:3, Y/utf8, _:5>> = <<1:3, U8/binary, 2:5>>,
         <<_:3, Z/utf16-little, _:5>> = <<1:3, L16/binary, 2:5>>,
         p({C, U8, U16, L16, U32, L32, X, Y, Z})
     end || C <- Cs],
    [p({C, t(fun() -> <<(id(C))/utf8>> end), t(fun() -> <<(id(C))/utf16>> end), t(fun() -> <<(id(C))/utf32>> end)})
     || C <- [16#D800, 16#DFFF, 16#110000, -1, a, 1.0, 1 bsl 70]],
    [p({B, u8(B), u16(B), u32(B)})
     || B <- [<<>>, <<$a>>, <<128>>, <<16#C0, 16#80>>, <<16#C3>>, <<16#C3, 16#A5>>, <<16#E0, 16#80, 16#80>>, <<16#ED, 16#A0, 16#80>>,
              <<16#F4, 16#90, 16#80, 16#80>>, <<16#F0, 16#9F, 16#98, 16#80>>, <<16#F0, 16#9F, 16#98>>, <<255>>, <<16#D8, 0>>, <<16#D8, 0, 16#DC, 0>>,
              <<16#DC, 0>>, <<0, 0, 0, 65>>, <<0, 17, 0, 0>>, <<0, 0, 16#D8, 0>>, <<0, 65>>]],
    p(<<"smörgås €"/utf8>>),
    p(<<"smörgås €"/utf16>>),
    p(<<"smörgås €"/utf32-little>>),
    p([C || <<C/utf8>> <= <<"smörgås €😀"/utf8>>]),
    p(<< <<C/utf16>> || <<C/utf8>> <= <<"smörgås €😀"/utf8>> >>),
    p(skip(<<"aåb€"/utf8>>)),
    p([skip_wide(X) || X <- [<<"aå"/utf16>>, <<16#10000/utf16, 1>>, <<16#D8, 0, 1, 1>>, <<"x"/utf32, 2>>, <<>>]]),
    p(lit(<<"åäö"/utf8>>)),
    p(count(<<"åäö😀"/utf8, 255, "abc">>, 0)).

u8(<<C/utf8, R/binary>>) -> {C, R}; u8(_) -> no.
u16(<<C/utf16, R/binary>>) -> {C, R}; u16(_) -> no.
u32(<<C/utf32, R/binary>>) -> {C, R}; u32(_) -> no.

skip(<<_/utf8, _/utf8, R/binary>>) -> skip16(R);
skip(_) -> no.
skip16(<<_/utf8, R/utf8>>) -> R;
skip16(_) -> no.

skip_wide(<<_/utf32, R/binary>>) -> {utf32, R};
skip_wide(<<_/utf16, R/binary>>) -> {utf16, R};
skip_wide(_) -> no.

lit(<<"åä"/utf8, R/binary>>) -> R;
lit(_) -> no.

count(<<_/utf8, R/binary>>, N) -> count(R, N + 1);
count(R, N) -> {N, R}.

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
