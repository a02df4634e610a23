-module(mutants).
-export([main/1]).

%% Loads the damaged files of a folder, each named after its module, and calls what they export, each time by a process of its own
%% that is given little time and memory.
%%
%%   main([Folder])
%%
%% prints how many were loaded, and how many calls returned, raised, and took too long.

main([Folder]) ->
    logger:set_primary_config(level, none),
    {ok, Log} = file:open(filename:join(Folder, "log"), [write, raw]),
    Sink = spawn_link(fun sink/0),
    {ok, Names} = prim_file:list_dir(Folder),
    Files = lists:sort([Name || Name <- Names, filename:extension(Name) =:= ".mutant"]),
    Outcomes = lists:append([run(Folder, Name, Log, Sink) || Name <- Files]),
    Tell = fun(What) -> length([What || Outcome <- Outcomes, Outcome =:= What]) end,
    io:format("~w files, ~w loaded, ~w returned, ~w raised, ~w stopped~n",
              [length(Files) | [Tell(What) || What <- [loaded, returned, raised, stopped]]]).

%% NUMBER-MODULE.mutant
run(Folder, Name, Log, Sink) ->
    [_, Text] = string:split(filename:rootname(Name), "-"),
    Module = list_to_atom(Text),
    {ok, Binary} = prim_file:read_file(filename:join(Folder, Name)),
    file:write(Log, [Name, $\n]),
    case load(Module, Name, Binary) of
        {module, Module} ->
            Outcomes = [call(Module, Function, Arguments, Sink)
                        || {Function, Arity} <- exports(Module), Arity < 4, Arguments <- arguments(Arity)],
            code:delete(Module),
            code:purge(Module),
            [loaded | Outcomes];
        _ -> [refused]
    end.

%% Literals may be damaged so that they are no terms.
load(Module, Name, Binary) ->
    try code:load_binary(Module, Name, Binary) catch _:_ -> error end.

%% `module_info` may be damaged too: it may raise, return anything, or never return.
exports(Module) ->
    Ask = fun() ->
                  Exports = Module:module_info(exports),
                  exit({exports, lists:sort([{Function, Arity} || {Function, Arity} <- Exports, is_integer(Arity)])})
          end,
    {Pid, Monitor} = spawn_opt(Ask, [monitor, {max_heap_size, 500000}]),
    receive
        {'DOWN', Monitor, process, Pid, {exports, Exports}} -> Exports;
        {'DOWN', Monitor, process, Pid, _} -> [{main, 1}]
    after 100 ->
        exit(Pid, kill),
        receive {'DOWN', Monitor, process, Pid, _} -> [{main, 1}] end
    end.

call(Module, Function, Arguments, Sink) ->
    Run = fun() ->
                  group_leader(Sink, self()),
                  Result = (catch {returned, apply(Module, Function, Arguments)}),
                  erlang:garbage_collect(),
                  erlang:phash2(Result),
                  erlang:garbage_collect(),
                  exit(case Result of {returned, _} -> returned; _ -> raised end)
          end,
    {Pid, Monitor} = spawn_opt(Run, [monitor, {max_heap_size, 500000}]),
    receive
        {'DOWN', Monitor, process, Pid, returned} -> returned;
        {'DOWN', Monitor, process, Pid, killed} -> stopped;
        {'DOWN', Monitor, process, Pid, _} -> raised
    after 100 ->
        exit(Pid, kill),
        receive {'DOWN', Monitor, process, Pid, _} -> stopped end
    end.

arguments(Arity) -> [lists:duplicate(Arity, Value) || Value <- [[], 7, {a, [1]}, <<"bits">>, #{k => v}]].

%% Takes what would be written to a terminal.
sink() ->
    receive
        {io_request, From, Reference, _} -> From ! {io_reply, Reference, ok};
        _ -> ok
    end,
    sink().
