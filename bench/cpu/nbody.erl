%% The sun and four planets, a symplectic step of 0.01 years at a time: float arithmetic in tuples.
-module(nbody).
-export([main/1, advance/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [300000, 1]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("nbody ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: nbody ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, simulate(Size, bodies())).

%% {Mass, X, Y, Z, VX, VY, VZ}: astronomical units, years, masses of the sun.
bodies() ->
    Sun = 4 * math:pi() * math:pi(),
    Day = 365.24,
    Planets = [{9.54791938424326609e-4, 4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
                1.66007664274403694e-3, 7.69901118419740425e-3, -6.90460016972063023e-5},
               {2.85885980666130812e-4, 8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
                -2.76742510726411221e-3, 4.99852801234917238e-3, 2.30417297573763929e-5},
               {4.36624404335156298e-5, 12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
                2.96460137564761618e-3, 2.37847173959480950e-3, -2.96589568540237556e-5},
               {5.15138902046611451e-5, 15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
                2.68067772490389322e-3, 1.62824170038242295e-3, -9.51592254519715870e-5}],
    Moving = [{M * Sun, X, Y, Z, VX * Day, VY * Day, VZ * Day} || {M, X, Y, Z, VX, VY, VZ} <- Planets],
    {PX, PY, PZ} = lists:foldl(fun({M, _, _, _, VX, VY, VZ}, {A, B, C}) ->
                                       {A + M * VX, B + M * VY, C + M * VZ}
                               end, {0.0, 0.0, 0.0}, Moving),
    [{Sun, 0.0, 0.0, 0.0, -PX / Sun, -PY / Sun, -PZ / Sun} | Moving].

simulate(0, Bodies) -> energy(Bodies);
simulate(N, Bodies) -> simulate(N - 1, advance(Bodies)).

advance(Bodies) -> [move(attract(B, Bodies)) || B <- Bodies].

attract(Body, []) -> Body;
attract({M, X, Y, Z, VX, VY, VZ}, [{M2, X2, Y2, Z2, _, _, _} | Rest]) ->
    DX = X2 - X, DY = Y2 - Y, DZ = Z2 - Z,
    D2 = DX * DX + DY * DY + DZ * DZ,
    case D2 > 0.0 of
        true ->
            F = 0.01 * M2 / (D2 * math:sqrt(D2)),
            attract({M, X, Y, Z, VX + DX * F, VY + DY * F, VZ + DZ * F}, Rest);
        false ->
            attract({M, X, Y, Z, VX, VY, VZ}, Rest)
    end.

move({M, X, Y, Z, VX, VY, VZ}) ->
    {M, X + 0.01 * VX, Y + 0.01 * VY, Z + 0.01 * VZ, VX, VY, VZ}.

energy([]) -> 0.0;
energy([{M, X, Y, Z, VX, VY, VZ} | Rest]) ->
    Pairs = lists:sum([M * M2 / math:sqrt((X - X2) * (X - X2) + (Y - Y2) * (Y - Y2) + (Z - Z2) * (Z - Z2))
                       || {M2, X2, Y2, Z2, _, _, _} <- Rest]),
    0.5 * M * (VX * VX + VY * VY + VZ * VZ) - Pairs + energy(Rest).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
