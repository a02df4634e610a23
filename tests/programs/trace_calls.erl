%% Tracing: calls, returns, exceptions, messages, processes, match specifications, counts, information, errors.
-module(trace_calls).
-export([main/1, f/1, g/1, loop/2, fail/1, id/1, caught/1, child/1, tail/1]).

main(_) ->
    local(),
    global(),
    returns(),
    specifications(),
    messages(),
    events(),
    counts(),
    times(),
    meta(),
    information(),
    errors().

f(X) -> Y = g(X), ?MODULE:id(Y) + 1.
g(X) -> X * 2.
id(X) -> X.
tail(X) -> g(X).
loop(0, Acc) -> Acc;
loop(N, Acc) -> loop(N - 1, Acc + N).
fail(X) -> [_] = ?MODULE:id(X), ok.
caught(X) -> try fail(X) catch error:{badmatch, _} -> caught end.
child(linked) -> receive stop -> stopped end;
child(X) -> X.

%% Runs a function in a process that is traced with these flags, and gives what was told.
traced(Flags, F) ->
    P = spawn(fun() -> receive go -> ok end, F(), receive stop -> ok end end),
    1 = erlang:trace(P, true, Flags),
    P ! go,
    wait(P),
    R = erlang:trace_delivered(P),
    receive {trace_delivered, P, R} -> ok end,
    catch erlang:trace(P, false, [all]),
    exit(P, kill),
    [name(M, P) || M <- collect()].

wait(P) ->
    case process_info(P, [status, message_queue_len, current_function]) of
        [{status, waiting}, {message_queue_len, 0} | _] -> timer:sleep(1), wait_again(P, 3);
        undefined -> ok;
        _ -> erlang:yield(), wait(P)
    end.

wait_again(_, 0) -> ok;
wait_again(P, N) ->
    case process_info(P, status) of
        {status, waiting} -> timer:sleep(1), wait_again(P, N - 1);
        undefined -> ok;
        _ -> wait(P)
    end.

collect() ->
    receive M when element(1, M) =:= trace; element(1, M) =:= trace_ts -> [M | collect()] after 0 -> [] end.

%% Pids have other numbers in each run.
name(P, P) -> traced;
name(X, _) when is_pid(X) -> if X =:= self() -> tracer; true -> other end;
name(X, _) when is_reference(X) -> reference;
name(X, _) when is_function(X) -> function;
name(T, P) when is_tuple(T) -> list_to_tuple([name(E, P) || E <- tuple_to_list(T)]);
name([H | T], P) -> [name(H, P) | name(T, P)];
name(X, _) -> X.

off() ->
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    erlang:trace_pattern({'_', '_', '_'}, false, [global]),
    ok.

local() ->
    p(erlang:trace_pattern({?MODULE, f, 1}, true, [local])),
    p(erlang:trace_pattern({?MODULE, g, '_'}, true, [local])),
    p(traced([call], fun() -> f(1), g(2), ?MODULE:f(3) end)),
    p(traced([call, arity], fun() -> f(1) end)),
    p([setelement(tuple_size(M), M, time) || M <- traced([call, monotonic_timestamp], fun() -> f(1) end)]),
    p(traced([call, silent], fun() -> f(1) end)),
    p(erlang:trace_pattern({?MODULE, loop, 2}, true, [local])),
    p(traced([call], fun() -> loop(3, 0) end)),
    off(),
    p(traced([call], fun() -> f(1) end)),
    p(erlang:trace_pattern({?MODULE, nope, 1}, true, [local])),
    p(erlang:trace_pattern({nomodule, nope, 1}, true, [local])).

global() ->
    p(erlang:trace_pattern({?MODULE, id, 1}, true, [])),
    p(erlang:trace_pattern({?MODULE, f, 1}, true)),
    p(traced([call], fun() -> f(1), ?MODULE:f(2), M = id(?MODULE), M:f(3), apply(M, f, [4]) end)),
    p(erlang:trace_pattern({?MODULE, f, 1}, false)),
    p(erlang:trace_pattern({lists, reverse, 1}, true)),
    p(traced([call], fun() -> lists:reverse([1, 2]) end)),
    off().

returns() ->
    RT = [{'_', [], [{return_trace}]}],
    ET = [{'_', [], [{exception_trace}]}],
    [p(erlang:trace_pattern({?MODULE, F, 1}, RT, [local])) || F <- [f, g, tail]],
    p(traced([call], fun() -> f(1), tail(2) end)),
    p(traced([call, return_to], fun() -> X = f(1), id(X) end)),
    off(),
    [erlang:trace_pattern({?MODULE, F, 1}, ET, [local]) || F <- [fail, caught, id]],
    p(traced([call], fun() -> caught(1), caught([1]) end)),
    off(),
    [erlang:trace_pattern({?MODULE, F, 1}, true, [local]) || F <- [f, g]],
    p(traced([call, return_to], fun() -> X = f(1), id(X) end)),
    off().

specifications() ->
    T = fun(MS, F) -> erlang:trace_pattern({?MODULE, g, 1}, MS, [local]), R = traced([call], F), off(), p(R) end,
    F = fun() -> g(1), f(2), tail(3), g(10) end,
    T([{['$1'], [{'>', '$1', 2}], []}], F),
    T([{['$1'], [], [{message, {{big, '$1'}}}]}], F),
    T([{['$1'], [], [{message, false}]}], F),
    T([{[1], [], [{message, one}]}, {'_', [], [{message, {caller}}]}], F),
    T([{['$1'], [{'==', '$1', 2}], [{return_trace}]}], F),
    T([{[3], [], [{silent, true}]}, {'_', [], []}], F).

messages() ->
    Self = self(),
    p(traced([send], fun() -> Self ! {hello, 1}, erlang:send(Self, 2), self() ! own, receive own -> ok end end)),
    receive {hello, 1} -> ok end, receive 2 -> ok end,
    p(traced(['receive'], fun() -> self() ! own, receive own -> ok end end)),
    {Dead, M} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', M, process, Dead, normal} -> ok end,
    p(traced([send], fun() -> Dead ! lost end)).

events() ->
    p(traced([procs], fun() ->
        register(a_name, self()), unregister(a_name),
        P = spawn(?MODULE, child, [linked]), link(P), unlink(P), P ! stop
    end) -- [none]),
    p(lists:sort(traced([procs, set_on_spawn], fun() ->
        {_, M} = spawn_monitor(?MODULE, child, [y]), receive {'DOWN', M, _, _, _} -> ok end end))),
    p(traced([procs], fun() -> exit(bye) end)),
    p([E || M <- traced([running], fun() -> receive after 1 -> ok end end), E <- [element(3, M)], E =/= in, E =/= out]).

counts() ->
    p(erlang:trace_pattern({?MODULE, loop, 2}, true, [call_count])),
    loop(10, 0), loop(5, 0),
    p(erlang:trace_info({?MODULE, loop, 2}, call_count)),
    p(erlang:trace_pattern({?MODULE, loop, 2}, restart, [call_count])),
    loop(1, 0),
    p(erlang:trace_info({?MODULE, loop, 2}, call_count)),
    p(erlang:trace_pattern({?MODULE, loop, 2}, false, [call_count])),
    p(erlang:trace_info({?MODULE, loop, 2}, call_count)).

times() ->
    p(erlang:trace_pattern({?MODULE, '_', '_'}, true, [call_time])),
    P = spawn(fun() -> receive go -> f(1), f(2), tail(3), loop(20000, 0), caught(1) end, receive stop -> ok end end),
    1 = erlang:trace(P, true, [call]),
    P ! go,
    wait(P),
    p([{F, N} || {F, A} <- [{f, 1}, {g, 1}, {tail, 1}, {loop, 2}, {fail, 1}, {caught, 1}],
        {call_time, [{Q, N, 0, _}]} <- [erlang:trace_info({?MODULE, F, A}, call_time)], Q =:= P]),
    exit(P, kill),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [call_time]),
    p(erlang:trace_info({?MODULE, f, 1}, call_time)).

meta() ->
    Self = self(),
    p(erlang:trace_pattern({?MODULE, g, 1}, [{['$1'], [], [{message, '$1'}]}], [{meta, Self}])),
    p(erlang:trace_info({?MODULE, g, 1}, meta) =:= {meta, Self}),
    p(erlang:trace_info({?MODULE, g, 1}, meta_match_spec)),
    {P, M} = spawn_monitor(fun() -> g(7) end),
    receive {'DOWN', M, process, P, normal} -> ok end,
    p([name(setelement(tuple_size(X), X, time), P) || X <- collect()]),
    erlang:trace_pattern({?MODULE, g, 1}, false, [meta]).

information() ->
    p(erlang:trace_info({?MODULE, f, 1}, traced)),
    erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [local]),
    p([erlang:trace_info({?MODULE, f, 1}, I) || I <- [traced, match_spec, meta, meta_match_spec, call_count]]),
    off(),
    erlang:trace_pattern({?MODULE, f, 1}, true, [global]),
    p([erlang:trace_info({?MODULE, f, 1}, I) || I <- [traced, match_spec]]),
    off(),
    p(erlang:trace_info({?MODULE, nope, 1}, traced)),
    P = spawn(fun() -> receive stop -> ok end end),
    erlang:trace(P, true, [call, send, timestamp]),
    {flags, Fs} = erlang:trace_info(P, flags),
    p(lists:sort(Fs)),
    p(erlang:trace_info(P, tracer) =:= {tracer, self()}),
    erlang:trace(P, false, [all, timestamp]),
    p([erlang:trace_info(P, I) || I <- [flags, tracer]]),
    p([erlang:trace_info(new, I) || I <- [flags, tracer]]),
    1 = erlang:trace(P, true, [send]),
    p(t(fun() -> erlang:trace(P, true, [send, {tracer, spawn(fun() -> timer:sleep(100) end)}]) end)),
    exit(P, kill),
    p(is_integer(erlang:trace(all, true, [call]))),
    p(is_integer(erlang:trace(all, false, [call]))).

errors() ->
    p([t(F) || F <- [fun() -> erlang:trace(self(), true, [nope]) end, fun() -> erlang:trace(self(), maybe, [call]) end,
        fun() -> erlang:trace(x, true, [call]) end, fun() -> erlang:trace_pattern(x, true, []) end,
        fun() -> erlang:trace_pattern({'_', f, 1}, true, []) end, fun() -> erlang:trace_pattern({?MODULE, f, 1}, x, []) end,
        fun() -> erlang:trace_pattern({?MODULE, f, 1}, [{x}], [local]) end,
        fun() -> erlang:trace_pattern({?MODULE, f, 1}, true, [local, global]) end,
        fun() -> erlang:trace_info(x, y) end, fun() -> erlang:trace_info({?MODULE, f, 1}, y) end,
        fun() -> erlang:trace_delivered(x) end]]).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~0p~n", [X]).
