%% Distances between words by dynamic programming over lists.
-module(levenshtein).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [220, 5]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("levenshtein ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: levenshtein ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Words = [word(I) || I <- lists:seq(1, N)],
    lists:sum([distance(A, B) || A <- Words, B <- Words]).

word(I) -> [$a + (I * K * 7919 bsr 3) rem 26 || K <- lists:seq(1, 4 + I rem 9)].

distance(A, B) -> rows(A, B, lists:seq(0, length(B)), 1).

rows([], _, Row, _) -> lists:last(Row);
rows([X | Rest], B, [Diagonal | Above], I) -> rows(Rest, B, [I | row(X, B, Diagonal, Above, I)], I + 1).

row(_, [], _, [], _) -> [];
row(X, [Y | Ys], Diagonal, [Up | Above], Left) ->
    Cost = case X of Y -> Diagonal; _ -> Diagonal + 1 end,
    Best = min(Cost, min(Up + 1, Left + 1)),
    [Best | row(X, Ys, Up, Above, Best)].

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
