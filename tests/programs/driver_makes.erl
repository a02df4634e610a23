%% A linked-in driver makes a port and another driver, tells its port's process of the system, sets
%% limits, and is locked.
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
    % Limits of what waits for a port, of which a number of 0 is only told; the first number says which are not given.
    None = 16#ffffffffffffffff,
    [io:format("~w~n", [limits(Port, Given)]) || Given <- [
        {0, 0, 0}, {0, 100, 0}, {0, 0, 50}, {0, 20000, 0}, {0, 10, 20}, {0, 300, 200}, {0, None - 1, 0}, {1, 7, 5},
        {2, 7, 9}, {3, 1, 1}, {0, 0, 0}, {0, 1, 1}, {0, None, 0}, {0, 0, 0}, {0, 5, 6}, {0, 0, 0}
    ]],
    [Refuses, Tells | Time] = port_control(Port, 8, []),
    [Mega, Seconds, Micro] = [Number || <<Number:64/native>> <= list_to_binary(Time)],
    Since = timer:now_diff(erlang:now(), {Mega, Seconds, Micro}),
    io:format("~p ~p~n", [{Refuses, Tells}, Since > 0 andalso Since < 60000000]),
    true = port_close(Port),
    io:format("~p~n", [told() =:= {'EXIT', Port, normal}]),
    io:format("~p ~p~n", [is_loaded("driver_makes"), receive Late -> Late after 0 -> nothing end]).

limits(Port, {Missing, Low, High}) ->
    Numbers = <<Low:64/native, High:64/native, 0:(Missing * 8)>>,
    [Number || <<Number:64/native>> <= list_to_binary(port_control(Port, 7, Numbers))].

is_loaded(Name) ->
    {ok, Names} = erl_ddll:loaded_drivers(),
    lists:member(Name, Names).

catch_reason(Work) ->
    try Work() catch error:Reason -> Reason end.

told() ->
    receive Message -> Message after 10000 -> nothing end.
