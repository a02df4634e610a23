%% Takeuchi's function: deep recursion in three arguments.
-module(tak).
-export([main/1, tak/3]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [8, 110]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("tak ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: tak ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, tak(3 * Size, 2 * Size, Size)).

tak(X, Y, Z) when Y < X ->
    tak(tak(X - 1, Y, Z), tak(Y - 1, Z, X), tak(Z - 1, X, Y));
tak(_, _, Z) -> Z.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
