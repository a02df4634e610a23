%% Recursions that branch and mostly end at once, and short functions that call nothing: what native code writes in the
%% place of the call. They raise, meet other types than before, fill the heap, use up time slices, and begin to be traced
%% half way.
-module(calls_in_place).
-export([main/1, fib/1, tak/3, tree/1, sum/1, wide/6, late/2, traced/1, bits/2, leaves/2, short/1]).

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
    io:format("~p~n", [[leaves(N, 300) || N <- [0, 1, 2.5, 1 bsl 58, 1 bsl 90]]]),
    io:format("~p~n", [[where(fun() -> fails(V, 5) end) || V <- [a, {1}, [], <<1>>, #{}, 0]]]),
    trace(traced, fun() -> [traced(10), traced(11)] end),
    trace(short, fun() -> callers(20) end).

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

%% All of them in a loop: the same operands, then others.
leaves(_, 0) -> [];
leaves(N, M) ->
    Pair = pair(N, M),
    Size = size_of(<<M:16, 1, 2, 3>>),
    Wide = order(M, N, 3, Size, Pair, 7),
    Float = half(M) + half(N),
    Map = with(M, #{a => 1, M => N}),
    Class = class(Pair),
    End = out(M, N),
    Rest = leaves(N, M - 1),
    case M rem 100 of
        0 -> [{Pair, Size, Wide, Float, Map, Class, End} | Rest];
        _ -> Rest
    end.

pair(N, M) -> {N + M, [N - M | N * M]}.

size_of(<<N:16, Rest/binary>>) when N > 150 -> N + byte_size(Rest);
size_of(<<N:16, _/binary>>) -> N.

order(A, B, C, D, E, F) -> {F, E, D, C, B, A}.

half(N) -> N / 2.

with(K, #{a := V} = M) when K > 9 -> M#{a := V + K, K => V};
with(_, M) -> M.

class({N, _}) when is_integer(N), N > 1000 -> large;
class({N, [_ | _]}) when is_float(N) -> float;
class({_, [_ | _]}) -> small.

%% Goes on to functions that return to its caller, one of them the caller's own.
out(M, N) when M rem 3 =:= 0 -> leaves(N, 0);
out(M, N) when M rem 3 =:= 1 -> pair(N, M);
out(_, _) -> done.

%% Raises in what it calls, or behind it.
fails(V, 0) -> {one(V), two(V)};
fails(V, N) ->
    One = try one(V) catch error:Reason -> Reason end,
    {Two, _} = {fails(V, N - 1), One},
    Two.

one(0) -> zero;
one({_}) -> tuple;
one([]) -> empty.

two(V) -> V + 1.

short(N) -> N rem 7.

%% Calls a short function that begins to be traced half way.
callers(0) -> 0;
callers(N) ->
    case N of
        10 -> 1 = erlang:trace_pattern({?MODULE, short, 1}, true, [local]);
        _ -> none
    end,
    short(N) + callers(N - 1) + short(N + 1).

%% From a call in the middle on, each call of a function is reported.
trace(Name, F) ->
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, Name, 0) end),
    erlang:trace(Self, true, [call, {tracer, Tracer}]),
    io:format("~p~n", [F()]),
    erlang:trace(Self, false, [call]),
    Reference = erlang:trace_delivered(Self),
    receive {trace_delivered, Self, Reference} -> Tracer ! {how_many, Self} end,
    receive {calls, Count} -> io:format("~p calls~n", [Count]) end.

traced(N) when N < 2 -> N;
traced(7) ->
    1 = erlang:trace_pattern({?MODULE, traced, 1}, true, [local]),
    traced(6) + traced(5);
traced(N) -> traced(N - 1) + traced(N - 2).

collect(Self, Name, Count) ->
    receive
        {trace, Self, call, {?MODULE, Name, [_]}} -> collect(Self, Name, Count + 1);
        {how_many, Self} -> Self ! {calls, Count}
    end.
