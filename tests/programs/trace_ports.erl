%% Ports as tracers, with the drivers that dbg loads: what arrives in files, in files in turn, over TCP, and what erl_ddll says.
-module(trace_ports).
-export([main/1, add/2, twice/1]).

add(X, Y) -> X + Y.

twice(X) -> add(X, X).

main(_) ->
    process_flag(trap_exit, true),
    Dir = filename:join(os:getenv("TMPDIR", "/tmp"), "trace_ports_" ++ os:getpid()),
    ok = prim_file:make_dir(Dir),
    libraries(),
    files(Dir),
    wrapped(Dir),
    sockets(),
    programs(),
    unloading(Dir),
    {ok, Left} = prim_file:list_dir(Dir),
    [ok = prim_file:delete(filename:join(Dir, Name)) || Name <- Left],
    ok = prim_file:del_dir(Dir).

libraries() ->
    Static = ["tcp_inet", "udp_inet", "ram_file_drv"],
    {ok, Drivers} = erl_ddll:loaded_drivers(),
    io:format("~p~n", [[lists:member(Name, Drivers) || Name <- Static]]),
    {error, Reason} = erl_ddll:try_load("/nonexistent", "no_such_drv", []),
    io:format("~p ~s~n", [Reason, erl_ddll:format_error(Reason)]),
    Errors = [linked_in_driver, inconsistent, permanent, not_loaded, not_loaded_by_this_process, pending_reload, pending_process],
    [io:format("~p: ~s~n", [Error, erl_ddll:format_error(Error)]) || Error <- Errors],
    io:format("~p~n", [[catch_error(F) || F <-
        [fun() -> erl_ddll:try_load("/tmp", "tcp_inet", []) end,
         fun() -> erl_ddll:try_load(1, foo, []) end,
         fun() -> erl_ddll:try_load("/tmp", foo, [bar]) end,
         fun() -> erl_ddll:try_load("/tmp", foo, [{reload, pending}]) end,
         fun() -> erl_ddll:try_unload(foo, []) end,
         fun() -> erl_ddll:try_unload(tcp_inet, []) end,
         fun() -> erl_ddll:format_error(foo) end,
         fun() -> erl_ddll:info(foo, processes) end,
         fun() -> erl_ddll:info(tcp_inet, foo) end,
         fun() -> erl_ddll:info(tcp_inet, processes) end,
         fun() -> erl_ddll:demonitor(foo) end,
         fun() -> erl_ddll:demonitor(make_ref()) end,
         fun() -> erl_ddll:monitor(driver, {foo, bar}) end]]]),
    watch(bla, loaded),
    watch(bla, unloaded_only),
    watch(tcp_inet, loaded).

catch_error(F) ->
    try F() catch Class:Reason -> {Class, Reason} end.

watch(Driver, When) ->
    Ref = erl_ddll:monitor(driver, {Driver, When}),
    receive {What, Ref, driver, Driver, Status} -> io:format("~p ~p ~p~n", [What, Driver, Status]) end.

load(Driver) ->
    %% The folder matters to a machine that has the driver in a file. Where no code server runs, it is not known.
    Folder = try filename:join(code:priv_dir(runtime_tools), "lib") catch _:_ -> "lib" end,
    ok = erl_ddll:load_driver(Folder, Driver).

open(Driver, Command) ->
    load(Driver),
    open_port({spawn, lists:flatten([Driver, " ", Command])}, [eof]).

traced(Port, Flags) ->
    Me = self(),
    erlang:trace_pattern({?MODULE, '_', '_'}, [{'_', [], [{return_trace}]}], [local]),
    Pid = spawn_link(fun() ->
        Me ! {self(), ready},
        receive go -> ok end,
        Me ! {self(), [twice(N) || N <- lists:seq(1, 3)]},
        receive stop -> ok end
    end),
    receive {Pid, ready} -> ok end,
    erlang:trace(Pid, true, [{tracer, Port} | Flags]),
    io:format("~p~n", [erlang:trace_info(Pid, tracer) =:= {tracer, Port}]),
    Pid ! go,
    receive {Pid, Results} -> io:format("~p~n", [Results]) end,
    Pid ! stop,
    receive {'EXIT', Pid, normal} -> ok end,
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    Pid.

%% Records as they stand in a file.
records(<<0, Size:32, Term:Size/binary, Rest/binary>>) -> [binary_to_term(Term) | records(Rest)];
records(<<1, Count:32, Rest/binary>>) -> [{dropped, Count} | records(Rest)];
records(<<>>) -> [].

show(Pid, Records) ->
    [io:format("~p~n", [plain(Pid, Record)]) || Record <- Records].

plain(Pid, Pid) -> pid;
plain(_, Pid) when is_pid(Pid) -> another;
plain(Pid, Tuple) when is_tuple(Tuple) -> list_to_tuple([plain(Pid, E) || E <- tuple_to_list(Tuple)]);
plain(Pid, [Head | Tail]) -> [plain(Pid, Head) | plain(Pid, Tail)];
plain(_, Term) -> Term.

files(Dir) ->
    File = filename:join(Dir, "one file"),
    Port = open("trace_file_drv", ["n ", File]),
    Pid = traced(Port, [call, procs, send]),
    io:format("~p~n", [erlang:port_control(Port, $f, "")]),
    {'EXIT', {badarg, _}} = (catch erlang:port_control(Port, $g, "")),
    {ok, Bytes} = prim_file:read_file(File),
    show(Pid, records(Bytes)),
    true = port_close(Port),
    receive {'EXIT', Port, Why} -> io:format("~p~n", [Why]) end,
    %% Who is traced by a port that is gone is traced no more.
    erlang:trace(self(), true, [send, {tracer, Port}]),
    self() ! x,
    receive x -> ok end,
    io:format("~p~n", [erlang:trace_info(self(), flags)]),
    io:format("~p~n", [[catch_error(fun() -> open_port({spawn, "trace_file_drv " ++ Command}, []) end)
                        || Command <- ["n /nonexistent/x", "/nonexistent/x", "w 1 2 n x", "n "]]]).

wrapped(Dir) ->
    Head = filename:join(Dir, "wrap"),
    Port = open("trace_file_drv", io_lib:format("w 200 3 0 ~p n ~s.log", [length(Head), Head])),
    Pid = traced(Port, [call]),
    port_close(Port),
    receive {'EXIT', Port, normal} -> ok end,
    {ok, Files} = prim_file:list_dir(Dir),
    Names = lists:sort([File || "wrap" ++ _ = File <- Files]),
    [begin
         {ok, Bytes} = prim_file:read_file(filename:join(Dir, Name)),
         io:format("~s~n", [Name]),
         show(Pid, records(Bytes))
     end || Name <- Names].

sockets() ->
    Port = open("trace_ip_drv", "0 200 2"),
    <<0, Number:16>> = erlang:port_control(Port, $p, ""),
    %% While nobody listens, the queue is filled.
    Pid = traced(Port, [call]),
    {ok, Socket} = gen_tcp:connect("localhost", Number, [binary, {active, false}]),
    show(Pid, read(Socket, 8, Pid)),
    Other = traced(Port, [call, arity]),
    show(Other, read(Socket, 8, Other)),
    port_close(Port),
    drain(Socket),
    receive {'EXIT', Port, normal} -> ok end,
    io:format("~p~n", [[catch_error(fun() -> open_port({spawn, "trace_ip_drv " ++ Command}, []) end)
                        || Command <- ["1 2", "x 2 3", "0 10 4"]]]).

read(_, 0, _) -> [];
read(Socket, Count, Pid) ->
    {ok, <<Op, Size:32>>} = gen_tcp:recv(Socket, 5),
    case Op of
        0 ->
            {ok, Term} = gen_tcp:recv(Socket, Size),
            [plain(Pid, binary_to_term(Term)) | read(Socket, Count - 1, Pid)];
        1 -> [{dropped, Size} | read(Socket, Count - 1, Pid)]
    end.

drain(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} -> drain(Socket);
        {error, closed} -> ok
    end.

%% Any port can be a tracer: here a program that answers with what it is told.
programs() ->
    Port = open_port({spawn, "cat"}, [binary, {packet, 4}]),
    _ = seq_trace:set_system_tracer(Port),
    io:format("~p~n", [seq_trace:get_system_tracer() =:= Port]),
    seq_trace:set_token(label, 17),
    seq_trace:set_token(print, true),
    seq_trace:print({hello, world}),
    seq_trace:set_token([]),
    Got = collect(Port, <<>>),
    io:format("~p~n", [plain(self(), Got)]),
    seq_trace:set_system_tracer(false),
    port_close(Port),
    receive {'EXIT', Port, normal} -> ok end.

collect(Port, Bytes) ->
    receive
        {Port, {data, Data}} ->
            All = <<Bytes/binary, Data/binary>>,
            try binary_to_term(All) catch error:badarg -> collect(Port, All) end
    after 20000 -> {late, Bytes}
    end.

unloading(Dir) ->
    {processes, [{Me, Count}]} = {processes, erl_ddll:info("trace_file_drv", processes)},
    io:format("~p ~p~n", [Me =:= self(), Count]),
    Port = open_port({spawn, "trace_file_drv n " ++ filename:join(Dir, "last")}, []),
    io:format("~p~n", [[erl_ddll:info(trace_file_drv, Item) || Item <- [port_count, driver_options, linked_in_driver, permanent]]]),
    [{ok, pending_process} = erl_ddll:try_unload(trace_file_drv, []) || _ <- lists:seq(2, Count)],
    {ok, pending_driver, Ref} = erl_ddll:try_unload(trace_file_drv, [{monitor, pending_driver}]),
    receive {'EXIT', Port, Reason} -> io:format("~p~n", [Reason]) end,
    receive {'DOWN', Ref, driver, trace_file_drv, Status} -> io:format("~p~n", [Status]) end,
    io:format("~p~n", [erl_ddll:try_unload(trace_file_drv, [])]),
    %% What a process has asked for goes with it.
    {Pid, Monitor} = spawn_monitor(fun() -> load("trace_file_drv") end),
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    watch(trace_file_drv, unloaded).
