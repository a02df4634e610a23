%% What functions of the libraries cost that programs call all the time: conversions, strings, binaries, containers.
%% `make library` runs it on stock and on heaps.
-module(library).
-export([start/0]).

start() ->
    Numbers = lists:seq(1, 1000),
    Deep = [[integer_to_binary(N), $,, "ab", [<<"x">>, 10]] || N <- Numbers],
    Binary = iolist_to_binary(Deep),
    Encoded = base64:encode(Binary),
    Map = maps:from_list([{N, N} || N <- Numbers]),
    External = term_to_binary(Deep),
    Table = ets:new(library, [public]),
    ets:insert(Table, [{N, N} || N <- Numbers]),
    Few = lists:seq(1, 10),
    Ordered = ets:new(library, [public, ordered_set]),
    [ets:insert(Ordered, {N, N, <<"value">>}) || N <- Numbers],
    Bag = ets:new(library, [public, bag]),
    ets:insert(Bag, [{N rem 100, N} || N <- Numbers]),
    Waits = spawn_link(fun() -> receive never -> ok end end),
    [Waits ! N || N <- Numbers],
    persistent_term:put(library, {a, b}),
    Self = self(),
    Line = "foo(X, Y) -> case X of {a, B} -> B + Y; _ -> \"str\" end.",
    [measure(What, Count, Function) || {What, Count, Function} <- [
        {"iolist_to_binary, small pieces", 1000, fun() -> iolist_to_binary(Deep) end},
        {"iolist_size, small pieces", 3000, fun() -> iolist_size(Deep) end},
        {"binary_to_list, 12 kB", 2000, fun() -> binary_to_list(Binary) end},
        {"list_to_binary, 1 kB", 30000, fun() -> list_to_binary([N band 255 || N <- Numbers]) end},
        {"base64:encode, 12 kB", 300, fun() -> base64:encode(Binary) end},
        {"base64:decode, 16 kB", 300, fun() -> base64:decode(Encoded) end},
        {"binary:split, global", 200, fun() -> binary:split(Encoded, <<"A">>, [global]) end},
        {"binary:match, nothing", 5000, fun() -> binary:match(Binary, <<"nothere">>) end},
        {"re:run", 5000, fun() -> re:run(Encoded, "B+C[a-z]") end},
        {"string:split", 30, fun() -> string:split(Encoded, "A", all) end},
        {"string:uppercase", 50, fun() -> string:uppercase(Encoded) end},
        {"string:trim", 100000, fun() -> string:trim("  hello  ") end},
        {"unicode:characters_to_binary", 1000, fun() -> unicode:characters_to_binary(Deep) end},
        {"io_lib:format", 30000, fun() -> io_lib:format("~p ~s ~w", [{a, 1, "abc"}, "hello", [1, 2, 3]]) end},
        {"erl_scan:string", 30000, fun() -> erl_scan:string(Line) end},
        {"integer_to_list", 1000000, fun() -> integer_to_list(erlang:unique_integer()) end},
        {"float_to_binary, short", 500000, fun() -> float_to_binary(3.14159, [short]) end},
        {"float_to_list, decimals", 500000, fun() -> float_to_list(3.14159, [{decimals, 4}]) end},
        {"term_to_binary", 1000, fun() -> term_to_binary(Deep) end},
        {"binary_to_term", 1000, fun() -> binary_to_term(External) end},
        {"phash2", 1000, fun() -> erlang:phash2(Deep) end},
        {"md5, 12 kB", 3000, fun() -> erlang:md5(Binary) end},
        {"crc32, 12 kB", 10000, fun() -> erlang:crc32(Binary) end},
        {"crc32, 5 bytes", 1000000, fun() -> erlang:crc32(<<"hello">>) end},
        {"lists:sort", 3000, fun() -> lists:sort(fun erlang:'>='/2, Numbers) end},
        {"lists:usort", 3000, fun() -> lists:usort(Numbers) end},
        {"lists:keyfind", 10000, fun() -> lists:keyfind(1000, 1, [{N, a} || N <- Numbers]) end},
        {"lists:foldl", 20000, fun() -> lists:foldl(fun(N, Sum) -> N + Sum end, 0, Numbers) end},
        {"lists:map", 20000, fun() -> lists:map(fun(N) -> N + 1 end, Numbers) end},
        {"lists:join", 20000, fun() -> lists:join($,, Numbers) end},
        {"maps:fold", 5000, fun() -> maps:fold(fun(_, N, Sum) -> N + Sum end, 0, Map) end},
        {"maps:map", 3000, fun() -> maps:map(fun(_, N) -> N + 1 end, Map) end},
        {"maps:put", 1000000, fun() -> maps:put(a, 1, Map) end},
        {"maps:remove", 500000, fun() -> maps:remove(500, Map) end},
        {"maps:to_list", 5000, fun() -> maps:to_list(Map) end},
        {"persistent_term:get", 1000000, fun() -> persistent_term:get(library) end},
        {"ets:insert", 500000, fun() -> ets:insert(Table, {500, 7}) end},
        {"ets:update_counter", 500000, fun() -> ets:update_counter(Table, 500, {2, 1}) end},
        {"ets:insert, ten rows", 50000, fun() -> ets:insert(Table, [{N, 7} || N <- Few]) end},
        {"ets:update_element", 500000, fun() -> ets:update_element(Table, 500, {2, 1}) end},
        {"ets:lookup", 500000, fun() -> ets:lookup(Table, 500) end},
        {"ets:lookup, bag of ten", 300000, fun() -> ets:lookup(Bag, 50) end},
        {"ets:lookup, ordered", 500000, fun() -> ets:lookup(Ordered, 500) end},
        {"ets:lookup_element, ordered", 500000, fun() -> ets:lookup_element(Ordered, 500, 3) end},
        {"ets:insert, ordered", 500000, fun() -> ets:insert(Ordered, {500, 7, <<"value">>}) end},
        {"ets:next, ordered", 500000, fun() -> ets:next(Ordered, 500) end},
        {"ets:info, size", 500000, fun() -> ets:info(Table, size) end},
        {"is_process_alive, messages", 1000000, fun() -> is_process_alive(Waits) end},
        {"process_info of another", 500000, fun() -> process_info(Waits, message_queue_len) end},
        {"monitor, demonitor", 300000, fun() -> demonitor(monitor(process, Waits), [flush]) end},
        {"function_exported", 1000000, fun() -> erlang:function_exported(lists, map, 2) end},
        {"an error with its stack", 200000, fun() -> try error(a) catch error:a:Stack -> Stack end end},
        {"gb_trees", 300, fun() -> filled(fun gb_trees:enter/3, gb_trees:empty(), Numbers) end},
        {"dict", 300, fun() -> filled(fun dict:store/3, dict:new(), Numbers) end},
        {"array", 500, fun() -> filled(fun array:set/3, array:new(), Numbers) end},
        {"sets:from_list", 1000, fun() -> sets:from_list(Numbers) end},
        {"queue", 3000, fun() -> lists:foldl(fun queue:in/2, queue:new(), Numbers) end},
        {"rand:uniform", 1000000, fun() -> rand:uniform(100) end},
        {"process_info, queue length", 500000, fun() -> process_info(Self, message_queue_len) end},
        {"make_ref", 2000000, fun() -> make_ref() end},
        {"an error that is caught", 500000, fun() -> try error(x) catch error:x -> ok end end},
        {"calendar:universal_time", 300000, fun() -> calendar:universal_time() end}
    ]],
    elixir(),
    beside_many(20000).

%% Elixir's functions, where Elixir is on the code path: Debian's was compiled by an older compiler.
elixir() ->
    Text = binary:copy(<<"The quick brown fox jumps over the lazy dog. ">>, 70),
    Hexadecimal = binary:encode_hex(Text),
    case code:ensure_loaded('Elixir.Base') of
        {module, Base} ->
            [measure(What, Count, Function) || {What, Count, Function} <- [
                {"Base.encode16, 3 kB", 3000, fun() -> Base:encode16(Text) end},
                {"Base.decode16!, 6 kB", 3000, fun() -> Base:'decode16!'(Hexadecimal) end},
                {"Base.encode64, 3 kB", 3000, fun() -> Base:encode64(Text) end},
                {"URI.encode, 3 kB", 500, fun() -> 'Elixir.URI':encode(Text) end},
                {"String.split, 3 kB", 3000, fun() -> 'Elixir.String':split(Text) end}
            ]];
        {error, _} -> []
    end.

%% What one name, link or monitor costs a machine or a process that has many.
beside_many(N) ->
    Pids = [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, N)],
    [register(list_to_atom("library_" ++ integer_to_list(I)), Pid) || {I, Pid} <- lists:zip(lists:seq(1, N), Pids)],
    [monitor(process, Pid, [{tag, down}]) || Pid <- Pids],
    Self = self(),
    First = hd(Pids),
    measure("register, 20,000 other names", 50000, fun() -> register(library, Self), unregister(library) end),
    measure("link, 20,000 other links", 20000, fun() -> unlink(First), link(First) end),
    measure("monitor with a tag, 20,000 others", 50000, fun() -> demonitor(monitor(process, First, [{tag, x}])) end),
    measure("a process with a name, 20,000 others", 5000, fun() ->
        {Pid, Monitor} = spawn_monitor(fun() -> register(library, self()) end),
        receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end
    end),
    [begin unlink(Pid), Pid ! stop end || Pid <- Pids].

filled(Store, Empty, Keys) -> lists:foldl(fun(Key, Filled) -> Store(Key, Key, Filled) end, Empty, Keys).

%% Microseconds of one call: the best of five.
measure(What, Count, Function) ->
    repeat(Count, Function),
    Times = [begin garbage_collect(), element(1, timer:tc(fun() -> repeat(Count, Function) end)) end
             || _ <- lists:seq(1, 5)],
    io:format("~-40s ~.3f~n", [What, lists:min(Times) / Count]).

repeat(0, _) -> ok;
repeat(Count, Function) ->
    Function(),
    repeat(Count - 1, Function).
