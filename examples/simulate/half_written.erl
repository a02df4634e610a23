%% Settings in a file. To save them, the program writes the file anew; if that fails half-way, the old settings are gone
%% as well: found with `--faults io`. (To write another file, and rename it, would lose none.)
-module(half_written).
-export([main/1]).

main([]) ->
    %% Runs go on side by side, and each has a file of its own.
    main(["/tmp/atoll_half_written_" ++ os:getpid()]);
main([File]) ->
    ok = again(fun() -> save(File, <<"old">>) end),
    Saved = save(File, <<"new">>),
    {ok, Content} = again(fun() -> content(File) end),
    ok = again(fun() -> file:delete(File, [raw]) end),
    io:format("~p ~p~n", [Saved, Content]),
    atoll_simulate:always(there_are_settings, Content =:= {ok, <<"old">>} orelse Content =:= {ok, <<"new">>}).

save(File, Settings) ->
    with(file:open(File, [write, raw]), fun(Device) -> file:write(Device, Settings) end).

content(File) ->
    case with(file:open(File, [read, raw, binary]), fun(Device) -> file:read(Device, 100) end) of
        {error, Reason} -> {error, Reason};
        Content -> {ok, Content}
    end.

with({ok, Device}, Do) ->
    Done = Do(Device),
    case file:close(Device) of
        ok -> Done;
        Error -> Error
    end;
with(Error, _) ->
    Error.

again(Do) ->
    case Do() of
        {error, _} -> again(Do);
        Done -> Done
    end.
