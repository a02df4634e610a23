%% A server that is started by the process that needs it first. Two processes that need it at the same time can both
%% find that it is not there; then register/2 fails in one of them.
-module(registration).
-export([main/1]).

main(_) ->
    Clients = [spawn_monitor(fun() -> client(Number) end) || Number <- [1, 2]],
    Reasons = [receive {'DOWN', Monitor, process, Client, Reason} -> Reason end || {Client, Monitor} <- Clients],
    io:format("~p clients are content~n", [length([normal || normal <- Reasons])]).

client(Number) ->
    Server = server(),
    Server ! {self(), Number},
    receive {Server, Answer} -> Answer = Number * Number end.

server() ->
    case whereis(squares) of
        undefined ->
            Server = spawn(fun serve/0),
            true = register(squares, Server),
            Server;
        Server ->
            Server
    end.

serve() ->
    receive {Client, Number} -> Client ! {self(), Number * Number} end,
    serve().
