%% Datagram sockets over the ports of prim_inet.
-module(sockets_udp).
-export([main/1, open/1]).

-define(LOCAL, {127, 0, 0, 1}).

main(_) ->
    {A, PA} = open([]),
    {B, PB} = open([]),
    p(prim_inet:sendto(A, {?LOCAL, PB}, [], "hello")),
    {ok, {?LOCAL, PA, <<"hello">>}} = prim_inet:recvfrom(B, 0, 1000),
    p(prim_inet:recvfrom(B, 0, 20)),
    p(prim_inet:recvfrom(B, 0, 0)),
    p(prim_inet:setopts(B, [{active, once}])),
    p([prim_inet:sendto(A, {?LOCAL, PB}, [], [N + $0]) || N <- [1, 2, 3]]),
    p(message(PA)),
    p(message(PA, 30)),
    {ok, {_, _, Two}} = prim_inet:recvfrom(B, 0, 1000),
    p(Two),
    p(prim_inet:setopts(B, [{mode, list}, {active, 2}])),
    p(message(PA)),
    p(prim_inet:sendto(A, {?LOCAL, PB}, [], "last")),
    p([message(PA), message(PA), message(PA, 30)]),
    p(prim_inet:recvfrom(A, 0, 0)),
    p(prim_inet:setopts(B, [{mode, binary}, {header, 3}, {active, true}])),
    p(prim_inet:sendto(A, {?LOCAL, PB}, [], "header")),
    p(message(PA)),
    p(prim_inet:connect(A, ?LOCAL, PB)),
    p(prim_inet:sendto(A, {any, 0}, [], "connected")),
    p(message(PA)),
    p(prim_inet:peername(A) =:= {ok, {?LOCAL, PB}}),
    p(prim_inet:getstat(A, [send_cnt, send_oct, recv_cnt])),
    p(prim_inet:gettype(A)),
    p(prim_inet:close(B)),
    p(prim_inet:sendto(A, {any, 0}, [], "to nobody")),
    p(prim_inet:recvfrom(A, 0, 1000)),
    p(prim_inet:close(A)),
    p(prim_inet:sendto(A, {?LOCAL, PB}, [], "x")),
    p(prim_inet:getservbyname(element(1, open([])), http, tcp)),
    {ok, C} = prim_inet:open(udp, inet, dgram),
    p(prim_inet:recvfrom(C, 0, 10)),
    p(prim_inet:sendto(C, {{1, 2, 3}, 1}, [], "x")),
    p(prim_inet:gethostname(C) =:= {ok, lists:droplast(os:cmd("uname -n"))}),
    {ok, Interfaces} = prim_inet:getifaddrs(C),
    {"lo", Loopback} = lists:keyfind("lo", 1, Interfaces),
    p({lists:keyfind(addr, 1, Loopback), lists:keyfind(flags, 1, Loopback)}),
    p(prim_inet:ifget(C, "lo", [addr, netmask, flags, mtu])),
    {Z, PZ} = open([]),
    Big = binary:copy(<<"x">>, 60000),
    p(prim_inet:setopts(Z, [{recbuf, 65536}])),
    p(prim_inet:sendto(C, {?LOCAL, PZ}, [], Big)),
    {ok, {_, _, Received}} = prim_inet:recvfrom(Z, 0, 1000),
    p(Received =:= Big),
    p(prim_inet:sendto(C, {?LOCAL, PZ}, [], [Big, Big])).

open(Options) ->
    {ok, S} = prim_inet:open(udp, inet, dgram),
    ok = prim_inet:setopts(S, [{active, false}, {mode, binary} | Options]),
    {ok, Port} = prim_inet:bind(S, ?LOCAL, 0),
    {S, Port}.

message(From) -> message(From, 5000).

message(From, Time) ->
    receive
        {udp, Port, ?LOCAL, From, Data} when is_port(Port) -> {udp, Data};
        {Tag, Port} when is_port(Port) -> Tag;
        Other -> Other
    after Time -> none
    end.

p(Term) ->
    io:format("~0p~n", [Term]).
