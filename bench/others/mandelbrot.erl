%% The Mandelbrot set as a bitmap: floats in arguments, bits put together.
-module(mandelbrot).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [400, 8]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("mandelbrot ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: mandelbrot ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) -> erlang:phash2(<< <<(row(Y, N))/bitstring>> || Y <- lists:seq(0, N - 1) >>).

row(Y, N) ->
    Ci = 2.0 * Y / N - 1.0,
    << <<(inside(2.0 * X / N - 1.5, Ci, 0.0, 0.0, 50)):1>> || X <- lists:seq(0, N - 1) >>.

inside(_, _, _, _, 0) -> 1;
inside(Cr, Ci, Zr, Zi, Left) ->
    Zr2 = Zr * Zr,
    Zi2 = Zi * Zi,
    if
        Zr2 + Zi2 > 4.0 -> 0;
        true -> inside(Cr, Ci, Zr2 - Zi2 + Cr, 2.0 * Zr * Zi + Ci, Left - 1)
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
