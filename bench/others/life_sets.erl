%% Conway's Life on a map of living cells: tuples as keys, sets, comprehensions.
-module(life_sets).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [40, 20]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("life_sets ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: life_sets ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(Generations) ->
    Start = maps:from_keys([{X, Y} || X <- lists:seq(1, 40), Y <- lists:seq(1, 40), (X * 7 + Y * 13 + X * Y) rem 5 < 2], alive),
    erlang:phash2(lists:sort(maps:keys(generations(Generations, Start)))).

generations(0, Cells) -> Cells;
generations(N, Cells) -> generations(N - 1, step(Cells)).

step(Cells) ->
    Counts = maps:fold(fun(Cell, _, Map) -> lists:foldl(fun add/2, Map, neighbours(Cell)) end, #{}, Cells),
    maps:filter(fun(Cell, Count) -> Count =:= 3 orelse (Count =:= 2 andalso is_map_key(Cell, Cells)) end, Counts).

add(Cell, Map) -> maps:update_with(Cell, fun(Count) -> Count + 1 end, 1, Map).

neighbours({X, Y}) -> [{X + Dx, Y + Dy} || Dx <- [-1, 0, 1], Dy <- [-1, 0, 1], Dx =/= 0 orelse Dy =/= 0].

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
