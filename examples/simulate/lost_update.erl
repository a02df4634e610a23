%% Two processes count in an ETS table, each by a lookup and an insert. If one looks before the other has inserted, an
%% update is lost. ets:update_counter/3 would lose none.
-module(lost_update).
-export([main/1]).

main(_) ->
    Table = ets:new(counters, [public]),
    true = ets:insert(Table, {hits, 0}),
    Workers = [spawn_monitor(fun() -> hit(Table) end) || _ <- [first, second]],
    [receive {'DOWN', Monitor, process, Worker, normal} -> ok end || {Worker, Monitor} <- Workers],
    [{hits, Hits}] = ets:lookup(Table, hits),
    io:format("~p hits~n", [Hits]),
    atoll_simulate:always(no_update_is_lost, Hits =:= 2).

hit(Table) ->
    [{hits, Hits}] = ets:lookup(Table, hits),
    true = ets:insert(Table, {hits, Hits + 1}).
