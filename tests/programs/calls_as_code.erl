%% Calls of built-in functions that engines may carry out themselves: their results, errors, traces, and calls by name.
-module(calls_as_code).
-export([main/1, change/3, changed/3, put/3, first/1, second/2]).

main(_) ->
    Large = list_to_tuple(lists:seq(1, 100)),
    Tuples = [{}, {a}, {a, b}, {a, b, c}, list_to_tuple(lists:seq(1, 32)), list_to_tuple(lists:seq(1, 33)), Large],
    [io:format("~0p ~0p ~0p~n", [Tuple, Position, tried(Tuple, Position)])
     || Tuple <- Tuples, Position <- [0, 1, 2, tuple_size(Tuple), tuple_size(Tuple) + 1, -1, 1 bsl 70, one, 1.0]],
    [io:format("~0p ~0p~n", [Other, tried(Other, 1)])
     || Other <- [[], [a], #{}, 1, a, <<1>>, fun first/1, make_ref() < a]],
    io:format("~0p~n", [loop(200000, {0, [], none})]),
    traced(),
    io:format("~0p~n", [lists:foldl(fun(F, Sum) -> Sum + F(1) end, 0, funs(3))]),
    [io:format("~0p~n", [applied(F)]) || F <- [fun first/1, fun ?MODULE:first/1, fun second/2, fun ?MODULE:second/2,
        fun ?MODULE:none/1, no_fun, fun(X) -> {Large, X} end, fun() -> 1 end]].

%% In the middle of a function, as its last act, and with a frame to give back.
change(Position, Tuple, Value) ->
    New = setelement(Position, Tuple, Value),
    {New, tuple_size(New)}.

changed(Position, Tuple, Value) -> setelement(Position, Tuple, Value).

put(Position, Tuple, Value) ->
    Checked = first({Value}),
    setelement(Position, Tuple, Checked).

tried(Tuple, Position) -> [tried(F, Tuple, Position) || F <- [change, changed, put]].

tried(F, Tuple, Position) ->
    try ?MODULE:F(Position, Tuple, new)
    catch Class:Reason:Trace -> {Class, Reason, places(Trace)}
    end.

places(Trace) ->
    [{N, if is_list(A) -> length(A); true -> A end} || {M, N, A, _} <- Trace, lists:member(M, [erlang, ?MODULE])].

%% The heap is full again and again; what is copied stays as it is.
loop(0, Tuple) -> Tuple;
loop(N, Tuple) ->
    Next = setelement(1, Tuple, element(1, Tuple) + 1),
    Kept = setelement(2, Next, lists:sublist([N | element(2, Next)], 5)),
    loop(N - 1, changed(3, Kept, {N})).

traced() ->
    [changed(1, {a, N}, b) || N <- lists:seq(1, 2000)],
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, 0) end),
    erlang:trace_pattern({erlang, setelement, 3}, true, [local]),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    [changed(1, {a, N}, b) || N <- lists:seq(1, 50)],
    [change(2, {a, N}, b) || N <- lists:seq(1, 50)],
    erlang:trace(self(), false, [call]),
    erlang:trace_pattern({erlang, setelement, 3}, false, [local]),
    Reference = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Reference} -> Tracer ! stop end,
    receive {calls, Calls} -> io:format("~0p~n", [Calls]) end.

collect(To, Calls) ->
    receive
        {trace, _, call, {erlang, setelement, [_, _, _]}} -> collect(To, Calls + 1);
        stop -> To ! {calls, Calls}
    end.

%% Funs with none to many free variables.
funs(N) ->
    {A, B, C, D, E} = {N, N + 1, N + 2, N + 3, N + 4},
    [fun(X) -> X end, fun(X) -> X + A end, fun(X) -> X + A * B end, fun(X) -> X + A * B + C end,
     fun(X) -> X + A * B + C * D + E end, fun ?MODULE:first/1].

applied(F) ->
    try
        Result = F({x}),
        {result, Result}
    catch Class:Reason -> {Class, Reason}
    end.

first(X) when is_tuple(X) -> element(1, X);
first(X) -> X.

second(X, Y) -> {X, Y}.
