%% Deep stacks that change near their top alone, and ways to leave them: returns, exceptions, hibernation, a kill; what is
%% seen of them from inside and outside.
%% differential: stress=100
-module(stack_marks).
-export([main/1, woken/2, traced/1]).

main(_) ->
    p(down(5000)),
    p(waves(8, 150)),
    p(catches(1500)),
    p([trace(N) || N <- [3, 70, 400]]),
    p([seen(N) || N <- [2, 500]]),
    p(hibernated(2000)),
    p(killed(3000)),
    p(traced_calls(300)),
    p(dictionary(1000)).

down(0) -> 0;
down(N) ->
    Term = {N, [N | garbage(N rem 7)]},
    Below = down(N - 1),
    (Below + element(1, Term) + hd(element(2, Term))) band 16#ffffff.

garbage(N) -> lists:map(fun(X) -> {X, X} end, lists:seq(1, N)).

%% Down by much, up by less, and so on.
waves(0, _) -> [];
waves(N, Depth) ->
    Kept = {wave, N},
    Sum = lists:sum([up_and_down(Depth * K, garbage(5)) || K <- [1, 2, 3]]),
    Rest = waves(N - 1, Depth),
    [{Kept, Sum} | lists:sublist(Rest, 2)].

up_and_down(0, _) -> 0;
up_and_down(N, Garbage) ->
    New = [{N, N} | lists:sublist(Garbage, 4)],
    Rest = up_and_down(N - 1, New),
    Rest + element(1, hd(New)).

%% A catch in every hundredth frame; exceptions pass a hundred frames, or three hundred.
catches(0) -> throw(bottom);
catches(N) when N rem 100 =:= 0 ->
    Name = {N, garbage(3)},
    try catches(N - 1) of
        Value -> [N | lists:sublist(Value, 3)]
    catch
        throw:_ when N rem 300 =/= 0 -> throw({passed, N});
        throw:Reason ->
            {_, [{A, A}, _, {B, B}]} = Name,
            [Reason, A, B, element(1, Name) | again(N)]
    end;
catches(N) ->
    Term = [N | garbage(2)],
    Value = catches(N - 1),
    [hd(Term) | lists:sublist(Value, 3)].

again(N) when N > 1000 -> [];
again(N) -> try error_in(N) catch error:R -> [R] end.

error_in(0) -> error(bottom);
error_in(N) -> X = garbage(2), Y = error_in(N - 1), [X | Y].

trace(N) -> try traced_down(N) catch error:_:Trace -> [{M, F, A} || {M, F, A, _} <- Trace, is_integer(A)] end.

traced_down(0) -> erlang:error(here);
traced_down(N) when N rem 2 =:= 0 -> X = garbage(40), Y = other_down(N - 1), {X, Y};
traced_down(N) -> X = garbage(4), Y = traced_down(N - 1), {X, Y}.

other_down(N) -> X = garbage(30), Y = traced_down(N - 1), {X, Y}.

seen(N) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() -> waits(N, Self) end),
    receive {Pid, ready} -> ok end,
    erlang:garbage_collect(Pid),
    {current_stacktrace, Trace} = process_info(Pid, current_stacktrace),
    {backtrace, Text} = process_info(Pid, backtrace),
    Pid ! go,
    receive {'DOWN', Ref, _, _, Reason} -> {Reason, [{F, A} || {_, F, A, _} <- Trace], byte_size(Text) > 0} end.

waits(0, Parent) -> Parent ! {self(), ready}, receive go -> 0 end;
waits(N, Parent) ->
    X = garbage(20),
    Y = waits(N - 1, Parent),
    case N of
        2 -> exit({length(X), Y});
        _ -> length(X) + Y
    end.

hibernated(N) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() -> sleeps(N, Self) end),
    receive {Pid, ready} -> ok end,
    Pid ! {wake, 5},
    receive {'DOWN', Ref, _, _, Reason} -> Reason end.

sleeps(0, Parent) -> Parent ! {self(), ready}, erlang:hibernate(?MODULE, woken, [a, b]);
sleeps(N, Parent) -> X = garbage(10), Y = sleeps(N - 1, Parent), [X | Y].

woken(a, b) -> receive {wake, N} -> exit({woken, down(N * 1000)}) end.

killed(N) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() -> waits(N, Self) end),
    receive {Pid, ready} -> ok end,
    exit(Pid, kill),
    receive {'DOWN', Ref, _, _, Reason} -> Reason end.

traced_calls(N) ->
    Self = self(),
    Tracer = spawn(fun() -> count(Self, 0, 0, 0) end),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> exit(traced(N)) end end),
    erlang:trace(Pid, true, [call, return_to, {tracer, Tracer}]),
    erlang:trace_pattern({?MODULE, traced, 1}, [{'_', [], [{exception_trace}]}], [local]),
    Pid ! go,
    Result = receive {'DOWN', Ref, _, _, Reason} -> Reason end,
    Delivered = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Delivered} -> ok end,
    Tracer ! stop,
    receive {counted, Counts} -> {Result, Counts} end.

count(To, Calls, Returns, ReturnsTo) ->
    receive
        {trace, _, call, _} -> count(To, Calls + 1, Returns, ReturnsTo);
        {trace, _, return_from, _, _} -> count(To, Calls, Returns + 1, ReturnsTo);
        {trace, _, return_to, _} -> count(To, Calls, Returns, ReturnsTo + 1);
        stop -> To ! {counted, {Calls, Returns, ReturnsTo}}
    end.

traced(0) -> 0;
traced(N) -> X = garbage(12), Y = traced(N - 1), (length(X) + Y) band 16#ffff.

%% What a deep frame alone refers to, and what is in the dictionary.
dictionary(0) -> lists:sum([V || {_, V} <- get()]);
dictionary(N) ->
    put({key, N rem 50}, N),
    Map = #{N => garbage(3)},
    Sum = dictionary(N - 1),
    #{N := [{1, 1} | _]} = Map,
    Sum.

p(X) -> io:format("~w~n", [X]).
