%% What files and sockets say when they fail on request, and what a process sees for which there is no room.
-module(simulated_errors).
-export([main/1]).

main(["files", File]) ->
    io:format("~p~n", [lists:usort(lists:append([files(File) || _ <- lists:seq(1, 40)]))]);
main(["sockets"]) ->
    io:format("~p~n", [lists:usort(lists:append([sockets() || _ <- lists:seq(1, 30)]))]);
main(["ports"]) ->
    io:format("~p~n", [lists:usort(lists:append([ports() || _ <- lists:seq(1, 30)]))]);
main(["active"]) ->
    io:format("~p~n", [lists:usort(lists:append([active() || _ <- lists:seq(1, 60)]))]);
main(["datagrams"]) ->
    io:format("~p~n", [lists:usort(lists:append([datagrams() || _ <- lists:seq(1, 100)]))]);
main(["room"]) ->
    io:format("~p~n", [lists:usort([made(fun() -> spawn(fun() -> ok end) end) || _ <- lists:seq(1, 60)])]);
main(["marked", Marks]) ->
    [receive Pid -> ok end || Pid <- [spawn_reply() || _ <- lists:seq(1, 300)]],
    [true = atoll_simulate:begins() || Marks =:= "yes"],
    Table = ets:new(counters, [public]),
    true = ets:insert(Table, {hits, 0}),
    Workers = [spawn_monitor(fun() -> hit(Table) end) || _ <- [first, second]],
    [receive {'DOWN', Monitor, process, Worker, normal} -> ok end || {Worker, Monitor} <- Workers],
    atoll_simulate:always(no_update_is_lost, ets:lookup(Table, hits) =:= [{hits, 2}]);
main(["strict", "file"]) -> file:open("/etc/hostname", [raw]);
main(["strict", "port"]) -> open_port({spawn, "true"}, []);
main(["strict", "command"]) -> os:cmd("true");
main(["strict", "tcp"]) -> gen_tcp:listen(0, []);
main(["strict", "socket"]) -> socket:open(inet, stream, tcp);
main(["strict", "input"]) -> io:get_line("");
main(["strict", "nothing"]) -> io:format("~p ~p~n", [os:timestamp(), rand:uniform(100)]).

spawn_reply() ->
    Self = self(),
    spawn(fun() -> Self ! self() end).

hit(Table) ->
    [{hits, Hits}] = ets:lookup(Table, hits),
    true = ets:insert(Table, {hits, Hits + 1}).

made(Make) ->
    try Make() of _ -> made catch Class:Reason -> {Class, Reason} end.

failed(Results) ->
    [{What, Reason} || {What, {error, Reason}} <- Results].

files(File) ->
    case file:open(File, [raw, read, write]) of
        {ok, Device} ->
            failed([{write, file:write(Device, "text")}, {read, file:pread(Device, 0, 4)}, {sync, file:sync(Device)},
                    {close, file:close(Device)}, {list, prim_file:list_dir(filename:dirname(File))}]);
        Error ->
            failed([{open, Error}])
    end.

sockets() ->
    case socket:open(inet, stream, tcp) of
        {ok, Socket} ->
            Results = [{bind, socket:bind(Socket, #{family => inet, addr => loopback, port => 0})},
                       {listen, socket:listen(Socket)}],
            ok = socket:close(Socket),
            failed(Results);
        Error ->
            failed([{open, Error}])
    end.

ports() ->
    case gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]) of
        {ok, Listener} ->
            {ok, Port} = inet:port(Listener),
            Results = case gen_tcp:connect({127, 0, 0, 1}, Port, [{active, false}]) of
                {ok, Client} ->
                    Accepted = gen_tcp:accept(Listener),
                    Sent = [{send, gen_tcp:send(Server, "text")} || {ok, Server} <- [Accepted]],
                    Received = [{recv, gen_tcp:recv(Client, 4)} || {ok, _} <- [Accepted]],
                    _ = [gen_tcp:close(Server) || {ok, Server} <- [Accepted]],
                    gen_tcp:close(Client),
                    [{accept, Accepted}] ++ Sent ++ Received;
                Error ->
                    [{connect, Error}]
            end,
            gen_tcp:close(Listener),
            failed(Results);
        Error ->
            failed([{listen, Error}])
    end.

%% What comes to an active socket.
active() ->
    try
        {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, true}, {show_econnreset, true}]),
        {ok, Port} = inet:port(Listener),
        {ok, Client} = gen_tcp:connect({127, 0, 0, 1}, Port, [{active, false}]),
        {ok, Server} = gen_tcp:accept(Listener),
        ok = gen_tcp:send(Client, "text"),
        Came = receive
            {tcp, Server, "text"} -> [];
            {tcp_error, Server, Reason} -> receive {tcp_closed, Server} -> [{active, Reason}] end
        end,
        [gen_tcp:close(Socket) || Socket <- [Client, Server, Listener]],
        Came
    catch error:{badmatch, {error, _}} -> []
    end.

datagrams() ->
    case gen_udp:open(0, [{ip, {127, 0, 0, 1}}]) of
        {ok, Socket} ->
            {ok, Port} = inet:port(Socket),
            Sent = gen_udp:send(Socket, {127, 0, 0, 1}, Port, "text"),
            gen_udp:close(Socket),
            failed([{send, Sent}]);
        _ ->
            []
    end.
