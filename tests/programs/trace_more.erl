%% Sensitive processes, who has sent in patterns of receiving, calls through exports and all calls traced apart, a meta tracer
%% that is gone, and what match specifications can do about tracing.
-module(trace_more).
-export([main/1, f/1, g/2, fresh/0, deep/1]).

f(X) -> g(X, X).

g(X, Y) -> {X, Y}.

fresh() -> ok.

main(_) ->
    sensitive(),
    senders(),
    kinds(),
    meta_gone(),
    specifications(),
    linked(),
    traces_of_stacks().

%% Runs a fun in a process that is traced to the caller; gives what was told.
told(Flags, Fun) ->
    Me = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Me ! {self(), ready},
        receive go -> ok end,
        Result = Fun(),
        Me ! {self(), Result},
        receive stop -> ok end
    end),
    receive {Pid, ready} -> ok end,
    1 = erlang:trace(Pid, true, Flags),
    Pid ! go,
    Result = receive {Pid, R} -> R end,
    delivered(),
    catch erlang:trace(Pid, false, [all]),
    Pid ! stop,
    receive {'DOWN', Monitor, process, Pid, _} -> ok end,
    {Result, [plain(Pid, M) || M <- flush()]}.

delivered() ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end.

flush() ->
    receive
        M when element(1, M) =:= trace; element(1, M) =:= trace_ts -> [M | flush()]
    after 0 -> []
    end.

plain(Pid, Pid) -> pid;
plain(_, Pid) when is_pid(Pid) -> other;
plain(_, {A, B, C}) when is_integer(A), is_integer(B), is_integer(C), A > 1000 -> time;
plain(_, Fun) when is_function(Fun) -> a_fun;
plain(_, Ref) when is_reference(Ref) -> ref;
plain(Pid, Tuple) when is_tuple(Tuple) -> list_to_tuple([plain(Pid, E) || E <- tuple_to_list(Tuple)]);
plain(Pid, [H | T]) -> [plain(Pid, H) | plain(Pid, T)];
plain(_, Term) -> Term.

sensitive() ->
    Sink = spawn(fun() -> receive stop -> ok end end),
    erlang:trace_pattern({?MODULE, '_', '_'}, true, [local]),
    Show = fun() -> [element(2, process_info(self(), Item)) || Item <- [dictionary, messages]] end,
    R = told([call, send, procs], fun() ->
        put(key, value),
        false = process_flag(sensitive, true),
        Sink ! one,
        ?MODULE:f(1),
        register(trace_more_name, self()),
        unregister(trace_more_name),
        self() ! kept,
        Hidden = Show(),
        Size = byte_size(element(2, process_info(self(), backtrace))),
        true = process_flag(sensitive, false),
        Sink ! two,
        ?MODULE:f(2),
        Shown = Show(),
        receive kept -> ok end,
        {Hidden, Size, Shown}
    end),
    io:format("~p~n", [R]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    Sink ! stop.

senders() ->
    Me = self(),
    1 = erlang:trace_pattern('receive', [{['$1', '$2', '$3'], [{'=:=', '$2', Me}], [{message, {{'$2', '$3'}}}]}], []),
    R = told(['receive'], fun() ->
        Self = self(),
        {Pid, Monitor} = spawn_monitor(fun() -> Self ! from_another end),
        receive from_another -> ok end,
        receive {'DOWN', Monitor, process, Pid, _} -> ok end,
        Echo = spawn(fun() -> receive {echo, From} -> From ! echoed end end),
        Echo ! {echo, Self},
        receive echoed -> ok end
    end),
    io:format("~p~n", [R]),
    io:format("~p~n", [erlang:trace_info('receive', match_spec) =/= {match_spec, true}]),
    1 = erlang:trace_pattern('receive', true, []),
    io:format("~p~n", [erlang:trace_info('receive', match_spec)]).

kinds() ->
    Infos = fun() -> io:format("~p~n", [[erlang:trace_info({?MODULE, f, 1}, Item) || Item <- [traced, match_spec, call_count]]]) end,
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [global]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, false, [local]),
    Infos(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local, call_count]),
    Infos(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, false, [global]),
    Infos(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [global]),
    Infos(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, false, [global]),
    Infos(),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, true, [global]),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, false, [local]),
    io:format("~p~n", [erlang:trace_info({erlang, atom_to_list, 1}, traced)]),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, true, [local]),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, false, [global]),
    io:format("~p~n", [erlang:trace_info({erlang, atom_to_list, 1}, traced)]),
    1 = erlang:trace_pattern({erlang, atom_to_list, 1}, false, [local]),
    io:format("~p~n", [erlang:trace_info({erlang, atom_to_list, 1}, traced)]).

meta_gone() ->
    {Tracer, Monitor} = spawn_monitor(fun() -> receive stop -> ok end end),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [{meta, Tracer}]),
    io:format("~p~n", [erlang:trace_info({?MODULE, f, 1}, meta) =:= {meta, Tracer}]),
    Tracer ! stop,
    receive {'DOWN', Monitor, process, Tracer, _} -> ok end,
    ?MODULE:f(1),
    io:format("~p~n", [[erlang:trace_info({?MODULE, f, 1}, Item) || Item <- [meta, meta_match_spec]]]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, false, [meta]).

specifications() ->
    Call = fun() -> ?MODULE:f(x) end,
    With = fun(Spec) ->
        1 = erlang:trace_pattern({?MODULE, f, 1}, Spec, [local]),
        R = told([call], Call),
        1 = erlang:trace_pattern({?MODULE, f, 1}, false, [local]),
        R
    end,
    {{x, x}, [{trace, pid, call, {?MODULE, f, [x]}, Dump}]} = With([{'_', [], [{message, {process_dump}}]}]),
    io:format("~p~n", [is_binary(Dump)]),
    Old = erlang:system_flag(trace_control_word, 17),
    io:format("~p~n", [With([{'_', [{'=:=', {get_tcw}, 17}], [{message, {get_tcw}}]}])]),
    io:format("~p~n", [With([{'_', [{'=:=', {get_tcw}, 18}], []}])]),
    erlang:system_flag(trace_control_word, Old),
    %% A process that is not traced gets the tracer of the one whose call says so; it may be given by its name.
    Me = self(),
    Other = spawn(fun() -> receive {go, From} -> From ! {done, ?MODULE:g(1, 2)} end end),
    register(trace_more_other, Other),
    1 = erlang:trace_pattern({?MODULE, g, 2}, true, [local]),
    io:format("~p~n", [With([{'_', [], [{message, {enable_trace, trace_more_other, call}}]}])]),
    io:format("~p~n", [erlang:trace_info(Other, tracer) =:= {tracer, Me}]),
    Other ! {go, Me},
    receive {done, Result} -> io:format("~p~n", [Result]) end,
    delivered(),
    io:format("~p~n", [[plain(Other, M) || M <- flush()]]),
    1 = erlang:trace_pattern({?MODULE, g, 2}, false, [local]).

linked() ->
    R = told([procs, set_on_spawn], fun() ->
        Pid = spawn_link(fun() -> receive stop -> ok end end),
        unlink(Pid),
        Pid ! stop,
        Monitor = monitor(process, Pid),
        receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end),
    {ok, Events} = R,
    io:format("~p~n", [[Event || Event <- Events, element(2, Event) =:= pid]]),
    io:format("~p~n", [[Event || Event <- Events, element(2, Event) =:= other]]).

%% Frames that wait for returns of traced calls do not show in stack traces, and those that repeat are listed once.
traces_of_stacks() ->
    erlang:trace_pattern({?MODULE, deep, 1}, [{'_', [], [{exception_trace}]}], [local]),
    {Stack, Events} = told([call, return_to], fun() ->
        try deep(12) catch error:oops:S -> [{F, A} || {M, F, A, _} <- S, M =:= ?MODULE, F =:= deep] end
    end),
    erlang:trace_pattern({?MODULE, deep, 1}, false, [local]),
    io:format("~w ~w~n", [Stack, length(Events)]).

deep(0) -> error(oops);
deep(N) -> [deep(N - 1)].
