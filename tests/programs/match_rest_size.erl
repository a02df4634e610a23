%% Sizes of what is left of a match: compilers from release 26 on ask the match itself, without making the rest.
-module(match_rest_size).
-export([main/1]).

main(_) ->
    Data = list_to_binary(lists:seq(0, 99)),
    <<_:3, Odd:77/bitstring, _/bitstring>> = Data,
    [io:format("~p~n", [rest(Skip, Bits)]) || Bits <- [Data, Odd, <<>>, <<5:3>>], Skip <- [0, 1, 8, 9, 80, 801]],
    io:format("~p~n", [[pieces(Data, Size) || Size <- [1, 7, 33, 100, 101]]]).

rest(Skip, Bits) ->
    case Bits of
        <<_:Skip/bits, Rest/bits>> when bit_size(Rest) > 64 -> {long, bit_size(Rest), byte_size(Rest), Rest};
        <<_:Skip/bits, Rest/bits>> when byte_size(Rest) =:= 1 -> {byte, byte_size(Rest) + bit_size(Rest), Rest};
        <<_:Skip/bits, Rest/bits>> -> {short, byte_size(Rest), Rest};
        _ -> none
    end.

pieces(Data, Size) ->
    case Data of
        <<Piece:Size/binary, Rest/binary>> when byte_size(Rest) > 0 -> [erlang:crc32(Piece) | pieces(Rest, Size)];
        <<_:Size/binary>> -> [whole];
        <<Rest/binary>> when byte_size(Rest) > 0 -> [{rest, byte_size(Rest)}];
        _ -> []
    end.
