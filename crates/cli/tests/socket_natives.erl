%% What `socket`, `net`, and `gen_tcp` and `gen_udp` over `socket` do. Prints the same on every machine.
-module(socket_natives).
-export([main/0]).

main() ->
    [run(Part) || Part <- parts()],
    halt().

parts() ->
    [{tcp, fun() -> tcp([inet], {127, 0, 0, 1}) end}, {tcp6, fun() -> tcp([inet6], {0, 0, 0, 0, 0, 0, 0, 1}) end},
     {udp, fun udp/0}, {local, fun local/0}, {waiting, fun waiting/0}, {owners, fun owners/0}, {closing, fun closing/0},
     {many, fun many/0}, {sendfile, fun sendfile/0}, {registry, fun registry/0}, {messages, fun messages/0},
     {options, fun options/0}, {counters, fun counters/0}, {names, fun names/0}].

run({Name, Part}) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({done, Part()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {done, Result}} -> io:format("~p ~0p~n", [Name, plain(Result)]);
        {'DOWN', Monitor, process, Pid, Reason} -> io:format("~p failed ~0p~n", [Name, Reason])
    after 60000 -> io:format("~p hangs~n", [Name])
    end.

%% Without references, and without the frames of exceptions but for the first function.
plain({'EXIT', {Reason, [{Module, Function, _, _} | _]}}) -> {'EXIT', plain(Reason), Module, Function};
plain(Reference) when is_reference(Reference) -> reference;
plain([Head | Tail]) -> [plain(Head) | plain(Tail)];
plain(Tuple) when is_tuple(Tuple) -> list_to_tuple(plain(tuple_to_list(Tuple)));
plain(Term) -> Term.

listening(Backlog) ->
    {ok, L} = socket:open(inet, stream, tcp),
    ok = socket:bind(L, loopback),
    ok = socket:listen(L, Backlog),
    {ok, Address} = socket:sockname(L),
    {L, Address}.

connected(Address) ->
    {ok, C} = socket:open(inet, stream, tcp),
    ok = socket:connect(C, Address),
    C.

pair() ->
    {L, Address} = listening(5),
    C = connected(Address),
    {ok, A} = socket:accept(L),
    {C, A}.

aborted() ->
    receive {'$socket', _, abort, {_, Reason}} -> Reason after 5000 -> nothing end.

%% gen_tcp over socket: packets, lines, active modes, time-outs, ends.
tcp(Family, Ip) ->
    Options = [{inet_backend, socket} | Family] ++ [binary, {active, false}],
    {ok, L} = gen_tcp:listen(0, Options ++ [{ip, Ip}, {packet, 4}, {reuseaddr, true}]),
    {ok, Port} = inet:port(L),
    Me = self(),
    Server = spawn_link(fun() -> serve(L, Me) end),
    {ok, C} = gen_tcp:connect(Ip, Port, Options ++ [{packet, 4}]),
    ok = gen_tcp:send(C, <<"hello">>),
    R1 = gen_tcp:recv(C, 0, 5000),
    ok = inet:setopts(C, [{packet, raw}]),
    ok = gen_tcp:send(C, <<"a line\n">>),
    R2 = receive {line, Line} -> Line after 5000 -> nothing end,
    R3 = gen_tcp:recv(C, 2, 5000),
    ok = gen_tcp:send(C, <<"one">>),
    receive {got, <<"one">>} -> ok after 5000 -> exit(lost) end,
    ok = gen_tcp:send(C, <<"two">>),
    R4 = receive {passive, Last} -> Last after 5000 -> nothing end,
    R5 = gen_tcp:recv(C, 1, 20),
    R6 = inet:getopts(C, [active, packet, nodelay, mode]),
    ok = gen_tcp:close(C),
    R7 = receive closed -> closed after 5000 -> nothing end,
    Server ! stop,
    R8 = gen_tcp:accept(L, 20),
    ok = gen_tcp:close(L),
    [R1, R2, R3, R4, R5, R6, R7, R8, gen_tcp:accept(L, 20), gen_tcp:connect(Ip, Port, Options, 5000)].

serve(L, Client) ->
    {ok, S} = gen_tcp:accept(L),
    {ok, D} = gen_tcp:recv(S, 0),
    ok = gen_tcp:send(S, [D, D]),
    ok = inet:setopts(S, [{packet, line}, {active, once}]),
    receive {tcp, S, Line} -> Client ! {line, Line} end,
    ok = inet:setopts(S, [{packet, raw}, {active, 2}]),
    ok = gen_tcp:send(S, <<"go">>),
    receive {tcp, S, One} -> Client ! {got, One} end,
    receive {tcp, S, Two} -> receive {tcp_passive, S} -> Client ! {passive, Two} end end,
    ok = inet:setopts(S, [{active, true}]),
    receive {tcp_closed, S} -> Client ! closed end,
    receive stop -> ok end.

udp() ->
    Options = [{inet_backend, socket}, binary, {ip, {127, 0, 0, 1}}],
    {ok, A} = gen_udp:open(0, Options ++ [{active, false}]),
    {ok, B} = gen_udp:open(0, Options ++ [{active, true}]),
    {ok, PortA} = inet:port(A),
    {ok, PortB} = inet:port(B),
    ok = gen_udp:send(A, {127, 0, 0, 1}, PortB, "there"),
    R1 = receive {udp, B, {127, 0, 0, 1}, PortA, There} -> There after 5000 -> nothing end,
    ok = gen_udp:send(B, {127, 0, 0, 1}, PortA, "back"),
    {ok, {{127, 0, 0, 1}, PortB, Back}} = gen_udp:recv(A, 0, 5000),
    R2 = gen_udp:recv(A, 0, 20),
    ok = gen_udp:close(A),
    [R1, Back, R2, gen_udp:recv(A, 0, 20)].

local() ->
    Path = "socket_natives." ++ os:getpid(),
    _ = file:delete(Path),
    {ok, L} = socket:open(local, stream),
    ok = socket:bind(L, #{family => local, path => Path}),
    ok = socket:listen(L),
    {ok, #{path := Bound}} = socket:sockname(L),
    {ok, C} = socket:open(local, stream),
    R1 = socket:sockname(C),
    ok = socket:connect(C, #{family => local, path => Path}),
    {ok, A} = socket:accept(L),
    ok = socket:send(C, "over"),
    R2 = socket:recvmsg(A),
    ok = socket:close(A),
    R3 = [socket:recv(C), socket:recvmsg(C), socket:recvfrom(C)],
    _ = file:delete(Path),
    {ok, D} = socket:open(local, dgram),
    Name = #{family => local, path => <<0, (list_to_binary(Path))/binary>>},
    ok = socket:bind(D, Name),
    {ok, Name} = socket:sockname(D),
    {ok, E} = socket:open(local, dgram),
    ok = socket:sendto(E, "to a name", Name),
    [Bound =:= list_to_binary(Path), R1, R2, R3, socket:recvfrom(D)].

%% Processes that have to wait: messages, turns, cancelling, wrong moments.
waiting() ->
    {L, Address} = listening(5),
    {select, {select_info, accept, Ref} = Info} = socket:accept(L, nowait),
    Again = catch socket:recv(L, 0, nowait),
    C = connected(Address),
    receive {'$socket', L, select, Ref} -> ok end,
    R1 = socket:cancel(L, Info),
    R2 = socket:cancel(L, Info) =:= {error, {invalid, Info}},
    {ok, A} = socket:accept(L, 5000),
    ok = socket:send(C, "abcdef"),
    R3 = [socket:recv(A, 2), socket:recv(A, 0), socket:recv(A, 0, 0), socket:recv(A, 1, 20)],
    {select, {select_info, recv, Ref2}} = socket:recv(A, 0, nowait),
    Me = self(),
    Second = spawn_link(fun() ->
        {select, {select_info, recv, Ref3}} = socket:recv(A, 0, nowait),
        {'EXIT', {{invalid, state}, _}} = (catch socket:recv(A, 0, nowait)),
        Me ! queued,
        receive {'$socket', A, select, Ref3} -> Me ! {second, socket:recv(A)} end
    end),
    receive queued -> ok end,
    #{num_readers := Readers} = socket:info(A),
    ok = socket:send(C, "first"),
    receive {'$socket', A, select, Ref2} -> ok end,
    R4 = socket:recv(A),
    ok = socket:send(C, "second"),
    R5 = receive {second, Data} -> Data after 5000 -> nothing end,
    unlink(Second),
    Large = binary:copy(<<1>>, 10000000),
    {select, {{select_info, _, _} = Sending, Rest}} = socket:send(C, Large, nowait),
    Wrong = catch socket:connect(C, Address),
    R6 = socket:cancel(C, Sending),
    ok = socket:close(A),
    ok = socket:close(L),
    R7 = socket:connect(element(2, socket:open(inet, stream, tcp)), Address),
    [Again, R1, R2, R3, Readers, R4, R5, is_binary(Rest), Wrong, R6, R7].

%% The end of a process that owns a socket, or waits for one.
owners() ->
    Me = self(),
    Owner = spawn(fun() -> {L, _} = listening(5), Me ! {listens, L}, receive stop -> ok end end),
    L = receive {listens, Socket} -> Socket end,
    {select, _} = socket:accept(L, nowait),
    [spawn(fun() -> Me ! {other, socket:accept(L, 5000)} end) || _ <- [1, 2]],
    wait(fun() -> maps:get(num_acceptors, socket:info(L)) =:= 3 end),
    Owner ! stop,
    R1 = aborted(),
    R2 = [receive {other, Result} -> Result after 5000 -> nothing end || _ <- [1, 2]],
    R3 = socket:accept(L),
    {ok, U} = socket:open(inet, dgram, udp),
    ok = socket:bind(U, loopback),
    {ok, Address} = socket:sockname(U),
    First = spawn(fun() -> socket:recvfrom(U) end),
    wait(fun() -> maps:get(num_readers, socket:info(U)) =:= 1 end),
    spawn(fun() -> Me ! {next, socket:recv(U)} end),
    wait(fun() -> maps:get(num_readers, socket:info(U)) =:= 2 end),
    exit(First, kill),
    wait(fun() -> maps:get(num_readers, socket:info(U)) =:= 1 end),
    {ok, V} = socket:open(inet, dgram, udp),
    ok = socket:sendto(V, "for the next one", Address),
    R4 = receive {next, Next} -> Next after 5000 -> nothing end,
    Heir = spawn(fun() -> receive stop -> ok end end),
    R5 = socket:setopt(V, {otp, controlling_process}, Heir),
    R6 = socket:setopt(V, {otp, controlling_process}, Me),
    Heir ! stop,
    wait(fun() -> socket:sockname(V) =:= {error, closed} end),
    [R1, R2, R3, R4, R5, R6].

wait(Condition) ->
    Condition() orelse begin timer:sleep(5), wait(Condition) end.

closing() ->
    Me = self(),
    {ok, U} = socket:open(inet, dgram, udp),
    ok = socket:bind(U, loopback),
    spawn(fun() -> Me ! {received, socket:recvfrom(U)} end),
    wait(fun() -> maps:get(num_readers, socket:info(U)) =:= 1 end),
    R1 = socket:close(U),
    R2 = receive {received, Result} -> Result after 5000 -> nothing end,
    R3 = [socket:close(U), socket:recv(U), socket:send(U, "x"), socket:sockname(U), socket:getopt(U, socket, type)],
    {C, A} = pair(),
    ok = socket:setopt(C, {socket, linger}, #{onoff => true, linger => 5}),
    ok = socket:send(C, "last words"),
    R4 = [socket:shutdown(C, write), socket:send(C, "x"), socket:close(C), socket:recv(A), socket:recv(A)],
    [R1, R2, R3, R4, catch socket:shutdown(A, sideways)].

%% Connections that are all open at once, larger messages than fit at once.
many() ->
    {L, Address} = listening(300),
    Echo = fun Echo(S) ->
        case socket:recv(S) of
            {ok, D} -> ok = socket:send(S, D), Echo(S);
            {error, closed} -> socket:close(S)
        end
    end,
    Accept = fun Accept() ->
        case socket:accept(L) of
            {ok, S} ->
                Pid = spawn(fun() -> receive go -> Echo(S) end end),
                ok = socket:setopt(S, {otp, controlling_process}, Pid),
                Pid ! go,
                Accept();
            {error, closed} -> ok
        end
    end,
    [spawn_link(Accept) || _ <- [1, 2, 3]],
    Me = self(),
    Client = fun(N) ->
        C = connected(Address),
        Me ! {open, self()},
        receive go -> ok end,
        Data = binary:copy(<<N:32>>, 5000),
        [begin
            spawn_link(fun() -> ok = socket:send(C, Data) end),
            {ok, Data} = socket:recv(C, byte_size(Data), 30000)
         end || _ <- [1, 2, 3]],
        ok = socket:close(C),
        Me ! {done, N}
    end,
    [spawn_link(fun() -> Client(N) end) || N <- lists:seq(1, 200)],
    [receive {open, Pid} -> Pid end ! go || _ <- lists:seq(1, 200)],
    lists:sum([receive {done, N} -> N end || _ <- lists:seq(1, 200)]).

sendfile() ->
    File = "socket_natives.data." ++ os:getpid(),
    Data = << <<(X * 7)>> || X <- lists:seq(1, 3000000) >>,
    ok = file:write_file(File, Data),
    {C, A} = pair(),
    Me = self(),
    spawn_link(fun() -> Me ! {got, socket:recv(C, 3000000)}, Me ! {got, socket:recv(C, 10)} end),
    {ok, F} = file:open(File, [read, raw, binary]),
    R1 = socket:sendfile(A, F),
    R2 = receive {got, {ok, Got}} -> Got =:= Data after 20000 -> nothing end,
    R3 = socket:sendfile(A, F, 5, 10),
    R4 = receive {got, {ok, Part}} -> Part =:= binary:part(Data, 5, 10) after 5000 -> nothing end,
    _ = file:delete(File),
    [R1, R2, R3, R4].

registry() ->
    Before = settled(socket:number_of()),
    {ok, S} = socket:open(inet, stream, tcp),
    R1 = [socket:number_of() - Before, lists:member(S, socket:which_sockets(tcp))],
    Monitor = socket:monitor(S),
    ok = socket:close(S),
    R2 = receive {'DOWN', Monitor, socket, S, Reason} -> Reason after 5000 -> nothing end,
    ok = socket:use_registry(false),
    {ok, T} = socket:open(inet, stream, tcp),
    R3 = socket:number_of() - Before,
    ok = socket:use_registry(true),
    Count = fun() -> #{counters := #{num_dinet6 := N}} = socket:info(), N end,
    Open = Count(),
    {ok, U} = socket:open(inet6, dgram, udp),
    R4 = Count() - Open,
    ok = socket:close(U),
    {R1, R2, R3, R4, Count() - Open, socket:close(T)}.

%% The sockets of processes that have ended close by and by.
settled(Number) ->
    timer:sleep(100),
    case socket:number_of() of
        Number -> Number;
        Other -> settled(Other)
    end.

%% Control messages, parts of messages.
messages() ->
    {ok, A} = socket:open(inet, dgram, udp),
    {ok, B} = socket:open(inet, dgram, udp),
    ok = socket:bind(A, loopback),
    {ok, To} = socket:sockname(A),
    [ok = socket:setopt(A, Option, true) || Option <- [{ip, recvtos}, {ip, recvttl}, {ip, pktinfo}]],
    Tos = #{level => ip, type => tos, value => lowdelay},
    ok = socket:sendmsg(B, #{addr => To, iov => [<<"in ">>, <<"parts">>], ctrl => [Tos]}),
    {ok, #{addr := _} = Message} = socket:recvmsg(A),
    ok = socket:sendto(B, "truncated", To),
    {ok, #{iov := Iov, flags := Flags}} = socket:recvmsg(A, 5, 0),
    R1 = [catch socket:sendmsg(B, #{addr => To, iov => [x]}), socket:sendmsg(B, #{iov => [<<"nowhere">>]})],
    {C, D} = pair(),
    ok = socket:sendmsg(C, #{iov => [<<"x">> || _ <- lists:seq(1, 3000)]}),
    {ok, Xs} = socket:recv(D, 3000),
    [maps:remove(addr, Message), Iov, Flags, R1, byte_size(Xs)].

options() ->
    {ok, S} = socket:open(inet, stream, tcp),
    {ok, S6} = socket:open(inet6, dgram, udp),
    Values = [true, 1, -1, #{onoff => true, linger => 5}, lowdelay, probe, any, <<1, 0, 0, 0>>],
    Wanted = [{socket, reuseaddr}, {socket, keepalive}, {socket, linger}, {socket, type}, {socket, domain},
        {socket, protocol}, {socket, broadcast}, {ip, tos}, {ip, ttl}, {ip, mtu_discover}, {ip, multicast_if},
        {ip, multicast_ttl}, {ip, add_membership}, {ipv6, v6only}, {ipv6, multicast_hops}, {ipv6, tclass}, {tcp, nodelay},
        {tcp, cork}, {socket, nosuch}, {otp, iow}, {otp, rcvbuf}, {otp, meta}, {otp, domain}],
    Texts = [{O, catch socket:getopt(X, O), [begin R = catch socket:setopt(X, O, V), {R, catch socket:getopt(X, O)} end
        || V <- Values]} || X <- [S, S6], O <- Wanted],
    Native = [socket:getopt_native(S, {socket, 2}, integer), socket:getopt_native(S, {tcp, 1}, boolean),
        socket:setopt_native(S, {socket, 2}, <<0:32>>), socket:getopt_native(S, {socket, 2}, 4)],
    [io:format("~0p~n", [plain(Text)]) || Text <- Texts],
    Supported = [socket:is_supported(options, O) || O <- Wanted],
    [Native, Supported, socket:is_supported(sctp),
        [lists:sort(socket:supports(What)) || What <- [msg_flags, ioctl_requests, ioctl_flags, protocols]],
        [lists:sort(socket:supports(options, Level)) || Level <- [socket, ip, ipv6, tcp, udp]]].

counters() ->
    {C, A} = pair(),
    ok = socket:send(C, "12345"),
    {ok, _} = socket:recv(A, 3),
    {ok, _} = socket:recv(A),
    {error, timeout} = socket:recv(A, 0, 0),
    [maps:without([owner], socket:info(X)) || X <- [A]] ++ [maps:get(counters, socket:info(C))].

names() ->
    {ok, Names} = net:if_names(),
    {value, {Index, "lo"}} = lists:keysearch("lo", 2, Names),
    {ok, Interfaces} = net:getifaddrs(),
    {ok, L} = socket:open(inet, stream, tcp),
    [net:if_name2index("lo") =:= {ok, Index}, net:if_index2name(Index), net:if_name2index("nosuch"),
        lists:any(fun(#{addr := #{addr := {127, 0, 0, 1}}, flags := F}) -> lists:member(loopback, F); (_) -> false end, Interfaces),
        net:getaddrinfo("127.0.0.1"), net:getnameinfo(#{family => inet, addr => {127, 0, 0, 1}, port => 80}, [numerichost]),
        socket:ioctl(L, gifaddr, "lo"), socket:ioctl(L, gifname, Index), socket:ioctl(L, gifmtu, "nosuch"),
        net:gethostname() =:= inet:gethostname(), catch net:getnameinfo(#{family => inet, addr => {1, 2}, port => 80}, [])].
