%% Prints random character data and what stock Erlang makes of it, one case a line:
%% encoding, term_to_binary of {Data, characters_to_binary, characters_to_list} in hexadecimal.
-mode(compile).

main([Seed, Count]) ->
    rand:seed(exsss, list_to_integer(Seed)),
    [line() || _ <- lists:seq(1, list_to_integer(Count))].

line() ->
    Encoding = lists:nth(rand:uniform(2), [latin1, utf8]),
    Data = data(rand:uniform(5) - 1),
    Results = {Data, result(characters_to_binary, Data, Encoding), result(characters_to_list, Data, Encoding)},
    io:put_chars([atom_to_list(Encoding), $\s, binary:encode_hex(term_to_binary(Results)), $\n]).

result(F, Data, Encoding) ->
    try unicode:F(Data, Encoding) catch error:Reason -> Reason end.

data(0) -> leaf();
data(Depth) ->
    case rand:uniform(8) of
        1 -> leaf();
        _ -> list(rand:uniform(6) - 1, Depth)
    end.

list(0, _) ->
    case rand:uniform(6) of 1 -> binary(); _ -> [] end;
list(N, Depth) ->
    Head = case rand:uniform(3) of 1 -> data(Depth - 1); _ -> leaf() end,
    [Head | list(N - 1, Depth)].

leaf() ->
    case rand:uniform(300) of
        1 -> an_atom;
        2 -> <<5:3>>;
        3 -> 1 bsl 70;
        4 -> -1;
        5 -> 1.5;
        N when N rem 3 =:= 0 -> code();
        N when N rem 3 =:= 1 -> binary();
        _ -> pieces()
    end.

code() ->
    case rand:uniform(40) of
        1 -> lists:nth(rand:uniform(6), [16#d7ff, 16#d800, 16#dfff, 16#e000, 16#10ffff, 16#110000]);
        N when N < 4 -> rand:uniform(16#10ffff);
        N when N < 8 -> rand:uniform(400);
        _ -> rand:uniform(128) - 1
    end.

%% Characters cut into binaries at any place.
pieces() ->
    Text = unicode:characters_to_binary([rand:uniform(16#d7ff) || _ <- lists:seq(1, rand:uniform(3))]),
    At = rand:uniform(byte_size(Text) + 1) - 1,
    <<A:At/binary, B/binary>> = Text,
    case rand:uniform(3) of 1 -> A; 2 -> [A, B]; 3 -> [A, [], [B]] end.

binary() ->
    case rand:uniform(12) of
        1 -> << <<(rand:uniform(256) - 1)>> || _ <- lists:seq(1, rand:uniform(4)) >>;
        2 -> lists:nth(rand:uniform(8), [<<224, 128>>, <<237, 160>>, <<240, 97>>, <<245>>, <<192>>, <<193, 128>>, <<>>, <<239, 191, 191>>]);
        3 -> <<_:3, B:4/binary, _/bits>> = <<1:3, 97, 195, 182, 98, 0:5>>, B;
        4 -> binary:copy(<<"long ", 195, 182>>, 20);
        _ -> <<"ab", (rand:uniform(128) - 1)>>
    end.
