%% Processes whose stacks were deep and are shallow purge modules, for which the world stops, while others collect
%% everything: the stack of one that waits for the stopped world stays where it is.
-module(stopped_stacks).
-export([main/1]).

main(_) ->
    Purgers = [spawn_monitor(fun() -> purges(module(Name), 30) end) || Name <- [stopped_a, stopped_b, stopped_c]],
    Collectors = [spawn_monitor(fun() -> collects() end) || _ <- [1, 2]],
    [receive {'DOWN', M, process, P, Reason} -> io:format("~p~n", [Reason]) end || {P, M} <- Purgers],
    [begin exit(P, kill), receive {'DOWN', M, process, P, Reason} -> io:format("~p~n", [Reason]) end end || {P, M} <- Collectors].

%% A module with one function, assembled: the compiler would take most of the time.
module(Name) ->
    One = [{label, 1}, {func_info, {atom, Name}, {atom, one}, 0}, {label, 2}, {move, {integer, 1}, {x, 0}}, return],
    {ok, Code} = beam_asm:module({Name, [{one, 0}], [], [{function, one, 0, 2, One}], 3}, [], [], []),
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
