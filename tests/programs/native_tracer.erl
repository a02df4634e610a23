%% A module with native functions gets trace messages: what it is asked, what it answers, and what it is told.
-module(native_tracer).
-export([main/1, enabled/3, trace/5, enabled_procs/3, trace_procs/5, called/1, id/1]).
-nifs([enabled/3, trace/5, enabled_procs/3, trace_procs/5]).

enabled(_, _, _) -> erlang:nif_error(not_loaded).
trace(_, _, _, _, _) -> erlang:nif_error(not_loaded).
enabled_procs(_, _, _) -> erlang:nif_error(not_loaded).
trace_procs(_, _, _, _, _) -> erlang:nif_error(not_loaded).

called(bad) -> exit(bad);
called(X) -> {got, X}.
id(X) -> X.

main(_) ->
    show("without library", catch erlang:trace(self(), true, [call, {tracer, ?MODULE, []}])),
    ok = erlang:load_nif(filename:rootname(code:which(?MODULE)), 0),
    show("no tracer", catch erlang:trace(self(), true, [call, {tracer, lists, []}])),
    show("no module", catch erlang:trace(self(), true, [call, {tracer, no_such_module, []}])),
    show("no atom", catch erlang:trace(self(), true, [call, {tracer, make_ref(), []}])),
    Call = fun() -> called(id(3)), called(id(<<0:5000>>)), catch called(id(bad)) end,
    1 = erlang:trace_pattern({?MODULE, called, 1}, [{'_', [], [{return_trace}, {message, {const, {said, "so"}}}]}], [local]),
    traced("calls", [call], #{call => trace}, Call),
    traced("calls and what returns", [call, return_to], #{call => trace, return_from => trace, return_to => trace}, Call),
    traced("calls discarded", [call], #{call => discard}, Call),
    traced("calls removed", [call], #{call => remove}, Call),
    traced("status removed", [call], #{call => trace, trace_status => remove}, Call),
    traced("no verdict", [call], #{call => wrong}, Call),
    traced("arity, time", [call, arity, timestamp], #{call => trace}, Call),
    traced("scheduler, time", [call, scheduler_id, strict_monotonic_timestamp], #{call => trace}, Call),
    1 = erlang:trace_pattern({?MODULE, called, 1}, [{'_', [], [{exception_trace}]}], [local]),
    traced("exceptions", [call], #{call => trace, exception_from => trace}, Call),
    1 = erlang:trace_pattern({?MODULE, called, 1}, true, [local]),
    traced("all calls", [call, monotonic_timestamp], #{call => trace}, Call),
    1 = erlang:trace_pattern({?MODULE, called, 1}, false, [local]),
    traced("messages", [send, 'receive'], #{send => trace, 'receive' => trace}, fun() ->
        self() ! {a, <<"message">>},
        receive {a, _} -> ok end
    end),
    traced("to nobody", [send], #{send => trace, send_to_non_existing_process => trace}, fun() ->
        {Pid, Monitor} = spawn_monitor(fun() -> ok end),
        receive {'DOWN', Monitor, _, _, _} -> ok end,
        Pid ! {x, self()}
    end),
    Names = [spawn, link, unlink, exit, register, unregister, getting_linked, getting_unlinked, spawned],
    traced("processes", [procs], maps:from_list([{Name, trace} || Name <- Names]), fun() ->
        register(native_tracer_name, self()),
        unregister(native_tracer_name),
        %% It lives longer than the link.
        Pid = spawn_link(timer, sleep, [1000]),
        unlink(Pid)
    end),
    traced("some of processes", [procs], #{exit => trace}, fun() -> register(native_tracer_name, self()) end),
    traced("inherited", [call, procs, set_on_spawn], #{spawned => trace}, fun() ->
        {Pid, Monitor} = spawn_monitor(?MODULE, id, [1]),
        receive {'DOWN', Monitor, _, Pid, _} -> ok end
    end),
    meta(),
    specification(),
    sequence(),
    info(),
    quiet().

%% A process does the action while it is traced.
traced(What, Flags, Verdicts, Action) ->
    [traced(What, Flags, Verdicts, Action, Told) || Told <- [false, true]].

traced(What, Flags, Verdicts, Action, Told) ->
    Me = self(),
    State = {Verdicts, Me, Told},
    {Pid, Monitor} = spawn_monitor(fun() ->
        receive go -> ok end,
        Action(),
        receive stop -> ok end
    end),
    show(What, catch erlang:trace(Pid, true, [{tracer, ?MODULE, State} | Flags])),
    Pid ! go,
    wait(Pid),
    show("flags", element(2, erlang:trace_info(Pid, flags))),
    show("tracer", case erlang:trace_info(Pid, tracer) of {tracer, {?MODULE, State}} -> same; {tracer, Other} -> Other end),
    Pid ! stop,
    receive {'DOWN', Monitor, _, _, Reason} -> show("ended", Reason) end,
    Delivered = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Delivered} -> ok end,
    shown(Pid, State).

wait(Pid) ->
    case process_info(Pid, [status, current_function]) of
        [{status, waiting}, {current_function, {?MODULE, _, _}}] -> ok;
        _ -> timer:sleep(1), wait(Pid)
    end.

shown(Pid, State) ->
    receive
        %% How often a machine asks for this is its own business.
        {enabled, Event, _} when Event =:= trace_status; Event =:= seq_trace -> shown(Pid, State);
        Message -> io:format("  ~p~n", [plain(Message, Pid, State)]), shown(Pid, State)
    after 0 -> ok
    end.

%% What differs from run to run is shown by what it is.
plain(State, _, State) -> state;
plain(Pid, Pid, _) -> tracee;
plain(Me, _, _) when Me =:= self() -> me;
plain(Pid, _, _) when is_pid(Pid) -> other;
plain(Port, _, _) when is_port(Port) -> port;
plain(Reference, _, _) when is_reference(Reference) -> reference;
plain(#{scheduler_id := _} = Map, Pid, State) ->
    (plain(maps:remove(scheduler_id, Map), Pid, State))#{scheduler_id => some};
plain(Map, Pid, State) when is_map(Map) -> maps:map(fun(_, Value) -> plain(Value, Pid, State) end, Map);
plain([Head | Tail], Pid, State) -> [plain(Head, Pid, State) | plain(Tail, Pid, State)];
plain(Tuple, Pid, State) when is_tuple(Tuple) -> list_to_tuple(plain(tuple_to_list(Tuple), Pid, State));
plain(Bits, _, _) when bit_size(Bits) > 100 -> {bits, bit_size(Bits)};
plain(Fun, _, _) when is_function(Fun) -> 'fun';
plain(Other, _, _) -> Other.

show(What, {'EXIT', {Reason, _}}) -> io:format("~s: ~p~n", [What, Reason]);
show(What, Value) -> io:format("~s: ~p~n", [What, Value]).

meta() ->
    State = {#{call => trace, return_from => trace}, self(), true},
    show("meta", catch erlang:trace_pattern({?MODULE, called, 1}, [{'_', [], [{return_trace}]}], [{meta, ?MODULE, State}])),
    show("no meta", catch erlang:trace_pattern({?MODULE, called, 1}, [], [{meta, lists, State}])),
    {Pid, Monitor} = spawn_monitor(fun() -> called(id(7)) end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    shown(Pid, State),
    show("info", plain(erlang:trace_info({?MODULE, called, 1}, meta), Pid, State)),
    1 = erlang:trace_pattern({?MODULE, called, 1}, false, [meta]).

%% A match specification names the tracer.
specification() ->
    State = {#{call => trace}, self(), false},
    Match = [{'_', [], [{trace, [], [call, {const, {tracer, ?MODULE, State}}]}]}],
    1 = erlang:trace_pattern({?MODULE, called, 1}, Match, [local]),
    Me = self(),
    Tracer = spawn(fun Loop() -> receive {trace, _, _, Call} -> Me ! {plainly, Call}, Loop() end end),
    Pid = spawn(fun() ->
        receive go -> ok end,
        called(id(1)),
        called(id(2)),
        receive stop -> ok end
    end),
    1 = erlang:trace(Pid, true, [call, {tracer, Tracer}]),
    Pid ! go,
    wait(Pid),
    show("named by a specification", plain(erlang:trace_info(Pid, tracer), Pid, State)),
    receive {plainly, First} -> show("the first to the other", First) end,
    shown(Pid, State),
    1 = erlang:trace_pattern({?MODULE, called, 1}, false, [local]),
    Pid ! stop.

sequence() ->
    State = {#{seq_trace => trace}, self(), true},
    show("sequence", catch seq_trace:set_system_tracer({?MODULE, State})),
    show("its tracer", case seq_trace:get_system_tracer() of {?MODULE, State} -> same; Other -> Other end),
    {Pid, Monitor} = spawn_monitor(fun() ->
        seq_trace:set_token(label, 17),
        seq_trace:set_token(print, true),
        seq_trace:set_token(timestamp, true),
        seq_trace:print(17, "printed")
    end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    shown(Pid, State),
    show("before", case catch seq_trace:set_system_tracer(false) of {?MODULE, State} -> same; Before -> Before end),
    show("no such", catch seq_trace:set_system_tracer({lists, State})).

%% New processes, and another tracer for one that has one.
info() ->
    State = {#{}, self(), false},
    0 = erlang:trace(new_processes, true, [call, {tracer, ?MODULE, State}]),
    show("new", plain(erlang:trace_info(new_processes, tracer), none, State)),
    Pid = spawn(fun() -> receive stop -> ok end end),
    show("its own", plain(erlang:trace_info(Pid, tracer), none, State)),
    0 = erlang:trace(new_processes, false, [call]),
    show("another", catch erlang:trace(Pid, true, [send, {tracer, ?MODULE, {#{a => b}, self(), false}}])),
    show("the same", catch erlang:trace(Pid, true, [send, {tracer, ?MODULE, {#{}, self(), false}}])),
    show("flags", lists:sort(element(2, erlang:trace_info(Pid, flags)))),
    show("a process", catch erlang:trace(Pid, true, [send, {tracer, self()}])),
    show("off", erlang:trace(Pid, false, [all])),
    show("none", erlang:trace_info(Pid, tracer)),
    Pid ! stop.

%% OTP's own module.
quiet() ->
    show("own", catch erlang:trace(self(), true, [call, {tracer, erl_tracer, spawn(fun() -> receive _ -> ok end end)}])),
    show("off", erlang:trace(self(), false, [all])).
