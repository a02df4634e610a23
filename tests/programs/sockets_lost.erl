%% What is said of connections that were lost, and in which order things are sent: ports' sockets under gen_tcp.
-module(sockets_lost).
-export([main/1]).

-define(LOCAL, {127, 0, 0, 1}).

main(_) ->
    process_flag(trap_exit, true),
    [closed(Options, Steps) || Options <- [[], [{exit_on_close, false}]],
                               Steps <- [[recv, recv, active], [recv, recv, recv, close, recv]]],
    closed([], [active, recv]),
    closed([], [recv, send, send, recv]),
    closed([], [recv, send, active]),
    [left(Show, Steps) || Show <- [true, false],
                          Steps <- [[active], [recv, recv, active, send], [recv, send, send, recv], [send, active],
                                    [send, send, recv, recv]]],
    broken(),
    blocked(),
    status(),
    file(),
    broken_file().

pair(Listening, Connecting) ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, ?LOCAL}, {active, false} | Listening]),
    {ok, Port} = inet:port(Listener),
    {ok, Client} = gen_tcp:connect(?LOCAL, Port, [binary, {active, false} | Connecting]),
    {ok, Server} = gen_tcp:accept(Listener),
    ok = gen_tcp:close(Listener),
    {Client, Server}.

%% The other side closes.
closed(Options, Steps) ->
    io:format("closed ~p~n", [Options]),
    {Client, Server} = pair([], Options),
    ok = gen_tcp:close(Server),
    steps(Client, Steps).

%% The other side resets the connection while data waits to be sent.
left(Show, Steps) ->
    io:format("left ~p~n", [Show]),
    {Client, Server} = pair([{recbuf, 4096}], [{sndbuf, 4096}, {show_econnreset, Show}]),
    ok = gen_tcp:send(Client, binary:copy(<<".">>, 4 bsl 20)),
    {queue_size, Size} = erlang:port_info(Client, queue_size),
    true = Size > 0,
    ok = inet:setopts(Server, [{linger, {true, 0}}]),
    ok = gen_tcp:close(Server),
    ok = until(fun() -> erlang:port_info(Client, queue_size) =:= {queue_size, 0} end),
    steps(Client, Steps).

steps(Socket, Steps) ->
    [io:format("  ~p ~p ~p~n", [Step, step(Socket, Step), messages(Socket, Step)]) || Step <- Steps],
    io:format("  ~p~n", [erlang:port_info(Socket, name)]),
    ok = gen_tcp:close(Socket),
    io:format("  ~p~n", [messages(Socket, now)]).

step(Socket, recv) -> gen_tcp:recv(Socket, 0);
step(Socket, send) -> gen_tcp:send(Socket, "x");
step(Socket, active) -> inet:setopts(Socket, [{active, true}]);
step(Socket, close) -> gen_tcp:close(Socket).

%% Messages about the socket; it is told of its end when it is made active.
messages(Socket, active) ->
    receive
        {tcp_error, Socket, Reason} -> [Reason | messages(Socket, active)];
        {tcp_closed, Socket} -> [closed | messages(Socket, now)]
    after 20000 -> [none]
    end;
messages(_, _) ->
    receive Message -> [element(1, Message) | messages(none, now)] after 0 -> [] end.

until(Done) -> until(Done, 2000).
until(_, 0) -> late;
until(Done, Left) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(10), until(Done, Left - 1)
    end.

%% Whoever breaks a connection at the close does not wait for what is to be sent.
broken() ->
    {Client, Server} = pair([{recbuf, 4096}, {show_econnreset, true}], [{sndbuf, 4096}]),
    ok = gen_tcp:send(Client, binary:copy(<<".">>, 4 bsl 20)),
    ok = inet:setopts(Client, [{linger, {true, 0}}]),
    ok = gen_tcp:close(Client),
    io:format("~p ~p~n", [erlang:port_info(Client, connected), gen_tcp:recv(Server, 4 bsl 20)]).

%% The other side closes while somebody waits to send, and somebody to receive.
blocked() ->
    {Client, Server} = pair([{recbuf, 4096}], [{sndbuf, 4096}]),
    Test = self(),
    Sender = spawn_link(fun Send() ->
        case gen_tcp:send(Client, binary:copy(<<".">>, 1 bsl 20)) of
            ok -> Send();
            Error -> Test ! {sender, Error}, receive never -> ok end
        end
    end),
    spawn_link(fun() -> Test ! {receiver, gen_tcp:recv(Client, 0)}, receive never -> ok end end),
    ok = until(fun() ->
        lists:member(process_info(Sender, status), [{status, waiting}, {status, suspended}]) andalso
            erlang:port_info(Client, queue_size) > {queue_size, 8192}
    end),
    ok = gen_tcp:close(Server),
    [receive {Who, Result} -> io:format("~p ~p~n", [Who, Result]) after 20000 -> io:format("~p waits~n", [Who]) end ||
        Who <- [sender, receiver]],
    ok = gen_tcp:close(Client).

status() ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, ?LOCAL}]),
    States = fun(Socket) -> {ok, Status} = prim_inet:getstatus(Socket), lists:sort(Status) end,
    Before = States(Listener),
    Acceptor = spawn_link(fun() -> gen_tcp:accept(Listener) end),
    ok = until(fun() -> lists:member(accepting, States(Listener)) end),
    During = States(Listener),
    unlink(Acceptor),
    exit(Acceptor, kill),
    ok = until(fun() -> not lists:member(accepting, States(Listener)) end),
    ok = gen_tcp:close(Listener),
    {Client, Server} = pair([], []),
    io:format("~p~n", [{Before, During, States(Client), States(Server)}]),
    [ok = gen_tcp:close(Socket) || Socket <- [Client, Server]].

big_file() ->
    Name = "/tmp/sockets_lost_" ++ os:getpid(),
    ok = prim_file:write_file(Name, binary:copy(<<"f">>, 16 bsl 20)),
    {ok, File} = prim_file:open(Name, [read, binary]),
    ok = prim_file:delete(Name),
    {File, prim_file:get_handle(File)}.

%% Has a process send a file, and waits until it waits for what its socket says when the file is sent.
send_file(Socket, Handle) ->
    Test = self(),
    Sender = spawn_link(fun() ->
        receive go -> Test ! {sent, prim_inet:sendfile(Socket, Handle, 0, 0)} end,
        %% The socket is its own now.
        receive never -> ok end
    end),
    ok = gen_tcp:controlling_process(Socket, Sender),
    Sender ! go,
    Waits = [{status, waiting}, {current_function, {prim_inet, sendfile_1, 4}}],
    ok = until(fun() -> process_info(Sender, [status, current_function]) =:= Waits end).

%% What is sent before a file comes before it, what is sent meanwhile behind it.
file() ->
    {File, Handle} = big_file(),
    {Client, Server} = pair([{recbuf, 4096}], [{sndbuf, 4096}, {high_watermark, 64 bsl 20}]),
    Before = binary:copy(<<"b">>, 1 bsl 20),
    ok = gen_tcp:send(Client, Before),
    send_file(Client, Handle),
    ok = gen_tcp:send(Client, <<"after">>),
    {ok, Before} = gen_tcp:recv(Server, byte_size(Before)),
    {ok, Content} = gen_tcp:recv(Server, 16 bsl 20),
    io:format("~p ~p~n", [Content =:= binary:copy(<<"f">>, 16 bsl 20), gen_tcp:recv(Server, 5)]),
    receive {sent, Sent} -> io:format("~p~n", [Sent]) end,
    [ok = gen_tcp:close(Socket) || Socket <- [Client, Server]],
    ok = prim_file:close(File).

%% Whoever sends a file is told when the connection ends meanwhile.
broken_file() ->
    [begin
        {File, Handle} = big_file(),
        {Client, Server} = pair([{recbuf, 4096}], [{sndbuf, 4096}]),
        ok = inet:setopts(Client, [{active, Active}]),
        send_file(Client, Handle),
        {ok, _} = gen_tcp:recv(Server, 1000),
        ok = inet:setopts(Server, [{linger, {true, 0}}]),
        ok = gen_tcp:close(Server),
        receive {sent, Sent} -> io:format("~p ~p~n", [Active, Sent]) end,
        ok = gen_tcp:close(Client),
        ok = prim_file:close(File)
     end || Active <- [false, true]].
