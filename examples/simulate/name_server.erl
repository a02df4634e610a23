%% A registry of names in which one can wait for a name. Who waits is kept in the row of the name, until somebody takes
%% it. `reg_or_locate` takes the name or says who has it; it has forgotten those who wait, and fails if one came first.
%% gproc had this bug (its issue 43), rebuilt small here.
-module(name_server).
-export([main/1]).

main(_) ->
    names = ets:new(names, [named_table, public]),
    Server = spawn(fun serve/0),
    Clients = [spawn_monitor(fun() -> await(Server, cache) end),
               spawn_monitor(fun() -> reg_or_locate(Server, cache, self()) end)],
    Reasons = [receive {'DOWN', Monitor, process, Client, Reason} -> Reason end || {Client, Monitor} <- Clients],
    io:format("~p clients are content~n", [length([normal || normal <- Reasons])]).

await(Server, Name) ->
    Server ! {await, self(), Name},
    receive {registered, Name, Pid} -> Pid after 1000 -> exit(nobody_registers) end.

reg_or_locate(Server, Name, Pid) ->
    case ets:lookup(names, Name) of
        [{Name, Other}] when is_pid(Other) -> Other;
        [] -> Server ! {register, self(), Name, Pid}, receive {registered, Name, Now} -> Now end
    end.

serve() ->
    receive
        {await, From, Name} ->
            case ets:lookup(names, Name) of
                [{Name, Pid}] when is_pid(Pid) -> From ! {registered, Name, Pid};
                [{Name, {waiting, Others}}] -> ets:insert(names, {Name, {waiting, [From | Others]}});
                [] -> ets:insert(names, {Name, {waiting, [From]}})
            end;
        {register, From, Name, Pid} ->
            Waiting = case ets:lookup(names, Name) of
                [{Name, {waiting, All}}] -> All;
                [] -> []
            end,
            ets:insert(names, {Name, Pid}),
            [To ! {registered, Name, Pid} || To <- [From | Waiting]]
    end,
    serve().
