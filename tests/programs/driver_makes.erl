%% A linked-in driver makes a port and another driver, tells its port's process of the system, and is locked.
-module(driver_makes).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Folder = filename:dirname(code:which(?MODULE)),
    ok = erl_ddll:load_driver(Folder, "driver_makes"),
    Port = open_port({spawn_driver, "driver_makes"}, []),
    [] = port_control(Port, 1, []),
    {made, Made} = told(),
    io:format("~p ~p~n", [erlang:port_info(Made, name), erlang:port_info(Made, connected) =:= {connected, self()}]),
    io:format("~p ~p~n", [lists:member(Made, erlang:ports()), {links, [self()]} =:= erlang:port_info(Made, links)]),
    io:format("~p~n", [erl_ddll:info("driver_makes", port_count)]),
    io:format("~p ~p~n", [port_control(Made, 6, []), port_control(Port, 6, [])]),
    true = port_close(Made),
    io:format("~p~n", [[told() =:= {'EXIT', Made, normal}, erlang:port_info(Made)]]),
    io:format("~p~n", [erlang:port_info(Port, os_pid)]),
    [] = port_control(Port, 2, []),
    io:format("~p~n", [erlang:port_info(Port, os_pid)]),
    % A driver without a file.
    io:format("~p~n", [catch_reason(fun() -> open_port({spawn_driver, "driver_added"}, []) end)]),
    [] = port_control(Port, 3, []),
    io:format("~p ~p~n", [erl_ddll:unload_driver("driver_added"), is_loaded("driver_added")]),
    Added = open_port({spawn_driver, "driver_added"}, []),
    io:format("~p~n", [port_control(Added, 6, [])]),
    true = port_close(Added),
    io:format("~p~n", [told() =:= {'EXIT', Added, normal}]),
    io:format("~w ~p~n", [port_control(Port, 4, []), is_loaded("driver_added")]),
    io:format("~p~n", [catch_reason(fun() -> open_port({spawn_driver, "driver_added"}, []) end)]),
    % A locked driver.
    io:format("~p~n", [erl_ddll:info("driver_makes", permanent)]),
    io:format("~w~n", [port_control(Port, 5, [])]),
    io:format("~p~n", [[erl_ddll:info("driver_makes", Item) || Item <- [permanent, processes, driver_options]]]),
    io:format("~p~n", [erl_ddll:try_unload("driver_makes", [])]),
    io:format("~p~n", [erl_ddll:try_load(Folder, "driver_makes", [])]),
    true = port_close(Port),
    io:format("~p~n", [told() =:= {'EXIT', Port, normal}]),
    io:format("~p ~p~n", [is_loaded("driver_makes"), receive Late -> Late after 0 -> nothing end]).

is_loaded(Name) ->
    {ok, Names} = erl_ddll:loaded_drivers(),
    lists:member(Name, Names).

catch_reason(Work) ->
    try Work() catch error:Reason -> Reason end.

told() ->
    receive Message -> Message after 10000 -> nothing end.
