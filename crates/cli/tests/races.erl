%% Prints whether a process that it has started is still there: sometimes it is.
-module(races).
-export([main/1]).

main(_) ->
    {_, Monitor} = spawn_monitor(fun() -> ok end),
    Other = spawn(fun() -> ok end),
    io:format("~p~n", [receive {'DOWN', Monitor, process, _, _} -> is_process_alive(Other) end]).
