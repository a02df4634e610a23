%% A port that has enough to write makes others wait, by whatever way they write to it.
-module(busy_ports).
-export([main/1]).

-define(MUCH, binary:copy(<<"x">>, 1_000_000)).

main(_) ->
    io:format("~w~n", [not_suspended()]),
    io:format("~w~n", [suspended()]),
    io:format("~w~n", [forced()]).

%% Reads nothing before it is told to, by a line on its standard input; then it counts.
reader() ->
    open_port({spawn, "sh -c 'sleep 1; wc -c >/dev/null'"}, [binary]).

not_suspended() ->
    Port = reader(),
    First = erlang:send(Port, {self(), {command, ?MUCH}}, [nosuspend]),
    Second = erlang:send(Port, {self(), {command, ?MUCH}}, [nosuspend]),
    Third = erlang:port_command(Port, ?MUCH, [nosuspend]),
    Port ! {self(), close},
    receive {Port, closed} -> {First, Second, Third} end.

%% The system monitor hears of each that waits, and all is written in the end, in order.
suspended() ->
    Self = self(),
    Port = reader(),
    erlang:system_monitor(Self, [busy_port]),
    Port ! {Self, {command, ?MUCH}},
    Pids = [spawn_link(fun() -> write(How, Port, Self), Self ! {self(), written} end) || How <- [command, message]],
    Waiting = [receive {monitor, Pid, busy_port, Port} -> process_info(Pid, status) end || Pid <- Pids],
    [receive {Pid, written} -> ok end || Pid <- Pids],
    erlang:system_monitor(undefined),
    Port ! {Self, close},
    receive {Port, closed} -> Waiting end.

write(command, Port, _) -> port_command(Port, ?MUCH);
write(message, Port, Owner) -> Port ! {Owner, {command, ?MUCH}}.

forced() ->
    Program = open_port({spawn, "cat"}, []),
    {ok, Socket} = gen_udp:open(0),
    Results = [try erlang:port_command(Port, "x", [force]) catch error:Reason -> Reason end
               || Port <- [Program, Socket]],
    [receive {Socket, _} -> ok after 0 -> ok end || _ <- [1]],
    Results.
