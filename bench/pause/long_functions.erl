%% How long a process that wakes every millisecond waits beside another one that is inside a long built-in function, on
%% a million elements and a binary of 30 MB. Run it with +S 1: then both are on the same scheduler.
-module(long_functions).
-export([main/1]).

main(_) ->
    Count = 1000000,
    Numbers = lists:seq(1, Count),
    Random = [(N * 7919) rem 1000003 || N <- Numbers],
    Bytes = binary:copy(<<"abcdefghij">>, 3 * Count),
    Map = maps:from_list([{N, N} || N <- Numbers]),
    Table = ets:new(table, [public]),
    fill(Table, Numbers),
    Waits = [one(Name, Function) || {Name, Function} <-
        [{nothing, fun() -> receive after 300 -> ok end end}]
        ++ lists_and_terms(Random) ++ binaries(Bytes) ++ maps(Map, Numbers) ++ tables(Table, Numbers)],
    io:format(standard_error, "result: long_functions ~w us~n", [lists:max(Waits)]).

lists_and_terms(Random) ->
    [{'lists:sort', fun() -> lists:sort(Random) end},
     {'lists:reverse', fun() -> lists:reverse(Random) end},
     {'lists:member', fun() -> lists:member(none, Random) end},
     {'++', fun() -> Random ++ [1] end},
     {'--', fun() -> Random -- lists:seq(1, 100000) end},
     {length, fun() -> length(Random) end},
     {list_to_tuple, fun() -> tuple_to_list(list_to_tuple(Random)) end},
     {phash2, fun() -> erlang:phash2(Random) end},
     {term_to_binary, fun() -> term_to_binary(Random) end},
     {'term_to_binary, compressed', fun() -> term_to_binary(Random, [compressed]) end},
     {binary_to_term, fun() -> binary_to_term(term_to_binary(Random)) end},
     {send, fun() -> spawn(fun() -> receive _ -> ok end end) ! Random end}].

binaries(Bytes) ->
    [{'binary:matches', fun() -> binary:matches(Bytes, <<"fgh">>) end},
     {'binary:split', fun() -> binary:split(Bytes, <<"j">>, [global]) end},
     {'re:run, global', fun() -> re:run(Bytes, "fgh", [global]) end},
     {binary_to_list, fun() -> binary_to_list(Bytes) end},
     {'unicode:characters_to_list', fun() -> unicode:characters_to_list(Bytes) end},
     {md5, fun() -> erlang:md5(Bytes) end},
     {'binary:copy', fun() -> binary:copy(Bytes, 5) end}].

maps(Map, Numbers) ->
    [{'maps:keys', fun() -> maps:keys(Map) end},
     {'maps:from_list', fun() -> maps:from_list([{N, N} || N <- Numbers]) end},
     {'maps:merge', fun() -> maps:merge(Map, maps:from_list([{-N, N} || N <- Numbers])) end}].

%% In this order: the last ones empty the table.
tables(Table, Numbers) ->
    [{'ets:tab2list', fun() -> ets:tab2list(Table) end},
     {'ets:select', fun() -> ets:select(Table, [{{'$1', '$2'}, [], ['$1']}]) end},
     {'ets:foldl', fun() -> ets:foldl(fun(_, Sum) -> Sum + 1 end, 0, Table) end},
     {'ets:insert', fun() -> ets:insert(Table, [{N, new} || N <- Numbers]) end},
     {'ets:select_delete', fun() -> ets:select_delete(Table, [{{'$1', '_'}, [{'<', '$1', 500000}], [true]}]) end},
     {'ets:match_delete', fun() -> ets:match_delete(Table, {'_', new}) end},
     {'ets:delete', fun() -> fill(Table, Numbers), ets:delete(Table) end}].

fill(Table, Numbers) -> [ets:insert(Table, {N, N}) || N <- Numbers].

one(Name, Function) ->
    Self = self(),
    Ticker = spawn_opt(fun() -> tick(now_us(), 0) end, [{priority, high}]),
    receive after 20 -> ok end,
    Begin = now_us(),
    {Worker, Monitor} = spawn_monitor(fun() -> Function() end),
    normal = receive {'DOWN', Monitor, process, Worker, Reason} -> Reason end,
    Long = now_us() - Begin,
    receive after 10 -> ok end,
    Ticker ! {stop, Self},
    Wait = receive {longest, Longest} -> Longest end,
    io:format(standard_error, "~-30w ~8.1f ms, waited for ~6.1f ms at most~n", [Name, Long / 1000, Wait / 1000]),
    erlang:garbage_collect(),
    Wait.

tick(Last, Longest) ->
    receive {stop, To} -> To ! {longest, Longest}
    after 1 -> Now = now_us(), tick(Now, max(Longest, Now - Last))
    end.

now_us() -> erlang:monotonic_time(microsecond).
