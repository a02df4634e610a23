%% Sockets that outlive the connection (`exit_on_close` is false): who is told of its end, and what they are good for then.
-module(sockets_stay_open).
-export([main/1]).

-define(LOCAL, {127, 0, 0, 1}).

main(_) ->
    [lost(Active, Ends, Steps) || Active <- [true, once, 5, false], Ends <- [close, break, shutdown, data], Steps <- steps()].

steps() ->
    [[recv, send_until_lost, send, send, recv, active, recv, status],
     [passive, recv, recv, send_until_lost, send, recv, recv, send, active, status],
     [passive, recv, active, passive, recv, options],
     [active, options, peer, shutdown, recv]].

lost(Active, Ends, Steps) ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {ip, ?LOCAL}, {active, false}]),
    {ok, Port} = inet:port(Listener),
    {ok, Other} = gen_tcp:connect(?LOCAL, Port, [binary, {active, false}]),
    {ok, Socket} = gen_tcp:accept(Listener),
    ok = inet:setopts(Socket, [{exit_on_close, false}, {active, Active}]),
    erase(told),
    finish(Ends, Other),
    io:format("~p ~p ~p~n", [Active, Ends, told(Active, Socket)]),
    [io:format("  ~p ~p ~p~n", [Step, step(Step, Ends, Socket), messages()]) || Step <- Steps],
    [ok = gen_tcp:close(Each) || Each <- [Listener, Other, Socket]].

finish(close, Other) -> ok = gen_tcp:close(Other);
finish(break, Other) -> ok = inet:setopts(Other, [{linger, {true, 0}}]), ok = gen_tcp:close(Other);
finish(shutdown, Other) -> ok = gen_tcp:shutdown(Other, write);
finish(data, Other) -> ok = gen_tcp:send(Other, <<"data">>), ok = gen_tcp:close(Other).

%% Waits for what is told of the end. Where nothing will be, or data used `once` up, there is nothing to wait for.
told(false, _) -> [];
told(Active, Socket) ->
    receive
        {tcp, Socket, Data} when Active =:= once -> [Data];
        {tcp, Socket, Data} -> [Data | told(Active, Socket)];
        {tcp_closed, Socket} -> put(told, true), [closed]
    after 20000 -> [late]
    end.

messages() -> receive Message -> [element(1, Message) | messages()] after 0 -> [] end.

step(recv, _, Socket) -> gen_tcp:recv(Socket, 0);
step(send, _, Socket) -> gen_tcp:send(Socket, "x");
%% Whoever only shut down one way goes on receiving.
step(send_until_lost, shutdown, Socket) -> gen_tcp:send(Socket, "x");
step(send_until_lost, Ends, Socket) ->
    case gen_tcp:send(Socket, "x") of
        ok -> timer:sleep(1), step(send_until_lost, Ends, Socket);
        Error -> Error
    end;
step(passive, _, Socket) -> inet:setopts(Socket, [{active, false}]);
%% It is told now, unless it has been.
step(active, _, Socket) ->
    Result = inet:setopts(Socket, [{active, true}]),
    {Result, get(told) =:= true orelse told(true, Socket)};
step(options, _, Socket) -> inet:getopts(Socket, [active, exit_on_close]);
step(status, _, Socket) -> prim_inet:getstatus(Socket);
step(peer, _, Socket) -> element(1, inet:peername(Socket));
step(shutdown, _, Socket) -> gen_tcp:shutdown(Socket, write).
