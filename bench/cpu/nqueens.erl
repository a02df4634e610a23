%% All solutions of the queens problem, by list comprehensions.
-module(nqueens).
-export([main/1, queens/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [11, 8]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("nqueens ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: nqueens ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, length(queens(Size, Size))).

queens(0, _) -> [[]];
queens(K, N) ->
    [[Q | Qs] || Qs <- queens(K - 1, N), Q <- lists:seq(1, N), safe(Q, Qs, 1)].

safe(_, [], _) -> true;
safe(Q, [Q1 | Qs], D) ->
    Q =/= Q1 andalso abs(Q - Q1) =/= D andalso safe(Q, Qs, D + 1).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
