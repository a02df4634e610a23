%% Stream sockets over the ports of prim_inet: connecting, packet modes, active and passive, closing.
-module(sockets_tcp).
-export([main/1, pair/1, listener/1]).

-define(LOCAL, {127, 0, 0, 1}).

main(_) ->
    passive(),
    packets(),
    active(),
    counted(),
    http(),
    closing(),
    errors(),
    options(),
    big(),
    acceptors(),
    local().

listener(Options) ->
    {ok, L} = prim_inet:open(tcp, inet, stream),
    ok = prim_inet:setopts(L, [{reuseaddr, true}, {active, false}, {mode, binary} | Options]),
    {ok, Port} = prim_inet:bind(L, ?LOCAL, 0),
    ok = prim_inet:listen(L, 5),
    {L, Port}.

pair(Options) ->
    {L, Port} = listener(Options),
    {ok, C} = prim_inet:open(tcp, inet, stream),
    ok = prim_inet:setopts(C, [{active, false}, {mode, binary} | Options]),
    ok = prim_inet:connect(C, ?LOCAL, Port),
    {ok, S} = prim_inet:accept(L, 5000),
    ok = prim_inet:close(L),
    {C, S}.

close({C, S}) ->
    prim_inet:close(C),
    prim_inet:close(S),
    flush().

flush() ->
    receive _ -> flush() after 0 -> ok end.

passive() ->
    {C, S} = Both = pair([]),
    p(prim_inet:send(C, ["hello ", <<"world">>])),
    p(prim_inet:recv(S, 11)),
    p(prim_inet:send(S, "abcdef")),
    p([prim_inet:recv(C, 2, 1000), prim_inet:recv(C, 4, 1000)]),
    p(prim_inet:recv(C, 1, 20)),
    p(prim_inet:recv(C, 1, 0)),
    p(prim_inet:unrecv(C, <<"back">>)),
    p(prim_inet:recv(C, 4, 1000)),
    {ok, {?LOCAL, PC}} = prim_inet:sockname(C),
    {ok, {?LOCAL, PS}} = prim_inet:sockname(S),
    p([prim_inet:peername(C) =:= {ok, {?LOCAL, PS}}, prim_inet:peername(S) =:= {ok, {?LOCAL, PC}}]),
    p(prim_inet:getstat(S, [recv_cnt, recv_oct, recv_max, send_cnt, send_oct, send_pend])),
    p(prim_inet:gettype(S)),
    p(prim_inet:getstatus(S)),
    p(prim_inet:shutdown(C, write)),
    p(prim_inet:recv(S, 0, 1000)),
    close(Both).

packets() ->
    [begin
         {C, S} = Both = pair([{packet, Mode}]),
         p({Mode, prim_inet:send(C, Data), prim_inet:send(C, Data)}),
         p([prim_inet:recv(S, 0, 1000), prim_inet:recv(S, 0, 1000)]),
         close(Both)
     end || {Mode, Data} <- [{1, "one"}, {2, "two"}, {4, "four"}, {line, "a line\n"}, {tpkt, <<3, 0, 0, 6, "ab">>},
                             {asn1, <<16#30, 3, 1, 2, 3>>}, {sunrm, <<128, 0, 0, 3, "abc">>}, {fcgi, <<1, 1, 0, 1, 0, 2, 1, 0, "abp">>}]],
    {C, S} = Both = pair([{packet, 1}]),
    p(prim_inet:send(C, lists:duplicate(256, $x))),
    p(prim_inet:send(C, "then")),
    p(prim_inet:recv(S, 0, 1000)),
    ok = prim_inet:setopts(S, [{packet, 4}, {packet_size, 10}]),
    p(prim_inet:send(C, <<0, 0, 0>>)),
    p(prim_inet:send(C, <<>>)),
    p(prim_inet:recv(S, 0, 1000)),
    close(Both).

active() ->
    {C, S} = Both = pair([{packet, line}]),
    ok = prim_inet:setopts(S, [{active, once}]),
    ok = prim_inet:send(C, "one\ntwo\nthree\n"),
    p(message()),
    p(message(30)),
    p(prim_inet:recv(S, 0, 1000)),
    ok = prim_inet:setopts(S, [{active, true}]),
    p(message()),
    p(prim_inet:recv(S, 0, 1000)),
    ok = prim_inet:setopts(S, [{mode, list}]),
    ok = prim_inet:send(C, "four\n"),
    p(message()),
    ok = prim_inet:setopts(S, [{mode, binary}, {header, 2}]),
    ok = prim_inet:send(C, "five\n"),
    p(message()),
    ok = prim_inet:setopts(S, [{header, 0}, {deliver, port}]),
    ok = prim_inet:send(C, "six\n"),
    p(message()),
    prim_inet:close(C),
    p(message()),
    p(message(30)),
    close(Both).

counted() ->
    {C, S} = Both = pair([{packet, 2}]),
    ok = prim_inet:setopts(S, [{active, 2}]),
    p(prim_inet:getopts(S, [active])),
    [ok = prim_inet:send(C, [N + $0]) || N <- [1, 2, 3]],
    p([message(), message(), message(), message(30)]),
    p(prim_inet:getopts(S, [active])),
    ok = prim_inet:setopts(S, [{active, 5}]),
    p(message()),
    p(prim_inet:getopts(S, [active])),
    ok = prim_inet:setopts(S, [{active, -10}]),
    p(message()),
    p(prim_inet:setopts(S, [{active, 32767}])),
    p(prim_inet:setopts(S, [{active, 1}])),
    close(Both).

http() ->
    {C, S} = Both = pair([]),
    ok = prim_inet:setopts(S, [{packet, http}]),
    ok = prim_inet:send(C, "GET /path?q HTTP/1.1\r\nHost: here\r\nX-other:  1\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
    p([prim_inet:recv(S, 0, 1000) || _ <- lists:seq(1, 6)]),
    ok = prim_inet:setopts(S, [{packet, http_bin}, {active, true}]),
    ok = prim_inet:send(C, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nwrong\r\n"),
    p([message(), message(), message(), message()]),
    close(Both).

closing() ->
    {C, S} = Both = pair([]),
    ok = prim_inet:send(C, "last"),
    ok = prim_inet:close(C),
    p(prim_inet:recv(S, 0, 1000)),
    p(prim_inet:recv(S, 0, 1000)),
    close(Both),
    {C2, S2} = Both2 = pair([{exit_on_close, false}]),
    ok = prim_inet:setopts(S2, [{exit_on_close, false}, {active, true}]),
    ok = prim_inet:shutdown(C2, write),
    p(message()),
    p(prim_inet:send(S2, "still")),
    p(prim_inet:recv(C2, 0, 1000)),
    close(Both2),
    {C3, S3} = Both3 = pair([]),
    Self = self(),
    spawn_link(fun() -> Self ! {read, prim_inet:recv(C3, 0, 5000)} end),
    receive after 20 -> ok end,
    ok = prim_inet:close(S3),
    p(receive {read, What} -> What after 5000 -> none end),
    close(Both3).

errors() ->
    {ok, C} = prim_inet:open(tcp, inet, stream),
    p(prim_inet:connect(C, ?LOCAL, 1)),
    prim_inet:close(C),
    {ok, D} = prim_inet:open(tcp, inet, stream),
    p(prim_inet:send(D, "x")),
    p(prim_inet:recv(D, 0)),
    p(prim_inet:peername(D)),
    p(prim_inet:shutdown(D, read)),
    p(prim_inet:accept(D, 10)),
    p(prim_inet:close(D)),
    p(prim_inet:sockname(D)),
    p(prim_inet:send(D, "x")),
    {L, Port} = listener([]),
    p(prim_inet:accept(L, 10)),
    p(prim_inet:accept(L, 0)),
    {ok, E} = prim_inet:open(tcp, inet, stream),
    p(prim_inet:bind(E, ?LOCAL, Port)),
    p(prim_inet:bind(E, {1, 2, 3, 4}, 0)),
    prim_inet:close(E),
    prim_inet:close(L).

options() ->
    {C, _} = Both = pair([]),
    Names = [active, nodelay, keepalive, delay_send, linger, packet, mode, deliver, header, exit_on_close,
             high_watermark, low_watermark, send_timeout, send_timeout_close, packet_size, reuseaddr, tos, ttl,
             show_econnreset, buffer],
    p(prim_inet:getopts(C, Names)),
    p(prim_inet:setopts(C, [{nodelay, true}, {keepalive, true}, {linger, {true, 3}}, {packet, 4}, {send_timeout, 100},
                            {high_watermark, 10000}, {line_delimiter, $x}, {tos, 16}, {ttl, 33}])),
    p(prim_inet:getopts(C, Names)),
    p(prim_inet:getopts(C, [{raw, 6, 1, 4}])),
    p(prim_inet:setopts(C, [{raw, 6, 1, <<0:32>>}])),
    p(prim_inet:getopts(C, [nodelay])),
    p(prim_inet:setopts(C, [{wrong, 1}])),
    ok = prim_inet:setopts(C, [{linger, {false, 0}}]),
    close(Both).

%% More than all buffers hold.
big() ->
    {C, S} = Both = pair([{packet, 4}]),
    Data = binary:copy(<<"0123456789abcdef">>, 200000),
    Self = self(),
    spawn_link(fun() ->
        {ok, Got} = prim_inet:recv(S, 0, 10000),
        {ok, Again} = prim_inet:recv(S, 0, 10000),
        Self ! {got, Got =:= Data, Again =:= Data}
    end),
    p([prim_inet:send(C, Data), prim_inet:send(C, Data)]),
    p(receive {got, A, B} -> {A, B} after 10000 -> none end),
    close(Both).

acceptors() ->
    {L, Port} = listener([]),
    Self = self(),
    [spawn_link(fun() ->
        {ok, S} = prim_inet:accept(L, 5000),
        {ok, <<N>>} = prim_inet:recv(S, 1, 5000),
        prim_inet:send(S, <<(N * 2)>>),
        prim_inet:close(S),
        Self ! done
    end) || _ <- lists:seq(1, 10)],
    p(lists:sort([begin
         {ok, C} = prim_inet:open(tcp, inet, stream),
         ok = prim_inet:setopts(C, [{active, false}, {mode, binary}]),
         ok = prim_inet:connect(C, ?LOCAL, Port, 5000),
         ok = prim_inet:send(C, <<N>>),
         {ok, <<Twice>>} = prim_inet:recv(C, 1, 5000),
         prim_inet:close(C),
         Twice
     end || N <- lists:seq(1, 10)])),
    [receive done -> ok after 5000 -> p(lost) end || _ <- lists:seq(1, 10)],
    prim_inet:close(L).

local() ->
    Path = "/tmp/sockets_tcp_" ++ os:getpid(),
    {ok, L} = prim_inet:open(tcp, local, stream),
    p(prim_inet:bind(L, {local, Path}, 0)),
    ok = prim_inet:listen(L, 5),
    {ok, C} = prim_inet:open(tcp, local, stream),
    ok = prim_inet:setopts(C, [{active, false}, {mode, binary}]),
    p(prim_inet:connect(C, {local, Path}, 0, infinity)),
    {ok, S} = prim_inet:accept(L, 1000),
    p(prim_inet:send(S, "by path")),
    p(prim_inet:recv(C, 7, 1000)),
    {ok, {local, Name}} = prim_inet:peername(C),
    p(Name =:= list_to_binary(Path)),
    close({C, S}),
    prim_inet:close(L),
    prim_file:delete(Path).

message() -> message(5000).

%% The next message, with names for ports.
message(Time) ->
    receive
        {Tag, Port, Data} when is_port(Port) -> {Tag, port, Data};
        {Tag, Port} when is_port(Port) -> {Tag, port};
        {Port, Data} when is_port(Port) -> {port, Data};
        Other -> Other
    after Time -> none
    end.

p(Term) ->
    io:format("~0p~n", [Term]).
