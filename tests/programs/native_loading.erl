%% What erlang:load_nif/2 says of libraries that it does not load, and what functions of one are like that it does.
-module(native_loading).
-export([main/1, hot/1, answer/0, answer/1, dirty/1, load/2, hottest/1]).

-nifs([hot/1, answer/0, answer/1, dirty/1]).

%% Without a file server, which not every machine has.
main(_) ->
    Here = filename:dirname(code:which(?MODULE)),
    Folder = filename:join(Here, "native_loading_" ++ os:getpid()),
    ok = prim_file:make_dir(Folder),
    try
        refused(Here, Folder),
        used(Here, Folder),
        upgraded(Folder)
    after
        {ok, Files} = prim_file:list_dir(Folder),
        [prim_file:delete(filename:join(Folder, File)) || File <- Files],
        prim_file:del_dir(Folder)
    end.

show(What, Value) -> io:format("~p ~p~n", [What, Value]).

%% Paths have a number in them that is another in each run.
show(What, Value, Folder) ->
    Text = lists:flatten(io_lib:format("~p ~0p", [What, Value])),
    io:format("~s~n", [string:replace(Text, Folder, "FOLDER", all)]).

hot(N) -> N + 1.
answer() -> none.
answer(_) -> none.
dirty(_) -> none.

load(Path, Info) -> erlang:load_nif(Path, Info).

copy(Here, Folder, Name) ->
    {ok, Library} = prim_file:read_file(filename:join(Here, "native_loading.so")),
    ok = prim_file:write_file(filename:join(Folder, Name ++ ".so"), Library),
    filename:join(Folder, Name).

refused(Here, Folder) ->
    [show(Kind, catch_(fun() -> load(Path, 0) end), Folder)
     || {Kind, Path} <- [{atom, path}, {number, 7}, {improper, [$a | b]}, {negative, [-1]}, {missing, Folder ++ "/missing"},
                         {empty, ""}, {binary, list_to_binary(Folder ++ "/missing_too")}]],
    [show(Kind, load(copy(Here, Folder, atom_to_list(Kind)), 0), Folder)
     || Kind <- [nothing, old, new_major, new_minor, variant, name, unknown, arity, flags, twice]],
    show(undefined, load(filename:join(Here, "native_missing"), 0), Here ++ "/"),
    show(bare, load(filename:join(Here, "native_bare"), 0), Here ++ "/"),
    Text = filename:join(Folder, "text"),
    ok = prim_file:write_file(Text ++ ".so", lists:duplicate(1000, $x)),
    show(text, load(Text, 0), Folder),
    ok = prim_file:write_file(Text ++ ".so", ""),
    show(no_bytes, load(Text, 0), Folder),
    {ok, <<Front:18/binary, _:16, Back/binary>>} = prim_file:read_file(filename:join(Here, "native_loading.so")),
    Foreign = filename:join(Folder, "foreign"),
    ok = prim_file:write_file(Foreign ++ ".so", <<Front/binary, 183:16/little, Back/binary>>),
    show(foreign, load(Foreign, 0), Folder),
    Good = copy(Here, Folder, "good"),
    [show({load, Status}, load(Good, Status), Folder) || Status <- [1, -1, 1234567]],
    show(untouched, {answer(), answer(1), hot(1)}).

catch_(Fun) -> try Fun() catch Class:Reason -> {Class, Reason} end.

%% Until this has made it so, hot/1 is compiled to machine code where that is done.
hottest(N) -> hottest(N, 0).
hottest(0, Sum) -> Sum;
hottest(N, Sum) -> hottest(N - 1, (Sum + hot(N)) band 16#ffff).

used(_, Folder) ->
    show(hot, hottest(3000000)),
    Fun = fun ?MODULE:hot/1,
    Local = fun hot/1,
    show(before, {Fun(1), Local(1)}),
    show(good, load(filename:join(Folder, "good"), 0)),
    show(again, load(filename:join(Folder, "good"), 0)),
    show(native, {hot(1), ?MODULE:hot(2), Fun(3), Local(4), apply(?MODULE, hot, [5]), catch_(fun() -> hottest(1) end)}),
    Name = list_to_atom("answer"),
    show(applied, {?MODULE:Name(), apply(?MODULE, Name, [x]), erlang:apply(fun ?MODULE:Name/1, [y])}),
    show(dirty, {dirty(1), ?MODULE:dirty(2), apply(?MODULE, dirty, [3])}),
    Self = self(),
    spawn(fun() -> Self ! {spawned, dirty(answer(hot(1)))} end),
    receive {spawned, Value} -> show(spawned, Value) end,
    show(lists, lists:map(fun ?MODULE:dirty/1, [a, b])),
    {Pid, Monitor} = spawn_monitor(?MODULE, answer, [1]),
    receive {'DOWN', Monitor, process, Pid, Reason} -> show(first_call, Reason) end,
    show(nifs, lists:sort(?MODULE:module_info(nifs))),
    show(no_nifs, ms_transform:module_info(nifs)),
    show(taints, lists:member(?MODULE, erlang:system_info(taints))),
    show(exported, [erlang:function_exported(?MODULE, answer, N) || N <- [0, 1, 2]]),
    show(built_in, erlang:is_builtin(?MODULE, answer, 1)).

upgraded(Folder) ->
    {ok, Beam} = prim_file:read_file(code:which(?MODULE)),
    {module, ?MODULE} = erlang:load_module(?MODULE, Beam),
    show(old, {answer(1), catch_(fun() -> load(filename:join(Folder, "good"), 0) end)}),
    show(new, ?MODULE:answer(1)),
    show(refused, ?MODULE:load(filename:join(Folder, "good"), 4)),
    show(still, ?MODULE:answer(1)),
    show(name, ?MODULE:load(filename:join(Folder, "name"), 0)),
    show(upgraded, ?MODULE:load(filename:join(Folder, "good"), 0)),
    show(both, {answer(1), ?MODULE:answer(2)}),
    show(nifs, lists:sort(?MODULE:module_info(nifs))).
