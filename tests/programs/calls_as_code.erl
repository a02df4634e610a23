%% Calls of built-in functions that engines may carry out themselves: their results, errors, traces, and calls by name.
-module(calls_as_code).
-export([main/1, change/3, changed/3, put/3, has/2, is_in/2, is_first_in/2, first/1, second/2]).

main(_) ->
    Large = list_to_tuple(lists:seq(1, 100)),
    Tuples = [{}, {a}, {a, b}, {a, b, c}, list_to_tuple(lists:seq(1, 32)), list_to_tuple(lists:seq(1, 33)), Large],
    [io:format("~0p ~0p ~0p~n", [Tuple, Position, tried(Tuple, Position)])
     || Tuple <- Tuples, Position <- [0, 1, 2, tuple_size(Tuple), tuple_size(Tuple) + 1, -1, 1 bsl 70, one, 1.0]],
    [io:format("~0p ~0p~n", [Other, tried(Other, 1)])
     || Other <- [[], [a], #{}, 1, a, <<1>>, fun first/1, make_ref() < a]],
    io:format("~0p~n", [loop(200000, {0, [], none})]),
    members(Tuples),
    traced({setelement, 3, erlang}, fun(N) -> {changed(1, {a, N}, b), change(2, {a, N}, b)} end),
    traced({member, 2, lists}, fun(N) -> {is_in(N, [N]), has(N, [a, b])} end),
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

tried(F, Tuple, Position) -> tried_with(F, [Position, Tuple, new]).

tried_with(F, Arguments) ->
    try apply(?MODULE, F, Arguments)
    catch Class:Reason:Trace -> {Class, Reason, places(Trace)}
    end.

places(Trace) ->
    [{N, if is_list(A) -> length(A); true -> A end}
     || {M, N, A, _} <- Trace, lists:member(M, [erlang, lists, ?MODULE])].

%% The heap is full again and again; what is copied stays as it is.
loop(0, Tuple) -> Tuple;
loop(N, Tuple) ->
    Next = setelement(1, Tuple, element(1, Tuple) + 1),
    Kept = setelement(2, Next, lists:sublist([N | element(2, Next)], 5)),
    loop(N - 1, changed(3, Kept, {N})).

%% Elements that are found by their words, and others, from the first one to what engines leave to the function.
members(Tuples) ->
    Lists = [[], [a], [1, 2.0, <<"b">>, [c], {d}, 1 bsl 70, fun ?MODULE:first/1, 1.0 | Tuples]
             | [lists:seq(1, N) || N <- [1, 2, 38, 39, 40, 41, 79, 80, 81, 1000]]],
    Wanted = [a, 1, 1.0, 2, 2.0, 38, 39, 40, 41, 42, 80, 81, 1000, [], [c], {d}, <<"b">>, 1 bsl 70,
              fun ?MODULE:first/1],
    [io:format("~0p ~0p ~0p~n", [One, length(List), found(One, List)]) || List <- Lists, One <- Wanted],
    [io:format("~0p ~0p ~0p~n", [One, List, found(One, List)])
     || List <- [a, {a}, [1 | 2], [a, b | c], lists:seq(1, 38) ++ 39, lists:seq(1, 39) ++ x, lists:seq(1, 40) ++ x,
                 lists:seq(1, 90) ++ x, #{}, <<>>],
        One <- [1, 2, b, 38, 39, 40, 41, x, {a}, "a"]],
    In = [N || N <- lists:seq(1, 20000), is_in(N rem 50, [3, a, 17, 45]), has(N band 7, "\1\2") =/= x],
    io:format("~0p~n", [length(In)]).

has(One, List) ->
    Found = lists:member(One, List),
    {Found, One}.

is_in(One, List) -> lists:member(One, List).

is_first_in(One, List) ->
    Checked = first({One}),
    lists:member(Checked, List).

found(One, List) -> [tried_with(F, [One, List]) || F <- [has, is_in, is_first_in]].

traced({Name, Arity, Module}, Call) ->
    [Call(N) || N <- lists:seq(1, 2000)],
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, {Name, Arity, Module}, 0) end),
    erlang:trace_pattern({Module, Name, Arity}, true, [local]),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    [Call(N) || N <- lists:seq(1, 50)],
    erlang:trace(self(), false, [call]),
    erlang:trace_pattern({Module, Name, Arity}, false, [local]),
    Reference = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Reference} -> Tracer ! stop end,
    receive {calls, Calls} -> io:format("~0p~n", [Calls]) end.

collect(To, {Name, Arity, Module} = Function, Calls) ->
    receive
        {trace, _, call, {Module, Name, Arguments}} when length(Arguments) =:= Arity ->
            collect(To, Function, Calls + 1);
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
