%% Terms of more than a million words: made, collected, sent, stored and kept.
-module(huge_terms).
-export([main/1]).

-define(ELEMENTS, 1200000).

main(_) ->
    Tuple = erlang:make_tuple(?ELEMENTS, {a, 1}),
    Of = list_to_tuple(lists:seq(1, ?ELEMENTS)),
    Bits = binary:copy(<<1, 2, 3>>, 4 * ?ELEMENTS),
    Big = 1 bsl (64 * 20000) - 1,
    Map = maps:from_keys(lists:seq(1, ?ELEMENTS div 4), [x]),
    collect(3),
    Changed = setelement(?ELEMENTS, Tuple, self()),
    Table = ets:new(table, []),
    true = ets:insert(Table, {tuple, Of}),
    Parent = self(),
    Child = spawn_link(fun() ->
        receive Received -> collect(2), Parent ! {self(), tuple_size(Received), element(7, Received)} end
    end),
    Child ! Of,
    receive {Child, Size, Element} -> io:format("received ~w ~w~n", [Size, Element]) end,
    collect(3),
    [{tuple, Stored}] = ets:lookup(Table, tuple),
    io:format("~w ~w ~w~n", [Stored =:= Of, element(1, Changed), element(?ELEMENTS, Changed) =:= self()]),
    io:format("~w ~w ~w~n", [erlang:phash2(Of), byte_size(Bits), erlang:phash2(Bits)]),
    io:format("~w ~w~n", [Big bsr (64 * 20000 - 8), map_size(Map)]).

collect(0) -> ok;
collect(N) ->
    erlang:garbage_collect(),
    %% Enough for cycles of the heaps that are collected in steps.
    _ = [lists:seq(1, 1000) || _ <- lists:seq(1, 300)],
    collect(N - 1).
