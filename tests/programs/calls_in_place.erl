%% Recursions that branch and mostly end at once: what native code writes in the place of the call. Their ends raise,
%% meet other types than before, fill the heap, use up time slices, and begin to be traced half way.
-module(calls_in_place).
-export([main/1, fib/1, tak/3, tree/1, sum/1, wide/6, late/2, traced/1, bits/2]).

main(_) ->
    io:format("~p~n", [[fib(N) || N <- [0, 1, 2, 9, 17]]]),
    io:format("~p~n", [[{fib(0.5), fib((1 bsl 70) - (1 bsl 70) + 3)}, where(fun() -> fib(a) end), where(fun() -> fib({1}) end)]]),
    io:format("~p~n", [[tak(X, Y, Z) || {X, Y, Z} <- [{8, 4, 2}, {9, 5, 3}, {3.0, 2, 1}, {1 bsl 62, 1 bsl 62, 5}]]]),
    io:format("~p~n", [[{sum(tree(N)), erlang:phash2(tree(N))} || N <- [0, 1, 4, 8]]]),
    io:format("~p~n", [wide(9, 1, 2, 3, 4, [])]),
    io:format("~p~n", [[late(N, 100) || N <- [0, 3, 6]]]),
    io:format("~p~n", [[where(fun() -> late(N, 4) end) || N <- [5, 9, 14]]]),
    io:format("~p~n", [[bits(D, <<1, 2, 3, 4, 5, 6>>) || D <- [0, 1, 4]]]),
    Self = self(),
    Sums = [begin spawn_link(fun() -> Self ! {N, fib(16) + N, sum(tree(7))} end), N end || N <- lists:seq(1, 8)],
    io:format("~p~n", [[receive {N, A, B} -> {A, B} end || N <- Sums]]),
    trace().

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

tak(X, Y, Z) when Y >= X -> Z;
tak(X, Y, Z) -> tak(tak(X - 1, Y, Z), tak(Y - 1, Z, X), tak(Z - 1, X, Y)).

%% Ends that build, ends that look into what they get.
tree(0) -> {leaf, [], 1.5};
tree(N) -> {node, tree(N - 1), N, tree(N - 1)}.

sum({leaf, [], F}) -> trunc(F * 2);
sum({node, L, N, R}) -> sum(L) + N + sum(R).

%% More arguments than are passed in registers.
wide(0, A, B, C, D, E) -> [A, B, C, D | E];
wide(N, A, B, C, D, E) -> wide(N - 1, B, C, D, A, wide(N div 3, D, C, B, A, E)).

%% Raises in an end, after as many good ones.
late(0, M) -> 10 div M;
late(N, M) -> late(N - 1, M - 1) + late(N div 2, M - 1).

where(F) ->
    try F() catch Class:Reason:Stack -> {Class, Reason, [{N, A, proplists:get_value(line, L)} || {?MODULE, N, A, L} <- Stack]} end.

bits(0, <<B, _/binary>>) -> B;
bits(D, <<B, Rest/binary>>) -> B + bits(D - 1, Rest) + bits(0, Rest).

%% The function has itself traced: from then on each call of it is reported.
trace() ->
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, 0) end),
    erlang:trace(Self, true, [call, {tracer, Tracer}]),
    io:format("~p~n", [[traced(10), traced(11)]]),
    erlang:trace(Self, false, [call]),
    Reference = erlang:trace_delivered(Self),
    receive {trace_delivered, Self, Reference} -> Tracer ! {how_many, Self} end,
    receive {calls, Count} -> io:format("~p calls~n", [Count]) end.

traced(N) when N < 2 -> N;
traced(7) ->
    1 = erlang:trace_pattern({?MODULE, traced, 1}, true, [local]),
    traced(6) + traced(5);
traced(N) -> traced(N - 1) + traced(N - 2).

collect(Self, Count) ->
    receive
        {trace, Self, call, {?MODULE, traced, [_]}} -> collect(Self, Count + 1);
        {how_many, Self} -> Self ! {calls, Count}
    end.
