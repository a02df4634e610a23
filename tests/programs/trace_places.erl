%% Stack traces that are taken again and again say where the present code stands, also when a module is loaded, purged
%% and loaded again, and code comes to stand where other code was.
-module(trace_places).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[erlang:system_flag(backtrace_depth, Depth) || Depth <- [1 bsl 40, 1, 8]]]),
    Versions = list_to_tuple([version(N) || N <- lists:seq(1, 5)]),
    io:format("~p~n", [lists:usort([reloaded(element(1 + N rem 5, Versions)) || N <- lists:seq(1, 400)])]),
    io:format("~p~n", [lists:usort([within(N) || N <- lists:seq(1, 5000)])]).

%% Each version has its function at another line, under another name of the same length.
version(N) ->
    Name = list_to_atom("failing" ++ integer_to_list(N)),
    Module = trace_places_made,
    Forms = [{attribute, 1, file, {"made.erl", 1}}, {attribute, 1, module, Module}, {attribute, 2, export, [{run, 1}]},
             {function, 3, run, 1, [{clause, 3, [{var, 3, 'X'}], [], [{tuple, 3, [{call, 3, {atom, 3, Name}, [{var, 3, 'X'}]}]}]}]},
             {function, 10 + N, Name, 1,
              [{clause, 10 + N, [{var, 10 + N, 'X'}], [],
                [{tuple, 10 + N, [{call, 10 + N, {remote, 10 + N, {atom, 10 + N, erlang}, {atom, 10 + N, error}},
                                   [{var, 10 + N, 'X'}]}]}]}]}],
    {ok, Module, Beam} = compile:forms(Forms, []),
    {N, Beam}.

reloaded({N, Beam}) ->
    Module = trace_places_made,
    {module, Module} = code:load_binary(Module, "made.erl", Beam),
    Traces = lists:usort([trace(Module, X) || X <- lists:seq(1, 3)]),
    true = code:delete(Module),
    _ = code:purge(Module),
    {N, Traces}.

trace(Module, X) ->
    try Module:run(X)
    catch error:X:Stack -> [{F, A, proplists:get_value(line, L)} || {M, F, A, L} <- Stack, M =:= Module]
    end.

%% The same function fails at two lines, while it gets native code.
within(N) ->
    try fail(N)
    catch error:_:Stack ->
        {_, F, _, L} = hd([Place || {?MODULE, _, _, _} = Place <- Stack]),
        {F, proplists:get_value(line, L) - base()}
    end.

base() ->
    try id(base) + 1
    catch error:_:Stack ->
        {_, _, _, L} = hd([Place || {?MODULE, _, _, _} = Place <- Stack]),
        proplists:get_value(line, L)
    end.

fail(N) when N rem 2 =:= 0 ->
    [error(even)];
fail(_) ->
    [id(x) + 1].

id(X) -> X.
