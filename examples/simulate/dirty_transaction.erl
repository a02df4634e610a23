%% A small database: transactions lock a record while they read and write it; dirty operations do not look at locks, as
%% in Mnesia. A dirty write between a transaction's read and its write is lost, although the transaction holds its lock.
%% mnesia_dirty.erl is the same with Mnesia itself.
-module(dirty_transaction).
-export([main/1]).

main(_) ->
    accounts = ets:new(accounts, [named_table, public]),
    true = ets:insert(accounts, {alice, 100}),
    Locks = spawn(fun unlocked/0),
    Work = [fun() -> transaction(Locks, fun() -> add(10) end) end,
            fun() -> transaction(Locks, fun() -> add(20) end) end,
            fun() -> add(30) end],
    Workers = [spawn_monitor(One) || One <- Work],
    [receive {'DOWN', Monitor, process, Worker, normal} -> ok end || {Worker, Monitor} <- Workers],
    [{alice, Sum}] = ets:lookup(accounts, alice),
    io:format("~p~n", [Sum]),
    atoll_simulate:always(nothing_is_lost, Sum =:= 160).

add(Sum) ->
    [{alice, Before}] = ets:lookup(accounts, alice),
    true = ets:insert(accounts, {alice, Before + Sum}).

transaction(Locks, Do) ->
    Locks ! {lock, self()},
    receive locked -> ok end,
    Do(),
    Locks ! {unlock, self()}.

unlocked() ->
    receive {lock, Client} -> Client ! locked, locked(Client) end.

locked(Client) ->
    receive {unlock, Client} -> unlocked() end.
