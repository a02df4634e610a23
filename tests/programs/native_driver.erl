%% A linked-in driver: loading, ports, all kinds of answers and messages, descriptors, timers, threads, its queue.
-module(native_driver).
-export([main/1]).

main(_) ->
    Folder = filename:dirname(code:which(?MODULE)),
    Missing = erl_ddll:load_driver(Folder, "no_such_driver"),
    {error, Reason} = Missing,
    io:format("~p ~s~n", [Missing, erl_ddll:format_error(Reason)]),
    % A library of native functions is no driver.
    io:format("~p~n", [erl_ddll:load_driver(Folder, "native_library")]),
    show(catch open_port({spawn_driver, "native_driver"}, [])),
    ok = erl_ddll:load_driver(Folder, "native_driver"),
    {ok, Loaded} = erl_ddll:loaded_drivers(),
    io:format("~p ~p~n", [lists:member("native_driver", Loaded), erl_ddll:info("native_driver", port_count)]),
    show(catch open_port({spawn, "native_driver refuse"}, [])),
    Port = open_port({spawn, "native_driver with words"}, [binary]),
    io:format("~p ~p~n", [erlang:port_info(Port, name), erl_ddll:info("native_driver", port_count)]),
    [begin
         true = port_command(Port, Data),
         io:format("~p~n", [[told(Port) || _ <- lists:seq(1, Messages)]])
     end || {Data, Messages} <- [{"echo", 1}, {["h", <<"ead">>], 1}, {"terms", 2}, {"set timer", 1}, {"async", 1},
                                 {"pipe", 1}, {"pipe again", 1}]],
    Port ! {self(), {command, "e as a message"}},
    io:format("~p~n", [told(Port)]),
    io:format("~p ~p~n", [port_control(Port, 1, "control"), length(port_control(Port, 2, []))]),
    io:format("~p~n", [byte_size(port_control(Port, 3, []))]),
    show(catch port_control(Port, 4, [])),
    Term = {call, [self() =:= self(), 1.5, <<1, 2>>], #{key => [value]}},
    io:format("~p~n", [erlang:port_call(Port, 1, Term)]),
    show(catch erlang:port_call(Port, 2, Term)),
    % What is queued is written before the port closes; what the driver says meanwhile is not heard.
    true = port_command(Port, "queued"),
    Port ! {self(), close},
    io:format("~p~n", [told(Port)]),
    closed(Port),
    io:format("~p~n", [receive Late -> Late after 0 -> nothing end]),
    % A driver ends its port.
    process_flag(trap_exit, true),
    Other = open_port({spawn_driver, "native_driver"}, []),
    true = port_command(Other, "echo"),
    io:format("~p~n", [told(Other)]),
    true = port_command(Other, "fail"),
    io:format("~p~n", [receive {'EXIT', Other, Why} -> Why end]),
    % A port that has a driver's descriptor ends with its owner.
    {Owner, Monitor} = spawn_monitor(fun() ->
        Mine = open_port({spawn_driver, "native_driver"}, []),
        true = port_command(Mine, "pipe"),
        receive {Mine, {data, Input}} -> exit(Input) end
    end),
    io:format("~p~n", [receive {'DOWN', Monitor, process, Owner, Input} -> Input end]),
    ok = erl_ddll:unload_driver("native_driver"),
    {ok, Left} = erl_ddll:loaded_drivers(),
    io:format("~p~n", [lists:member("native_driver", Left)]).

%% The next message of a port, or to be compared with those.
told(Port) ->
    receive
        {Port, What} -> What;
        Message -> Message
    after 10000 -> nothing
    end.

%% Waits for the end of a port.
closed(Port) ->
    case lists:member(Port, erlang:ports()) of
        true -> timer:sleep(10), closed(Port);
        false -> ok
    end.

show({'EXIT', {Reason, _}}) -> io:format("~p~n", [Reason]).
