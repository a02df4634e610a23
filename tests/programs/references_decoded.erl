%% References of tables, counters and atomics stand for the same after a way through the external format.
-module(references_decoded).
-export([main/1]).

main(_) ->
    Table = ets:new(table, [public]),
    ets:insert(Table, {key, value}),
    Counters = [counters:new(2, Options) || Options <- [[], [atomics], [write_concurrency]]],
    Atomics = atomics:new(2, []),
    [counters:add(Counter, 1, 5) || Counter <- Counters],
    atomics:add(Atomics, 2, 7),
    Encoded = term_to_binary({Table, Counters, Atomics}),
    Decoded = {Table2, Counters2, Atomics2} = binary_to_term(Encoded),
    io:format("~p~n", [Decoded =:= {Table, Counters, Atomics}]),
    show(Decoded),
    Me = self(),
    {Pid, Ref} = spawn_monitor(fun() -> garbage_collect(), show(binary_to_term(Encoded)), Me ! Table2 end),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    receive Table3 -> io:format("~p~n", [ets:info(Table3, size)]) end,
    io:format("~p~n", [[counters:get(Counter, 1) || Counter <- Counters2]]),
    io:format("~p~n", [atomics:get(Atomics2, 2)]),
    ets:delete(Table2),
    io:format("~p~n", [[tried(fun() -> ets:lookup(One, key) end) || One <- [Table, Table2, element(1, binary_to_term(Encoded))]]]),
    Plain = make_ref(),
    io:format("~p~n", [binary_to_term(term_to_binary(Plain)) =:= Plain]),
    io:format("~p~n", [tried(fun() -> counters:get(binary_to_term(term_to_binary(Plain)), 1) end)]).

show({Table, Counters, Atomics}) ->
    ets:update_element(Table, key, {2, seen}),
    [counters:add(Counter, 1, 1) || Counter <- Counters],
    atomics:add(Atomics, 2, 1),
    io:format("~p ~p ~p~n",
        [ets:lookup(Table, key), [counters:get(Counter, 1) || Counter <- Counters], atomics:get(Atomics, 2)]).

tried(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.
