%% A linked-in driver says later whether a port of it has been opened. Whoever is linked to a port hears of its end
%% before the driver does.
-module(driver_begins).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    ok = erl_ddll:load_driver(filename:dirname(code:which(?MODULE)), "driver_begins"),
    [opened(How) || How <- ["ok", "badarg", "error", "general", "failure", "zero", "refused"]].

opened(How) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        process_flag(trap_exit, true),
        Self ! {self(), try open_port({spawn_driver, "driver_begins " ++ How}, []) of
            Port ->
                Answer = try port_control(Port, 1, []) catch error:Why -> Why end,
                Known = [erlang:port_info(Port, connected) =:= {connected, self()}, erlang:port_info(Port, links) =/= undefined],
                catch port_close(Port),
                {Answer, Known}
            catch error:Reason -> Reason
        end, messages()}
    end),
    receive
        {Pid, Result, Messages} -> io:format("~s: ~p ~p~n", [How, Result, Messages])
    after 1000 ->
        io:format("~s: waits ~p~n", [How, process_info(Pid, messages)]), exit(Pid, kill)
    end,
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

%% What has come, with the atoms alone.
messages() ->
    receive Message -> [[Atom || Atom <- tuple_to_list(Message), is_atom(Atom)] | messages()] after 100 -> [] end.
