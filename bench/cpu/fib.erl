%% The naive Fibonacci function: calls and small integer arithmetic.
-module(fib).
-export([main/1, fib/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [34, 18]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("fib ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: fib ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, fib(Size)).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
