%% A registry of processes in which names are written by the callers and taken out by a server, when it hears that a
%% process has ended. A caller that has heard of the end first finds the name still taken. This is the race in a registry
%% of processes that Claessen et al. tell of (Finding Race Conditions in Erlang with QuickCheck and PULSE, ICFP 2009).
-module(process_registry).
-export([main/1]).

main(_) ->
    Main = self(),
    names = ets:new(names, [named_table, public]),
    Server = spawn(fun serve/0),
    First = spawn(fun() -> receive stop -> ok end end),
    true = register_name(Server, worker, First),
    Monitor = monitor(process, First),
    First ! stop,
    receive {'DOWN', Monitor, process, First, normal} -> ok end,
    %% The first process has ended, so that the name is free.
    Second = spawn(fun() -> Main ! started, receive stop -> ok end end),
    receive started -> ok end,
    Free = register_name(Server, worker, Second),
    io:format("~w~n", [Free]),
    atoll_simulate:always(names_of_the_dead_are_free, Free).

register_name(Server, Name, Pid) ->
    case ets:insert_new(names, {Name, Pid}) of
        true -> Server ! {watch, self(), Pid}, receive {watching, Pid} -> true end;
        false -> false
    end.

serve() ->
    receive
        {watch, From, Pid} ->
            monitor(process, Pid),
            From ! {watching, Pid};
        {'DOWN', _, process, Pid, _} ->
            ets:match_delete(names, {'_', Pid})
    end,
    serve().
