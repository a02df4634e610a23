%% Ports that are traced: commands, what they send, links, names, owners, ends; new ones, and all.
-module(traced_ports).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Me = self(),
    Tracer = spawn(fun() -> collect(Me, []) end),
    [begin io:format("~w~n", [Name]), show(Tracer, Run(Tracer)) end
     || {Name, Run} <- [{commands, fun commands/1}, {links, fun links/1}, {owners, fun owners/1}, {ends, fun ends/1},
                        {sockets, fun sockets/1}, {some, fun some/1}]],
    flags(Tracer),
    refused(Tracer).

commands(Tracer) ->
    Port = traced(Tracer, [send, 'receive', ports]),
    Port ! {self(), {command, <<"a">>}},
    answer(Port, <<"a">>),
    true = port_command(Port, ["b", <<"c">>]),
    answer(Port, <<"bc">>),
    spawn_monitor(fun() -> Port ! {element(2, erlang:port_info(Port, connected)), {command, "d"}} end),
    answer(Port, <<"d">>),
    {'EXIT', {badarg, _}} = (catch port_control(Port, 1, "x")),
    true = erlang:port_set_data(Port, data),
    data = erlang:port_get_data(Port),
    true = register(traced_port, Port),
    true = unregister(traced_port),
    Port ! {self(), close},
    receive {Port, closed} -> [{Port, port}] end.

links(Tracer) ->
    Port = traced(Tracer, [ports]),
    {Linked, Monitor} = spawn_monitor(fun() -> true = link(Port), true = unlink(Port), demonitor(monitor(port, Port)) end),
    receive {'DOWN', Monitor, _, _, normal} -> ok end,
    {Ends, _} = spawn_monitor(fun() -> true = link(Port), exit(gone) end),
    receive {'EXIT', Port, gone} -> [{Port, port}, {Linked, linked}, {Ends, ends}] end.

owners(Tracer) ->
    Port = traced(Tracer, [send, 'receive', ports]),
    Other = spawn(fun() -> receive stop -> ok end end),
    true = erlang:port_connect(Port, Other),
    true = erlang:port_connect(Port, self()),
    true = unlink(Port),
    true = link(Port),
    Port ! {self(), {connect, self()}},
    receive {Port, connected} -> ok end,
    true = port_close(Port),
    [{Port, port}, {Other, other}].

ends(Tracer) ->
    0 = erlang:trace(new_ports, true, [send, 'receive', ports, {tracer, Tracer}]),
    Exits = open_port({spawn, "false"}, [exit_status, in]),
    receive {Exits, {exit_status, 1}} -> gone(Exits) end,
    Ends = open_port({spawn_executable, "/bin/cat"}, [eof, {args, ["/dev/null"]}]),
    receive {Ends, eof} -> true = port_close(Ends), gone(Ends) end,
    Killed = open_port({spawn, "cat -u"}, []),
    exit(Killed, kill),
    gone(Killed),
    Normal = open_port({spawn, "cat"}, [{line, 10}]),
    true = port_command(Normal, "one\n"),
    receive {Normal, {data, {eol, "one"}}} -> exit(Normal, normal) end,
    gone(Normal),
    0 = erlang:trace(new_ports, false, [all]),
    [{Exits, exits}, {Ends, ends}, {Killed, killed}, {Normal, normal}].

sockets(Tracer) ->
    {ok, Socket} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}, {active, true}]),
    {ok, Number} = inet:port(Socket),
    1 = erlang:trace(Socket, true, [send, ports, {tracer, Tracer}]),
    ok = gen_udp:send(Socket, {127, 0, 0, 1}, Number, "hi"),
    receive {udp, Socket, _, _, "hi"} -> ok end,
    ok = gen_udp:close(Socket),
    [{Socket, socket}, {Number, number}].

%% Some events alone, with times, until nobody is told any more.
some(Tracer) ->
    Port = traced(Tracer, [send, monotonic_timestamp]),
    true = port_command(Port, "x"),
    answer(Port, <<"x">>),
    1 = erlang:trace(Port, true, ['receive', {tracer, Tracer}]),
    1 = erlang:trace(Port, false, [send]),
    true = port_command(Port, "y"),
    answer(Port, <<"y">>),
    true = erlang:trace(ports, false, [all]) > 0,
    true = port_close(Port),
    [{Port, port}].

flags(Tracer) ->
    Port = open_port({spawn, "cat"}, []),
    [begin
         1 = erlang:trace(Port, true, [Flag, {tracer, Tracer}]),
         io:format("~w~n", [erlang:trace_info(Port, flags)]),
         {tracer, Tracer} = erlang:trace_info(Port, tracer),
         1 = erlang:trace(Port, false, [all]),
         {tracer, []} = erlang:trace_info(Port, tracer)
     end || Flag <- [send, 'receive', ports, running_ports]],
    erlang:trace(new_ports, true, [ports, {tracer, Tracer}]),
    io:format("~w ~w~n", [[erlang:trace_info(Of, Item) || Of <- [new_ports, new_processes], Item <- [flags]],
                          erlang:trace_info(new_ports, tracer) =:= {tracer, Tracer}]),
    erlang:trace(new, false, [ports]),
    io:format("~w~n", [erlang:trace_info(new_ports, flags)]),
    true = port_close(Port),
    io:format("~w~n", [erlang:trace_info(Port, flags)]).

refused(Tracer) ->
    Port = traced(Tracer, [ports]),
    Other = spawn(fun() -> receive stop -> ok end end),
    %% The tracer ends: another one takes over.
    exit(Tracer, kill),
    timer:sleep(50),
    1 = erlang:trace(Port, true, [ports, {tracer, Other}]),
    true = port_close(Port),
    badarg = try erlang:trace(Port, true, [ports]) catch error:Why -> Why end.

traced(Tracer, Flags) ->
    Port = open_port({spawn, "cat"}, [binary]),
    1 = erlang:trace(Port, true, [{tracer, Tracer} | Flags]),
    Port.

answer(Port, Bytes) ->
    receive {Port, {data, Bytes}} -> ok end.

gone(Port) ->
    receive {'EXIT', Port, _} -> ok end.

collect(Main, Events) ->
    receive
        {show, Main} -> Main ! {events, lists:reverse(Events)}, collect(Main, []);
        Event -> collect(Main, [Event | Events])
    end.

show(Tracer, Names) ->
    %% The last events may be on their way.
    timer:sleep(100),
    Tracer ! {show, self()},
    receive {events, Events} -> [io:format("  ~w~n", [named(Event, [{self(), me} | Names])]) || Event <- Events, told(Event)] end.

%% What a program's port and the one that starts programs say to each other on stock is not told elsewhere.
told({trace, _, 'receive', {From, {control, _}}}) -> From =:= self();
told({trace, _, send, {_, {control, _}}, To}) -> To =:= self();
told(_) -> true.

named({trace_ts, Port, Event, A, B, Time}, Names) when is_integer(Time) ->
    named({trace_ts, Port, Event, A, B, time}, Names);
named({trace_ts, Port, Event, A, Time}, Names) when is_integer(Time) ->
    named({trace_ts, Port, Event, A, time}, Names);
named(Tuple, Names) when is_tuple(Tuple) -> list_to_tuple([named(One, Names) || One <- tuple_to_list(Tuple)]);
named(One, Names) when is_pid(One) -> proplists:get_value(One, Names, other_process);
named(One, Names) -> proplists:get_value(One, Names, One).
