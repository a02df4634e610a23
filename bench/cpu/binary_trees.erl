%% Many short-lived trees of all depths beside one which lives: allocation and collection.
-module(binary_trees).
-export([main/1, tree/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [18, 12]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("binary_trees ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: binary_trees ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, trees(Size)).

trees(Max) ->
    Long = tree(Max),
    Short = [count(1 bsl (Max - D), D, 0) || D <- lists:seq(4, Max, 2)],
    {check(Long), lists:sum(Short)}.

count(0, _, Sum) -> Sum;
count(N, Depth, Sum) -> count(N - 1, Depth, Sum + check(tree(Depth))).

tree(0) -> {nil, nil};
tree(D) -> {tree(D - 1), tree(D - 1)}.

check({nil, nil}) -> 1;
check({L, R}) -> 1 + check(L) + check(R).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
