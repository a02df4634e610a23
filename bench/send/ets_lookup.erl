%% One row with a long list in it is read from a table many times.
-module(ets_lookup).
-export([main/1]).

main(Args) ->
    [Elements, Times] = numbers(Args, [1000, 300000]),
    Table = ets:new(rows, [set, public]),
    ets:insert(Table, {key, lists:seq(1, Elements)}),
    look(1000, Table, 0),
    Start = erlang:monotonic_time(microsecond),
    Sum = look(Times, Table, 0),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("ets_lookup ~w elements x~w: ~w~n", [Elements, Times, Sum]),
    io:format(standard_error, "result: ets_lookup ~.4f us/lookup~n", [Micros / Times]).

look(0, _, Sum) -> Sum;
look(N, Table, Sum) ->
    [{key, [First | _]}] = ets:lookup(Table, key),
    look(N - 1, Table, Sum + First).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
