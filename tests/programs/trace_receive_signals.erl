%% A traced process tells of messages that come as signals too: of monitors, links, aliases, requests to spawn.
-module(trace_receive_signals).
-export([main/1]).

main(_) ->
    told(monitor, 2, fun(_) -> spawn_monitor(fun() -> ok end) end),
    told(tagged_monitor, 2, fun(_) -> spawn_opt(fun() -> ok end, [{monitor, [{tag, gone}]}]) end),
    told(link, 2, fun(_) -> spawn_link(fun() -> ok end) end),
    told(monitor_name, 2, fun(_) -> monitor(process, nobody) end),
    told(exit_signal, 2, fun(_) -> exit(self(), reason) end),
    told(alias, 2, fun(_) -> alias() ! by_alias end),
    told(spawn_request, 3, fun(_) -> spawn_request(fun() -> ok end, [link]) end),
    told(timer, 2, fun(_) -> erlang:send_after(10, self(), timer) end),
    told(other, 2, fun(Main) -> Main ! {tell, self()} end),
    told(table, 2, fun(_) ->
        Me = self(),
        spawn(fun() -> ets:give_away(ets:new(table, []), Me, data) end)
    end).

%% The first message is `go`; `Count` are expected.
told(Label, Count, Setup) ->
    Main = self(),
    Pid = spawn(fun() ->
        process_flag(trap_exit, true),
        receive go -> Setup(Main) end,
        loop()
    end),
    erlang:trace(Pid, true, ['receive']),
    Pid ! go,
    receive {tell, Pid} -> Pid ! told after if Label =:= other -> 10000; true -> 0 end -> ok end,
    io:format("~p: ~p~n", [Label, lists:sort(messages(Pid, Count))]),
    erlang:trace(Pid, false, ['receive']),
    exit(Pid, kill).

loop() ->
    receive _ -> loop() end.

messages(_, 0) -> [];
messages(Pid, Count) ->
    receive {trace, Pid, 'receive', Message} -> [shown(Message) | messages(Pid, Count - 1)]
    after 10000 -> [missing]
    end.

shown(Tuple) when is_tuple(Tuple) -> list_to_tuple([shown(Element) || Element <- tuple_to_list(Tuple)]);
shown(Pid) when is_pid(Pid) -> pid;
shown(Reference) when is_reference(Reference) -> reference;
shown(Other) -> Other.
