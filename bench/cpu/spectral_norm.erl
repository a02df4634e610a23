%% The largest singular value of an infinite matrix, cut to Size rows, by power iteration.
-module(spectral_norm).
-export([main/1, entry/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [700, 1]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("spectral_norm ~w x~w: ~.9f~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: spectral_norm ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, norm(Size)).

norm(N) ->
    {U, V} = iterate(10, N, lists:duplicate(N, 1.0), none),
    math:sqrt(dot(U, V) / dot(V, V)).

iterate(0, _, U, V) -> {U, V};
iterate(K, N, U, _) ->
    V = both(N, U),
    iterate(K - 1, N, both(N, V), V).

%% A' * (A * Vector)
both(N, Vector) ->
    Once = [row(I, 0, Vector, 0.0) || I <- lists:seq(0, N - 1)],
    [column(I, 0, Once, 0.0) || I <- lists:seq(0, N - 1)].

row(_, _, [], Sum) -> Sum;
row(I, J, [X | Rest], Sum) -> row(I, J + 1, Rest, Sum + entry(I, J) * X).

column(_, _, [], Sum) -> Sum;
column(I, J, [X | Rest], Sum) -> column(I, J + 1, Rest, Sum + entry(J, I) * X).

entry(I, J) -> 1.0 / ((I + J) * (I + J + 1) div 2 + I + 1).

dot([], []) -> 0.0;
dot([X | Xs], [Y | Ys]) -> X * Y + dot(Xs, Ys).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
