%% Peers that want to get in, or to use the node up. Each step prints one line, the same on any machine that stands it.
-module(siege).
-export([silent/1, strangers/1, frames/1, atoms/1, deaf/1]).

-define(FLAGS, 16#D07DF7FBC).
-define(WAIT, 60000).

%% Connections that say nothing, or no more than a part of the handshake. The node's `net_setuptime` is short.
silent(Other) ->
    Port = port(),
    Before = erlang:system_info(port_count),
    Sockets = [begin Socket = connect(Port), Talk(Socket), Socket end
               || Talk <- [fun(_) -> ok end, fun named/1, fun(S) -> ok = gen_tcp:send(S, <<"N">>) end],
                  _ <- lists:seq(1, 20)],
    say(served, net_adm:ping(Other)),
    say(silent, lists:usort([closed(Socket) || Socket <- Sockets])),
    [gen_tcp:close(Socket) || Socket <- Sockets],
    say(ports, until(fun() -> erlang:system_info(port_count) =< Before end)),
    over(Other).

%% Hundreds at once that do not know the cookie, or have the right answer to another challenge.
strangers(Other) ->
    Port = port(),
    Me = self(),
    Try = fun(N) ->
        Socket = connect(Port),
        Result = case N rem 3 of
            0 -> answer(Socket, named(Socket), 'a guess');
            1 -> answer(Socket, named(Socket), '');
            2 -> answer(Socket, named(Socket) + 1, erlang:get_cookie())
        end,
        gen_tcp:close(Socket),
        Me ! {self(), Result}
    end,
    Pids = [spawn_link(fun() -> Try(N) end) || N <- lists:seq(1, 300)],
    say(served, net_adm:ping(Other)),
    say(strangers, lists:usort([receive {Pid, Result} -> Result after ?WAIT -> stuck end || Pid <- Pids])),
    over(Other).

%% Frames without sense from one that knows the cookie: the same in each run.
frames(Other) ->
    Port = port(),
    rand:seed(exsss, {1, 2, 3}),
    Before = erlang:memory(total),
    [begin
         Socket = friend(Port),
         ok = inet:setopts(Socket, [{packet, 4}]),
         [gen_tcp:send(Socket, frame(Kind)) || _ <- lists:seq(1, 20)],
         %% One that is cut off, of which the length alone is here.
         ok = inet:setopts(Socket, [{packet, raw}]),
         _ = gen_tcp:send(Socket, <<(rand:uniform(16#ffffffff)):32, 131>>),
         gen_tcp:close(Socket)
     end || Kind <- [noise, headed, fragment, first], _ <- lists:seq(1, 10)],
    say(memory, until(fun() -> erlang:memory(total) < Before + 50000000 end)),
    over(Other).

frame(noise) -> rand:bytes(rand:uniform(200));
frame(headed) -> <<131, 68, 0, (rand:bytes(rand:uniform(200)))/binary>>;
frame(fragment) -> <<131, (rand:uniform(2) + 68), (rand:uniform(4)):64, (rand:uniform(4)):64, 0, (rand:bytes(100))/binary>>;
%% The head of a send, and then whatever comes.
frame(first) ->
    Pid = <<88, 119, 1, "x", 1:32, 2:32, 3:32>>,
    <<131, 68, 0, 104, 3, 97, 22, Pid/binary, Pid/binary, (rand:bytes(rand:uniform(100)))/binary>>.

%% As many new atoms as there is room for, and more. The node has a small table. What it loads afterwards would need
%% atoms too, so everything is done once before.
atoms(Other) ->
    over(Other),
    Limit = erlang:system_info(atom_limit),
    Socket = friend(port()),
    ok = inet:setopts(Socket, [{packet, 4}]),
    Pid = <<88, 119, 1, "x", 1:32, 2:32, 3:32>>,
    Flood = fun Flood(N) when N > 2 * Limit -> not_closed;
                Flood(N) ->
                    Atoms = << <<119, 12, (integer_to_binary(100000000000 + M))/binary>> || M <- lists:seq(N, N + 99)>>,
                    Sent = gen_tcp:send(Socket, <<131, 68, 0, 104, 4, 97, 6, Pid/binary, 119, 0, 119, 4, "none",
                                                  108, 100:32, Atoms/binary, 106>>),
                    case Sent of
                        ok -> Flood(N + 100);
                        {error, _} -> closed
                    end
            end,
    Flooded = case Flood(1) of
                  closed -> closed;
                  not_closed -> closed(Socket)
              end,
    say(flooded, Flooded),
    say(limit, try list_to_atom("new " ++ pid_to_list(self())) of _ -> ok catch error:system_limit -> system_limit end),
    say(known, list_to_existing_atom("none")),
    over(Other).

%% Reads nothing: who sends waits, who must not wait is told so, and little is kept.
deaf(Other) ->
    Socket = friend(port()),
    [Fake] = nodes(hidden),
    Before = erlang:memory(total),
    Me = self(),
    Senders = [spawn_link(fun() -> [{nobody, Fake} ! binary:copy(<<"x">>, 100000) || _ <- lists:seq(1, 1000)], Me ! sent end)
               || _ <- lists:seq(1, 20)],
    Waits = fun(Pid) -> process_info(Pid, status) =:= {status, suspended} end,
    say(wait, until(fun() -> lists:all(Waits, Senders) end)),
    say(nosuspend, erlang:send({nobody, Fake}, more, [nosuspend])),
    say(memory, erlang:memory(total) < Before + 50000000),
    say(served, net_adm:ping(Other)),
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- tl(Senders)],
    gen_tcp:close(Socket),
    %% The one that is left goes on when the connection is over.
    say(goes_on, receive sent -> yes after ?WAIT -> no end),
    over(Other).

%% --- what they are made of

say(What, Result) -> io:format("~p: ~p~n", [What, Result]).

%% Nobody was let in for good, and the node does what it did before.
over(Other) ->
    say(alone, until(fun() -> erlang:nodes(connected) =:= [Other] end)),
    say(works, rpc:call(Other, rpc, call, [node(), erlang, is_alive, []])),
    say(done, ok).

until(Is) -> until(Is, ?WAIT div 50).

until(_, 0) -> false;
until(Is, Tries) -> Is() orelse begin timer:sleep(50), until(Is, Tries - 1) end.

port() ->
    [Name, Host] = string:split(atom_to_list(node()), "@"),
    {port, Port, _} = erl_epmd:port_please(Name, Host),
    Port.

connect(Port) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {packet, 2}, {active, false}, {recbuf, 4096}], ?WAIT),
    Socket.

%% Until the node closes it.
closed(Socket) ->
    case gen_tcp:recv(Socket, 0, ?WAIT) of
        {ok, _} -> closed(Socket);
        {error, timeout} -> open;
        {error, _} -> closed
    end.

%% The first half of the handshake: the node's challenge.
named(Socket) ->
    Name = list_to_binary("fake" ++ integer_to_list(erlang:unique_integer([positive])) ++ "@127.0.0.1"),
    ok = gen_tcp:send(Socket, [<<"N", (?FLAGS):64, 7:32, (byte_size(Name)):16>>, Name]),
    {ok, <<"sok">>} = gen_tcp:recv(Socket, 0, ?WAIT),
    {ok, <<"N", _:64, Challenge:32, _/binary>>} = gen_tcp:recv(Socket, 0, ?WAIT),
    Challenge.

%% The second half.
answer(Socket, Challenge, Cookie) ->
    Digest = erlang:md5([atom_to_list(Cookie), integer_to_list(Challenge)]),
    ok = gen_tcp:send(Socket, [<<"r", 1234:32>>, Digest]),
    case gen_tcp:recv(Socket, 0, ?WAIT) of
        {ok, <<"a", _:16/binary>>} -> let_in;
        {error, closed} -> refused
    end.

%% One that knows the cookie and is connected.
friend(Port) ->
    Socket = connect(Port),
    let_in = answer(Socket, named(Socket), erlang:get_cookie()),
    true = until(fun() -> nodes(hidden) =/= [] end),
    Socket.
