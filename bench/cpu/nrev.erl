%% Naive reverse: appending one element at a time, quadratic garbage.
-module(nrev).
-export([main/1, nrev/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [500, 1300]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("nrev ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: nrev ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, lists:sum(nrev(lists:seq(1, Size)))).

nrev([]) -> [];
nrev([H | T]) -> app(nrev(T), [H]).

app([], L) -> L;
app([H | T], L) -> [H | app(T, L)].

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
