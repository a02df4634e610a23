%% Peers that are no nodes, or bad ones, against the node that this runs on.
-module(hostile).
-export([main/1]).

-define(FLAGS, 16#D07DF7FBC).
-define(HEADER, 131, 68).

main(Other) ->
    [_, Host] = string:split(atom_to_list(node()), "@"),
    [Name, _] = string:split(atom_to_list(node()), "@"),
    {port, Port, _} = erl_epmd:port_please(Name, Host),
    Held = spawn(Other, timer, sleep, [infinity]),
    Watch = monitor(process, Held),
    [check(What, Other, fun() -> before(Port, Bytes) end) || {What, Bytes} <- before()],
    check(half_open, Other, fun() -> half_open(Port) end),
    check(wrong_cookie, Other, fun() -> refused = fake(Port, 'not the cookie', fun(_) -> ok end) end),
    [check(What, Other, fun() -> behind(Port, Packets) end) || {What, Packets} <- behind()],
    check(long_frame, Other, fun() -> raw(Port, <<16#7fffffff:32, "x">>) end),
    check(cut_off, Other, fun() -> cut_off(Port) end),
    check(many, Other, fun() -> many(Port, 200) end),
    check(not_reading, Other, fun() -> not_reading(Port) end),
    receive {'DOWN', Watch, _, _, Why} -> io:format("bad: lost ~p~n", [Why]) after 0 -> ok end,
    io:format("nodes: ~p~n", [nodes() =:= [Other]]),
    io:format("done: ok~n").

%% The attack has its end, no fake node stays, and the node does what it did before.
check(What, Other, Attack) ->
    Before = erlang:system_info(port_count),
    try Attack() of
        _ ->
            Gone = until(fun() -> [Node || Node <- erlang:nodes(connected), Node =/= Other] =:= [] end, 100),
            Ports = until(fun() -> erlang:system_info(port_count) =< Before end, 160),
            Pong = net_adm:ping(Other),
            case {Gone, Ports, Pong} of
                {true, true, pong} -> io:format("~p: well~n", [What]);
                Result -> io:format("~p: bad ~p~n", [What, Result])
            end
    catch Class:Reason:Trace -> io:format("~p: bad ~p~n", [What, {Class, Reason, Trace}])
    end.

until(_, 0) -> false;
until(Is, Tries) -> Is() orelse begin timer:sleep(50), until(Is, Tries - 1) end.

before() ->
    [{nothing, <<>>}, {zeros, <<0:800>>}, {text, <<"GET / HTTP/1.0\r\n\r\n">>}, {long, <<16#ffff:16, 0:400000>>},
     {short_name, <<1:16, "N">>}, {flags_alone, <<9:16, "N", ?FLAGS:64>>},
     {long_name, <<15:16, "N", ?FLAGS:64, 1:32, 16#ffff:16>>},
     {no_name, <<15:16, "N", ?FLAGS:64, 1:32, 0:16>>},
     {bad_name, <<20:16, "N", ?FLAGS:64, 1:32, 5:16, 255, 254, 0, 1, 2>>}].

before(Port, Bytes) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, Bytes),
    _ = gen_tcp:recv(Socket, 0, 100),
    gen_tcp:close(Socket).

half_open(Port) ->
    Sockets = [begin {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]), S end
               || _ <- lists:seq(1, 50)],
    [gen_tcp:send(S, <<0, 15, "N">>) || S <- Sockets],
    pong = net_adm:ping(hd(nodes())),
    [gen_tcp:close(S) || S <- Sockets].

%% What a node cannot send. Each ends the connection.
behind() ->
    Reference = <<90, 3:16, 119, 1, "x", 1:32, 1:32, 2:32, 3:32>>,
    Pid = <<88, 119, 1, "x", 1:32, 2:32, 3:32>>,
    Fragment = fun(Kind, Sequence, Number, Rest) -> <<131, Kind, Sequence:64, Number:64, Rest/binary>> end,
    Send = <<0, 104, 3, 97, 22, Pid/binary, Pid/binary>>,
    [{one_byte, [<<0>>]}, {version_alone, [<<131>>]}, {unknown_form, [<<131, 71, 0>>]},
     {no_header, [<<112, 131, 104, 1, 97, 5>>]}, {empty_header, [<<?HEADER>>]},
     {cut_header, [<<?HEADER, 200, 1, 2, 3>>]}, {unknown_place, [<<?HEADER, 1, 0, 77, 106>>]},
     {no_tuple, [<<?HEADER, 0, 106>>]}, {empty_tuple, [<<?HEADER, 0, 104, 0>>]},
     {no_number, [<<?HEADER, 0, 104, 1, 106>>]}, {unknown_number, [<<?HEADER, 0, 104, 2, 97, 99, 106>>]},
     {too_few, [<<?HEADER, 0, 104, 1, 97, 2>>]}, {no_payload, [<<?HEADER, 0, 104, 3, 97, 2, 106, 106>>]},
     {cut_payload, [<<?HEADER, 0, 104, 3, 97, 22, Pid/binary, Pid/binary, 109, 1000:32, 1>>]},
     {long_list, [<<?HEADER, 0, 104, 3, 97, 22, Pid/binary, Pid/binary, 108, 16#ffffffff:32, 1>>]},
     {long_tuple, [<<?HEADER, 0, 105, 16#ffffffff:32>>]},
     {named_no_sender, [<<?HEADER, 0, 104, 4, 97, 6, 106, 119, 0, 119, 1, "n", 106>>]},
     {link_no_pid, [<<?HEADER, 0, 104, 3, 97, 1, 106, 106>>]},
     {monitor_no_reference, [<<?HEADER, 0, 104, 4, 97, 19, Pid/binary, Pid/binary, 106>>]},
     {spawn_no_call, [<<?HEADER, 0, 104, 6, 97, 29, Reference/binary, Pid/binary, Pid/binary, 106, 106, 106>>]},
     {spawn_improper, [<<?HEADER, 0, 104, 6, 97, 29, Reference/binary, Pid/binary, Pid/binary, 104, 3, 119, 1, "m", 119,
                         1, "f", 97, 1, 106, 97, 1>>]},
     {reply_no_reference, [<<?HEADER, 0, 104, 5, 97, 31, 106, Pid/binary, 97, 0, Pid/binary>>]},
     {unlink_zero, [<<?HEADER, 0, 104, 4, 97, 35, 97, 0, Pid/binary, Pid/binary>>]},
     {fragment_zero, [Fragment(69, 1, 0, Send)]}, {fragment_unknown, [Fragment(70, 1, 5, <<1>>)]},
     {fragment_twice, [Fragment(69, 1, 5, Send), Fragment(69, 1, 5, Send)]},
     {fragment_left_out, [Fragment(69, 1, 5, Send), Fragment(70, 1, 2, <<1>>)]},
     {bad_atom, [<<?HEADER, 0, 104, 2, 119, 2, 255, 255>>]},
     {magic, [<<?HEADER, 0, 104, 3, 97, 33, 106, 106, 97, 1>>]}].

behind(Port, Packets) ->
    closed = fake(Port, erlang:get_cookie(), fun(Socket) ->
        ok = inet:setopts(Socket, [{packet, 4}]),
        [gen_tcp:send(Socket, Packet) || Packet <- Packets],
        wait_closed(Socket)
    end).

raw(Port, Bytes) ->
    closed = fake(Port, erlang:get_cookie(), fun(Socket) ->
        ok = inet:setopts(Socket, [{packet, raw}]),
        ok = gen_tcp:send(Socket, Bytes),
        wait_closed(Socket)
    end).

%% Fragments without an end, and a frame without one: the peer goes away in the middle.
cut_off(Port) ->
    fake(Port, erlang:get_cookie(), fun(Socket) ->
        Pid = <<88, 119, 1, "x", 1:32, 2:32, 3:32>>,
        ok = inet:setopts(Socket, [{packet, 4}]),
        [ok = gen_tcp:send(Socket, <<131, 69, N:64, 9:64, 0, 104, 3, 97, 22, Pid/binary, Pid/binary, 0:8000>>)
         || N <- lists:seq(1, 100)],
        ok = inet:setopts(Socket, [{packet, raw}]),
        ok = gen_tcp:send(Socket, <<1000000:32, 1, 2, 3>>),
        gen_tcp:close(Socket)
    end).

many(Port, Count) ->
    Me = self(),
    Pids = [spawn_link(fun() -> before(Port, <<0, 3, "Nxx">>), Me ! {self(), done} end) || _ <- lists:seq(1, Count)],
    [receive {Pid, done} -> ok after 20000 -> exit(stuck) end || Pid <- Pids].

%% A node that does not read: its senders wait, others do not.
not_reading(Port) ->
    fake(Port, erlang:get_cookie(), fun(Socket) ->
        [Fake] = [Node || Node <- erlang:nodes(connected), lists:prefix("fake", atom_to_list(Node))],
        Sender = spawn(fun() -> [{nobody, Fake} ! binary:copy(<<"x">>, 100000) || _ <- lists:seq(1, 1000)] end),
        true = until(fun() -> process_info(Sender, status) =:= {status, suspended} end, 100),
        Watch = monitor(process, Sender),
        gen_tcp:close(Socket),
        receive {'DOWN', Watch, _, _, normal} -> ok after 20000 -> exit(stuck) end
    end).

wait_closed(Socket) ->
    case gen_tcp:recv(Socket, 0, 5000) of
        {ok, _} -> wait_closed(Socket);
        {error, closed} -> closed;
        {error, enotconn} -> closed;
        {error, econnreset} -> closed;
        Other -> Other
    end.

%% Connects as a hidden node, then calls the function.
fake(Port, Cookie, Then) ->
    Name = list_to_binary("fake" ++ integer_to_list(erlang:unique_integer([positive])) ++ "@127.0.0.1"),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {packet, 2}, {active, false}]),
    ok = gen_tcp:send(Socket, [<<"N", (?FLAGS):64, 7:32, (byte_size(Name)):16>>, Name]),
    {ok, <<"sok">>} = gen_tcp:recv(Socket, 0, 5000),
    {ok, <<"N", _:64, Challenge:32, _/binary>>} = gen_tcp:recv(Socket, 0, 5000),
    Digest = erlang:md5([atom_to_list(Cookie), integer_to_list(Challenge)]),
    ok = gen_tcp:send(Socket, [<<"r", 1234:32>>, Digest]),
    case gen_tcp:recv(Socket, 0, 5000) of
        {ok, <<"a", _:16/binary>>} ->
            Node = binary_to_atom(Name),
            true = until(fun() -> lists:member(Node, erlang:nodes(connected)) end, 100),
            Result = Then(Socket),
            gen_tcp:close(Socket),
            Result;
        {error, closed} -> gen_tcp:close(Socket), refused
    end.
