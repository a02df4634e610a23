%% Processes whose stacks were deep and are shallow purge modules, for which the world stops, while others collect
%% everything: the stack of one that waits for the stopped world stays where it is.
-module(stopped_stacks).
-export([main/1]).

main(_) ->
    Purgers = [spawn_monitor(fun() -> purges(module(Name), 30) end) || Name <- [stopped_a, stopped_b, stopped_c]],
    Collectors = [spawn_monitor(fun() -> collects() end) || _ <- [1, 2]],
    [receive {'DOWN', M, process, P, Reason} -> io:format("~p~n", [Reason]) end || {P, M} <- Purgers],
    [begin exit(P, kill), receive {'DOWN', M, process, P, Reason} -> io:format("~p~n", [Reason]) end end || {P, M} <- Collectors].

module(Name) ->
    Forms = [{attribute, 1, module, Name}, {attribute, 2, export, [{one, 0}]}, {function, 3, one, 0, [{clause, 3, [], [], [{integer, 3, 1}]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {Name, Code}.

purges(_, 0) -> ok;
purges(Module, N) ->
    2000 = deep(2000),
    true = purged(Module),
    purges(Module, N - 1).

%% What lies on the stack is used after the call.
purged({Name, Code}) ->
    Kept = [Name, {Code}],
    {module, Name} = erlang:load_module(Name, Code),
    true = erlang:delete_module(Name),
    true = erlang:purge_module(Name),
    Kept =:= [Name, {Code}].

collects() ->
    erlang:garbage_collect(),
    collects().

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).
