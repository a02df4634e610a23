%% Large tables that go all at once, references of tables as text, portions of named tables, and what info tells of binaries.
-module(ets_large).
-export([main/1]).

-define(ROWS, 3000).

main(_) ->
    lists:foreach(fun goes/1, [set, bag, duplicate_bag, ordered_set]),
    atomic(),
    references(),
    portions(),
    binaries(),
    heirs(),
    replaced(),
    ends(),
    locks().

tried(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

fill(Type) ->
    Table = ets:new(large, [Type, public]),
    true = ets:insert(Table, [{N, N} || N <- lists:seq(1, ?ROWS)]),
    Table.

%% While another process deletes everything nobody sees a part.
goes(Type) ->
    Table = fill(Type),
    Size = ets:info(Table, size),
    true = ets:delete_all_objects(Table),
    After = {ets:info(Table, size), ets:first(Table), ets:select_count(Table, [{'_', [], [true]}])},
    Other = fill(Type),
    true = ets:delete(Other),
    Fixed = fill(Type),
    true = ets:safe_fixtable(Fixed, true),
    true = ets:delete_all_objects(Fixed),
    Kept = {ets:info(Fixed, size), ets:first(Fixed)},
    true = ets:safe_fixtable(Fixed, false),
    true = ets:insert(Fixed, {a, b}),
    Killed = spawn(fun() -> _ = fill(Type), receive stop -> ok end end),
    exit(Killed, kill),
    io:format("~p: ~p ~p ~p ~p ~p~n",
              [Type, Size, After, tried(fun() -> ets:insert(Other, {1, 2}) end), Kept, ets:tab2list(Fixed)]).

atomic() ->
    Table = fill(set),
    Self = self(),
    Watcher = spawn_link(fun() -> Self ! ready, watch(Table, Self, []) end),
    receive ready -> ok end,
    true = ets:delete_all_objects(Table),
    Watcher ! stop,
    receive {seen, Sizes} -> io:format("seen in between: ~p~n", [Sizes -- [?ROWS, 0]]) end.

watch(Table, Parent, Seen) ->
    More = lists:usort([ets:info(Table, size) | Seen]),
    receive
        stop -> Parent ! {seen, More}
    after 0 ->
        watch(Table, Parent, More)
    end.

references() ->
    Table = ets:new(anonymous, []),
    true = ets:insert(Table, {key, value}),
    Text = list_to_ref(ref_to_list(Table)),
    Bytes = binary_to_term(term_to_binary(Table)),
    Found = [ets:lookup(One, key) || One <- [Table, Text, Bytes]],
    true = ets:delete(Table),
    io:format("~p ~p~n", [Found, [tried(fun() -> ets:lookup(One, key) end) || One <- [Table, Text, Bytes]]]).

portions() ->
    named = ets:new(named, [named_table]),
    true = ets:insert(named, [{N, x} || N <- lists:seq(1, 5)]),
    Match = [{{'$1', x}, [], ['$1']}],
    {First, Rest} = ets:select(named, Match, 2),
    renamed = ets:rename(named, renamed),
    {Second, More} = ets:select(Rest),
    true = ets:delete(renamed),
    named = ets:new(named, [named_table]),
    Gone = tried(fun() -> ets:select(More) end),
    true = ets:delete(named),
    io:format("~p ~p ~p~n", [length(First), length(Second -- First), Gone]).

binaries() ->
    Table = ets:new(binaries, [{keypos, 2}]),
    Binary = binary:copy(<<"0123456789">>, 20),
    true = ets:insert(Table, [{Binary, 1}, {[Binary, {Binary}], 2}, {<<"small">>, 3}]),
    Sizes = [Size || {_, Size, _} <- ets:info(Table, binary)],
    true = ets:delete_all_objects(Table),
    io:format("~p ~p ~p~n", [lists:usort(Sizes), length(Sizes) >= 2, ets:info(Table, binary)]).

heirs() ->
    {Pid, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end,
    Table = ets:new(heirs, [{heir, Pid, data}]),
    io:format("~p~n", [ets:info(Table, heir)]).

replaced() ->
    Replace = [{{'$1', '$2'}, [], [{{'$1', {'+', '$2', 1}}}]}],
    Rows = [{1, 1}, {1, 1}, {1, 2}, {2, 5}],
    Results = [begin
                   Table = ets:new(replaced, [Type]),
                   true = ets:insert(Table, Rows),
                   Count = tried(fun() -> ets:select_replace(Table, Replace) end),
                   {Type, Count, lists:sort(ets:tab2list(Table))}
               end || Type <- [set, ordered_set, bag, duplicate_bag]],
    Other = ets:new(other, []),
    Refused = [tried(fun() -> ets:select_replace(Other, [{{Key, '_'}, [], [{{New, 1}}]}]) end)
               || {Key, New} <- [{'$$', '$$'}, {'$_', '$_'}, {'_', '_'}, {'$1', '$1'}, {{a, '$1'}, {{a, '$1'}}}]],
    Constant = [tried(fun() -> ets:select_replace(Other, [{{Key, 1, 2}, [], [{const, {New, 1, 2}}]}]) end)
                || {Key, New} <- [{{1, tuple}, {1, tuple}}, {a, b}, {1, 1.0}, {'$1', '$1'}, {"x", "x"}]],
    Counter = ets:new(counter, []),
    true = ets:insert(Counter, [{one, 1, 2}, {two, x, y}]),
    Counted = [tried(fun() -> ets:update_counter(Counter, Key, Operation) end)
               || Key <- [one, two, none],
                  Operation <- [{4, bad}, {1, bad}, {1, 1}, {4, 1}, {2, 1, 1, bad}, {4, 1, bad, bad}, [{2, 1}, {9, bad}], bad, {2, 1}]],
    io:format("~p~n~p~n~p~n~p~n", [Results, Refused, Constant, Counted]).

ends() ->
    Results = [begin
                   Table = ets:new(ends, [Type]),
                   true = ets:insert(Table, [{1}, {a}]),
                   [tried(fun() -> ets:Walk(Table, '$end_of_table') end) || Walk <- [next, prev]]
               end || Type <- [set, ordered_set]],
    io:format("~p~n", [Results]).

locks() ->
    Made = [tried(fun() ->
                      Table = ets:new(locks, [Type, public, {write_concurrency, {debug_hash_fixed_number_of_locks, Locks}}]),
                      ets:info(Table, write_concurrency)
                  end) || Type <- [set, bag, ordered_set], Locks <- [0, 1, 100, 2049, 32768, 65536, many]],
    io:format("~p~n", [Made]).
