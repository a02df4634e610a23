%% Sizes of bitstrings, maps and tuples, of all that they can be and of what they cannot, in guards and bodies.
-module(sizes).
-export([main/1, id/1]).

id(X) -> X.

main(_) ->
    Long = binary:copy(<<"0123456789">>, 100),
    <<_, Part/binary>> = id(Long),
    <<_:3, Bits/bits>> = id(Long),
    <<_:3, Short:21/bits, _/bits>> = id(Long),
    Grown = lists:foldl(fun(N, Binary) -> <<Binary/binary, N>> end, id(<<>>), lists:seq(1, 300)),
    Odd = lists:foldl(fun(N, Some) -> <<Some/bits, N:7>> end, id(<<>>), lists:seq(1, 99)),
    Map = fun(Size) -> maps:from_list([{N, N} || N <- lists:seq(1, Size)]) end,
    Terms = [
        <<>>, <<1>>, <<1:1>>, <<1:63>>, <<1:64>>, <<1:65>>, Long, Part, Bits, Short, Grown, Odd,
        binary:part(Long, 5, 20), #{}, Map(1), Map(32), Map(33), Map(5000), maps:remove(1, Map(33)),
        {}, {1}, list_to_tuple(lists:seq(1, 300)), [], [1], 0, -1, 1 bsl 70, 1.5, atom, self(), make_ref(),
        fun id/1, fun(X) -> {X, Map} end, fun ?MODULE:id/1
    ],
    %% Often enough to be compiled.
    [each(Terms) || _ <- lists:seq(1, 300)],
    [io:format("~w~n", [Sizes]) || Sizes <- each(Terms)].

each(Terms) -> [{bytes(T), bits(T), pairs(T), elements(T), guarded(T), matched(T)} || T <- Terms].

bytes(T) -> try byte_size(T) catch error:badarg -> none end.
bits(T) -> try bit_size(T) catch error:badarg -> none end.
pairs(T) -> try map_size(T) catch error:{badmap, _} -> badmap end.
elements(T) -> try tuple_size(T) catch error:badarg -> none end.

guarded(T) when byte_size(T) > 100 -> long;
guarded(T) when bit_size(T) =:= 8 -> one;
guarded(T) when byte_size(T) =:= 0; map_size(T) =:= 0; tuple_size(T) =:= 0 -> empty;
guarded(T) when map_size(T) > 32 -> large;
guarded(T) when byte_size(T) * 8 =/= bit_size(T) -> odd;
guarded(_) -> other.

%% In arithmetic, whose operands are known to be small.
matched(T) when is_binary(T) -> byte_size(T) * 3 + bit_size(T);
matched(T) when is_map(T) -> map_size(T) - 1;
matched(_) -> none.
