%% Runs in one machine while the same program runs in another one in the same process of the operating system, under
%% another name. Everything that a program gives a name to has the same name in both.
-module(two_machines).
-export([main/1]).

-define(WORKERS, 8).

main([Own, Other, Folder, Rounds, Heap, Status]) ->
    Heap = atom_to_list(erlang:system_info(heap_type)),
    2 = erlang:system_info(schedulers),
    Own = two_machines_side:name(),
    undefined = whereis(side),
    true = register(side, self()),
    side = ets:new(side, [named_table, public, {write_concurrency, true}]),
    persistent_term:put(side, {Own, lists:seq(1, 50)}),
    meet(Own, Other, Folder),
    Self = self(),
    Workers = [spawn_link(fun() -> work(Self, Number, Own, list_to_integer(Rounds)) end)
               || Number <- lists:seq(1, ?WORKERS)],
    [receive {Worker, done} -> ok end || Worker <- Workers],
    ?WORKERS = ets:info(side, size),
    Own = two_machines_side:name(),
    halt(list_to_integer(Status)).

%% Goes on when the other machine has come here too.
meet(Own, Other, Folder) ->
    {ok, File} = prim_file:open(Folder ++ "/" ++ Own, [write]),
    ok = prim_file:close(File),
    await(Folder ++ "/" ++ Other).

await(Name) ->
    case prim_file:read_file_info(Name) of
        {ok, _} -> ok;
        {error, enoent} -> receive after 1 -> await(Name) end
    end.

work(Parent, _, _, 0) ->
    Parent ! {self(), done};
work(Parent, Number, Own, Rounds) ->
    Term = {Own, Rounds, [{Own, Index} || Index <- lists:seq(1, Number)], binary:copy(list_to_binary(Own), 100)},
    true = ets:insert(side, {Number, Term}),
    [{Number, Term}] = ets:lookup(side, Number),
    {Own, [1 | _]} = persistent_term:get(side),
    Parent = whereis(side),
    Echo = spawn(fun() -> receive {From, Message} -> From ! {self(), Message} end end),
    Echo ! {self(), Term},
    receive {Echo, Term} -> ok end,
    work(Parent, Number, Own, Rounds - 1).
