%% Maps of Size integer and binary keys: insert, update, look up, fold, remove.
-module(map_updates).
-export([main/1, build/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [100000, 4]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("map_updates ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: map_updates ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    M = build(N, #{}),
    Updated = lists:foldl(fun(I, A) -> maps:update_with(I, fun(V) -> V + 1 end, A) end, M, lists:seq(1, N, 3)),
    Found = lookup(N, Updated, 0),
    Left = lists:foldl(fun maps:remove/2, Updated, lists:seq(1, N, 2)),
    Words = words(N div 4, #{}),
    {Found, map_size(Left), maps:fold(fun(_, V, S) -> S + V end, 0, Left), map_size(Words),
     lists:max(maps:values(Words))}.

build(0, M) -> M;
build(N, M) -> build(N - 1, M#{N => N * 7}).

lookup(0, _, Sum) -> Sum;
lookup(N, M, Sum) -> #{N := V} = M, lookup(N - 1, M, Sum + V).

words(0, M) -> M;
words(N, M) ->
    Key = integer_to_binary(N * 31 rem 1009),
    case M of
        #{Key := C} -> words(N - 1, M#{Key := C + 1});
        #{} -> words(N - 1, M#{Key => 1})
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
