%% What observer, etop and dbg see of another node. `main/1` gets its name, and prints the same whichever machines the
%% two run on.
-module(looks).
-export([main/1]).

main(Other) ->
    pong = net_adm:ping(Other),
    say(system, keys(ask(Other, sys_info, []))),
    Tables = ask(Other, get_table_list, [ets, [{sys_hidden, false}, {unread_hidden, true}]]),
    say(table, keys(table(ac_tab, Tables))),
    Self = self(),
    spawn(Other, observer_backend, get_table, [Self, ac_tab, ets]),
    say(rows, receive {_, Rows} when is_list(Rows) -> length(Rows) > 10 end),
    [Port | _] = [Each || Each <- ask(Other, get_port_list, []), lists:keymember(inet, 1, Each)],
    say(port, keys(Port)),
    spawn(Other, observer_backend, procs_info, [Self]),
    say(processes, receive {procs_info, _, [Process | _]} -> {tuple_size(Process), element(1, Process)} end),
    spawn(Other, observer_backend, etop_collect, [Self]),
    say(etop, receive {_, Info} when is_tuple(Info) -> {tuple_size(Info), element(1, Info)} end),
    Fetching = spawn(Other, observer_backend, fetch_stats, [Self, 50]),
    say(statistics, receive {stats, _, Schedulers, _, Memory} -> {length(Schedulers) > 0, keys(Memory)} end),
    exit(Fetching, kill),
    {ok, _} = dbg:tracer(process, {fun(Event, Owner) -> Owner ! {traced, Event}, Owner end, Self}),
    {ok, Other} = dbg:n(Other),
    {ok, _} = dbg:p(all, call),
    {ok, _} = dbg:tpl(lists, seq, 2, []),
    [1, 2, 3] = rpc:call(Other, lists, seq, [1, 3]),
    say(traced, receive {traced, {trace, Who, call, Call}} when node(Who) =:= Other -> Call end),
    ok = dbg:stop_clear(),
    say(done, ok).

ask(Node, Function, Arguments) -> rpc:call(Node, observer_backend, Function, Arguments).

%% What an allocator has is OTP's own.
keys(Pairs) -> lists:sort([Key || {Key, _} <- Pairs, Key =/= alloc_info]).

table(Name, Tables) ->
    [Table] = [Table || Table <- Tables, lists:member({name, Name}, Table)],
    Table.

say(What, Result) -> io:format("~p: ~0p~n", [What, Result]).
