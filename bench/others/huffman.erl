%% A text coded by Huffman's trees and read again: ordered sets, maps, bits.
-module(huffman).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [60000, 40]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("huffman ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: huffman ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Text = text(N, 7, []),
    Counts = lists:foldl(fun(C, Map) -> maps:update_with(C, fun(X) -> X + 1 end, 1, Map) end, #{}, Text),
    Tree = tree(gb_sets:from_list([{Count, {leaf, C}} || {C, Count} <- maps:to_list(Counts)])),
    Codes = maps:from_list(codes(Tree, <<>>)),
    Coded = << <<(maps:get(C, Codes))/bitstring>> || C <- Text >>,
    {bit_size(Coded), decode(Coded, Tree, Tree, []) =:= Text}.

text(0, _, Text) -> Text;
text(N, Seed, Text) ->
    Next = (Seed * 1103515245 + 12345) band 16#7FFFFFFF,
    X = (Next bsr 12) band 255,
    text(N - 1, Next, [$a + (X * X) div 2600 | Text]).

tree(Set) ->
    {{Count1, One}, Rest} = gb_sets:take_smallest(Set),
    case gb_sets:is_empty(Rest) of
        true -> One;
        false ->
            {{Count2, Two}, More} = gb_sets:take_smallest(Rest),
            tree(gb_sets:add({Count1 + Count2, {node, One, Two}}, More))
    end.

codes({leaf, C}, Code) -> [{C, Code}];
codes({node, One, Two}, Code) -> codes(One, <<Code/bitstring, 0:1>>) ++ codes(Two, <<Code/bitstring, 1:1>>).

decode(Bits, {leaf, C}, Tree, Text) -> decode(Bits, Tree, Tree, [C | Text]);
decode(<<0:1, Rest/bitstring>>, {node, One, _}, Tree, Text) -> decode(Rest, One, Tree, Text);
decode(<<1:1, Rest/bitstring>>, {node, _, Two}, Tree, Text) -> decode(Rest, Two, Tree, Text);
decode(<<>>, _, _, Text) -> lists:reverse(Text).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
