%% A carrier of distribution that is a process: `-proto_dist plain`. Each connection has a keeper, which is what the
%% machine takes packets from, and from the end of the handshake on a reader, which gives it those that come.
-module(plain_dist).
-export([childspecs/0, listen/1, listen/2, address/0, accept/1, accept_connection/5, setup/5, close/1, select/1,
         tick/1, getstat/1]).

-include_lib("kernel/include/dist_util.hrl").
-include_lib("kernel/include/net_address.hrl").

-define(LOOPBACK, {127, 0, 0, 1}).
-define(OPTIONS, [binary, {active, false}, {nodelay, true}]).

childspecs() -> {ok, []}.

select(Node) -> length(string:split(atom_to_list(Node), "@")) =:= 2.

address() -> address_of({?LOOPBACK, 0}).

address_of(Address) -> #net_address{address = Address, host = "127.0.0.1", protocol = plain, family = inet}.

listen(Name) -> listen(Name, "127.0.0.1").

listen(Name, _Host) ->
    {ok, Listen} = gen_tcp:listen(0, [{ip, ?LOOPBACK}, {packet, 2}, {backlog, 128} | ?OPTIONS]),
    {ok, Port} = inet:port(Listen),
    case (net_kernel:epmd_module()):register_node(Name, Port, inet) of
        {ok, Creation} -> {ok, {Listen, address_of({?LOOPBACK, Port}), Creation}};
        Error -> Error
    end.

close(Listen) -> gen_tcp:close(Listen).

%% --- connections that others make

accept(Listen) ->
    Kernel = self(),
    spawn_opt(fun() -> accept_each(Listen, Kernel) end, [link, {priority, max}]).

accept_each(Listen, Kernel) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    Keeper = keeper(Socket),
    Kernel ! {accept, self(), Keeper, inet, plain},
    receive
        {Kernel, controller, Supervisor} ->
            true = link(Supervisor),
            Keeper ! {supervisor, Supervisor},
            unlink(Supervisor),
            Supervisor ! {self(), controller};
        {Kernel, unsupported_protocol} -> exit(unsupported_protocol)
    end,
    accept_each(Listen, Kernel).

accept_connection(Acceptor, Keeper, This, Allowed, SetupTime) ->
    Kernel = self(),
    spawn_opt(
        fun() ->
            receive {Acceptor, controller} -> ok end,
            Timer = dist_util:start_timer(SetupTime),
            dist_util:handshake_other_started((handshake(Kernel, This, Keeper, Timer))#hs_data{allowed = Allowed})
        end, [link, {priority, max}]).

%% --- those that this node makes

setup(Node, Type, This, _LongOrShort, SetupTime) ->
    Kernel = self(),
    spawn_opt(
        fun() ->
            Timer = dist_util:start_timer(SetupTime),
            [Name, _] = string:split(atom_to_list(Node), "@"),
            case (net_kernel:epmd_module()):port_please(Name, ?LOOPBACK) of
                {port, Port, Version} ->
                    dist_util:reset_timer(Timer),
                    case gen_tcp:connect(?LOOPBACK, Port, [{packet, 2} | ?OPTIONS]) of
                        {ok, Socket} ->
                            Keeper = keeper(Socket),
                            Keeper ! {supervisor, self()},
                            Data = handshake(Kernel, This, Keeper, Timer),
                            dist_util:handshake_we_started(Data#hs_data{other_node = Node, other_version = Version,
                                                                        request_type = Type});
                        _ -> ?shutdown(Node)
                    end;
                _ -> ?shutdown(Node)
            end
        end, [link, {priority, max}]).

handshake(Kernel, This, Keeper, Timer) ->
    #hs_data{kernel_pid = Kernel, this_node = This, socket = Keeper, timer = Timer, this_flags = 0,
             f_send = fun(To, Packet) -> ask(To, {send, Packet}) end,
             f_recv = fun(From, _, _) -> ask(From, recv) end,
             f_setopts_pre_nodeup = fun(_) -> ok end,
             f_setopts_post_nodeup = fun(_) -> ok end,
             f_getll = fun(One) -> {ok, One} end,
             f_address = fun(One, Node) -> address_beside(One, Node) end,
             f_handshake_complete = fun(One, _, Handle) -> ask(One, {carry, Handle}) end,
             mf_tick = {?MODULE, tick}, mf_getstat = {?MODULE, getstat}}.

address_beside(Keeper, Node) ->
    case ask(Keeper, peer) of
        {ok, Address} -> address_of(Address);
        {error, _} -> ?shutdown(Node)
    end.

tick(Keeper) -> Keeper ! tick, ok.

getstat(Keeper) -> ask(Keeper, stat).

ask(Keeper, What) ->
    Watch = monitor(process, Keeper),
    Keeper ! {ask, self(), Watch, What},
    receive
        {Watch, Answer} -> demonitor(Watch, [flush]), Answer;
        {'DOWN', Watch, _, _, _} -> {error, closed}
    end.

%% --- the keeper of a connection

keeper(Socket) ->
    Keeper = spawn_opt(fun() -> receive begin_handshake -> shaking(Socket) end end, [{priority, max}]),
    ok = gen_tcp:controlling_process(Socket, Keeper),
    Keeper ! begin_handshake,
    Keeper.

shaking(Socket) ->
    receive
        {supervisor, Pid} -> link(Pid), shaking(Socket);
        {ask, From, Tag, {send, Packet}} -> From ! {Tag, gen_tcp:send(Socket, Packet)}, shaking(Socket);
        {ask, From, Tag, recv} ->
            case gen_tcp:recv(Socket, 0) of
                {ok, Packet} -> From ! {Tag, {ok, binary_to_list(Packet)}}, shaking(Socket);
                Error -> From ! {Tag, Error}
            end;
        {ask, From, Tag, peer} -> From ! {Tag, inet:peername(Socket)}, shaking(Socket);
        {ask, From, Tag, {carry, Handle}} ->
            ok = inet:setopts(Socket, [{packet, 4}]),
            Reader = spawn_opt(fun() -> receive read -> read(Socket, Handle) end end,
                               [link, {priority, max}]),
            ok = gen_tcp:controlling_process(Socket, Reader),
            ok = erlang:dist_ctrl_input_handler(Handle, Reader),
            Reader ! read,
            From ! {Tag, ok},
            erlang:dist_ctrl_get_data_notification(Handle),
            carry(Socket, Handle)
    end.

%% Packets leave when the machine says that there are some.
carry(Socket, Handle) ->
    receive
        dist_data -> write(Socket, Handle), erlang:dist_ctrl_get_data_notification(Handle);
        tick -> ok = gen_tcp:send(Socket, <<>>);
        {ask, From, Tag, stat} -> From ! {Tag, erlang:dist_get_stat(Handle)};
        {ask, From, Tag, peer} -> From ! {Tag, inet:peername(Socket)}
    end,
    carry(Socket, Handle).

write(Socket, Handle) ->
    case erlang:dist_ctrl_get_data(Handle) of
        none -> ok;
        Data ->
            case gen_tcp:send(Socket, Data) of
                ok -> write(Socket, Handle);
                {error, _} -> exit(connection_closed)
            end
    end.

read(Socket, Handle) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Packet} -> erlang:dist_ctrl_put_data(Handle, Packet), read(Socket, Handle);
        {error, _} -> exit(connection_closed)
    end.
