%% Sockets as programs use them, without kernel's servers: both ways to make them, names of hosts, several processes at once.
-module(sockets_of_kernel).
-export([main/1]).

-define(LOCAL, {127, 0, 0, 1}).

main(_) ->
    Backends = [[], [{inet_backend, inet}], [{inet_backend, socket}]],
    %% All of them need what is started when the first does.
    Workers = [spawn_monitor(fun() -> exit({shutdown, stream(Backend)}) end) || Backend <- Backends ++ Backends],
    io:format("~p~n", [[receive {'DOWN', Ref, process, Pid, Reason} -> Reason end || {Pid, Ref} <- Workers]]),
    [io:format("~p ~p~n", [Backend, datagram(Backend)]) || Backend <- Backends],
    io:format("~p~n", [raw()]),
    options(),
    names(),
    [io:format("~p~n", [no_protocol(Type)]) || Type <- [stream, dgram, seqpacket]],
    [io:format("~p~n", [refused(Domain, Level, Address)]) ||
        {Domain, Level, Address} <- [{inet, ip, ?LOCAL}, {inet6, ipv6, {0, 0, 0, 0, 0, 0, 0, 1}}]],
    buffers(),
    {ok, [_ | _]} = inet:gethostname(),
    {ok, [_ | _]} = net:getifaddrs(),
    io:format("~p~n", [inet:getaddr("localhost", inet)]),
    io:format("~p~n", [inet:parse_address("::1")]).

stream(Backend) ->
    {ok, Listener} = gen_tcp:listen(0, Backend ++ [binary, {active, false}, {ip, ?LOCAL}]),
    {ok, Port} = inet:port(Listener),
    Server = spawn_link(fun() ->
        {ok, Socket} = gen_tcp:accept(Listener),
        {ok, Data} = gen_tcp:recv(Socket, 5),
        ok = gen_tcp:send(Socket, [Data, " again"]),
        receive stop -> gen_tcp:close(Socket) end
    end),
    {ok, Client} = gen_tcp:connect("localhost", Port, Backend ++ [binary, {active, false}]),
    ok = gen_tcp:send(Client, "hello"),
    {ok, Answer} = gen_tcp:recv(Client, 11),
    Server ! stop,
    {error, closed} = gen_tcp:recv(Client, 0),
    ok = gen_tcp:close(Client),
    ok = gen_tcp:close(Listener),
    Answer.

datagram(Backend) ->
    {ok, One} = gen_udp:open(0, Backend ++ [binary, {ip, ?LOCAL}]),
    {ok, Other} = gen_udp:open(0, Backend ++ [binary, {ip, ?LOCAL}]),
    {ok, Port} = inet:port(Other),
    ok = gen_udp:send(One, "localhost", Port, "datagram"),
    receive {udp, Other, ?LOCAL, _, Data} -> [gen_udp:close(Socket) || Socket <- [One, Other]], Data end.

%% Whether the system's refusal of an option is told.
options() ->
    {ok, Socket} = gen_udp:open(0, [{add_membership, {?LOCAL, {0, 0, 0, 0}}}]),
    [io:format("~p ~p~n", [Option, inet:setopts(Socket, [Option])]) ||
        Option <- [{add_membership, {?LOCAL, {0, 0, 0, 0}}}, {drop_membership, {{239, 1, 1, 1}, {0, 0, 0, 0}}},
                   {multicast_if, {1, 2, 3, 4}}, {multicast_ttl, 1000}, {ttl, 1000}, {ttl, 10}, {tclass, 10}, {recvtos, true},
                   {bind_to_device, <<"no such">>}, {nodelay, true}, {raw, 0, 9999, <<1:32/native>>}]],
    gen_udp:close(Socket).

names() ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, ?LOCAL}]),
    {ok, Port} = inet:port(Listener),
    {ok, Client} = gen_tcp:connect(?LOCAL, Port, []),
    {ok, Own} = inet:port(Client),
    {ok, Server} = gen_tcp:accept(Listener),
    io:format("~p~n", [{inet:socknames(Listener) =:= {ok, [{?LOCAL, Port}]}, inet:peernames(Listener),
                        inet:socknames(Client) =:= {ok, [{?LOCAL, Own}]}, inet:peernames(Client) =:= {ok, [{?LOCAL, Port}]},
                        inet:peernames(Server) =:= {ok, [{?LOCAL, Own}]}}]),
    ok = inet:setopts(Server, [{recvtos, true}, {recvttl, true}]),
    {ok, [{pktoptions, Beside}]} = inet:getopts(Server, [pktoptions]),
    io:format("~p~n", [[Name || {Name, _} <- Beside]]),
    [gen_tcp:close(Socket) || Socket <- [Client, Server, Listener]],
    {ok, Socket} = gen_udp:open(0),
    io:format("~p~n", [{inet:peernames(Socket), gen_udp:connect(Socket, ?LOCAL, Port), inet:peernames(Socket) =:= {ok, [{?LOCAL, Port}]}}]),
    gen_udp:close(Socket).

no_protocol(Type) ->
    {ok, Socket} = socket:open(local, Type, default),
    Protocol = socket:getopt(Socket, socket, protocol),
    {Protocol, socket:close(Socket)}.

%% What the system says of a datagram that nobody takes.
refused(Domain, Level, Address) ->
    {ok, Socket} = socket:open(Domain, dgram, udp),
    ok = socket:setopt(Socket, Level, recverr, true),
    case socket:connect(Socket, #{family => Domain, addr => Address, port => 1}) of
        ok ->
            ok = socket:send(Socket, <<"ping">>),
            {error, econnrefused} = socket:recv(Socket, 0, 20000),
            {ok, #{ctrl := [Control], iov := Data}} = socket:recvmsg(Socket, [errqueue]),
            ok = socket:close(Socket),
            {maps:with([level, type, value], Control), Data};
        %% There is no IPv6 here.
        {error, Reason} -> Reason
    end.

%% Whoever receives what there is gets so many buffers of it at most.
buffers() ->
    {ok, Listener} = socket:open(inet, stream, tcp),
    ok = socket:bind(Listener, #{family => inet, addr => ?LOCAL, port => 0}),
    ok = socket:listen(Listener),
    {ok, Address} = socket:sockname(Listener),
    {ok, Client} = socket:open(inet, stream, tcp),
    ok = socket:connect(Client, Address),
    {ok, Server} = socket:accept(Listener),
    ok = socket:setopt(Server, otp, rcvbuf, {5, 2048}),
    [begin
        ok = socket:send(Client, <<0:Count/unit:8>>),
        ok = arrived(Server, Count, 2000),
        {ok, Data} = socket:recv(Server, 0),
        io:format("~p ~p~n", [Count, byte_size(Data)])
     end || Count <- [6144, 10240, 100, 8192, 4096, 6144]],
    [socket:close(Socket) || Socket <- [Client, Server, Listener]].

arrived(_, _, 0) -> late;
arrived(Socket, Count, Left) ->
    case socket:recv(Socket, Count, [peek], 20000) of
        {ok, Data} when byte_size(Data) =:= Count -> ok;
        _ -> timer:sleep(10), arrived(Socket, Count, Left - 1)
    end.

raw() ->
    {ok, Listener} = socket:open(inet, stream, tcp),
    ok = socket:bind(Listener, #{family => inet, addr => ?LOCAL, port => 0}),
    ok = socket:listen(Listener),
    {ok, Address} = socket:sockname(Listener),
    {ok, Client} = socket:open(inet, stream),
    ok = socket:connect(Client, Address),
    {ok, Server} = socket:accept(Listener),
    ok = socket:send(Client, <<"over a socket">>),
    {ok, Data} = socket:recv(Server, 13),
    #{domain := inet, type := stream, protocol := Protocol} = socket:info(Server),
    {Data, Protocol, [socket:close(Socket) || Socket <- [Client, Server, Listener]], socket:is_supported(ipv6)}.
