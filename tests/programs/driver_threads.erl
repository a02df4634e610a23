%% A linked-in driver whose threads use its port's queue, and send terms that are right or wrong, also when the port is
%% closed.
-module(driver_threads).
-export([main/1]).

main(_) ->
    ok = erl_ddll:load_driver(filename:dirname(code:which(?MODULE)), "driver_threads"),
    Port = open_port({spawn_driver, "driver_threads"}, []),
    [] = port_control(Port, 1, []),
    io:format("~p~n", [told()]),
    Me = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> Me ! {word, port_control(Port, 4, [])} end),
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    receive {word, Dead} -> [] = port_control(Port, 2, Dead) end,
    [io:format("~p~n", [told()]) || _ <- lists:seq(1, 3)],
    Witness = open_port({spawn_driver, "driver_threads"}, []),
    [] = port_control(Witness, 5, []),
    [] = port_control(Port, 3, "gone"),
    true = port_close(Port),
    io:format("~p ~w~n", [told(), port_control(Witness, 6, [])]),
    io:format("~p~n", [told()]),
    % What nobody takes out of the queue keeps a port.
    Kept = open_port({spawn_driver, "driver_threads"}, []),
    [] = port_control(Kept, 3, "still there"),
    true = port_close(Kept),
    io:format("~p ~w~n", [told(), port_control(Witness, 6, [])]),
    [] = port_control(Witness, 7, []),
    unlink(Kept),
    unlink(Witness),
    io:format("~p~n", [receive Late -> Late after 0 -> nothing end]),
    ok = erl_ddll:unload_driver("driver_threads").

told() ->
    receive Message -> Message after 10000 -> nothing end.
