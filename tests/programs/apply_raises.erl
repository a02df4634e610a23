%% The stack of an exception that a tail call through apply/3 raises shows the function that made the call.
-module(apply_raises).
-export([main/1, applied/3]).

main(_) ->
    Calls = [
        {exit, [foo]}, {throw, [foo]}, {error, [foo]}, {error, [foo, [a]]}, {exit, [not_a_pid, foo]}, {hd, [foo]},
        {binary_to_term, [foo]}
    ],
    [shown(Name, Arguments) || {Name, Arguments} <- Calls],
    process_flag(trap_exit, true),
    true = applied(erlang, exit, [self(), note]),
    receive {'EXIT', _, Reason} -> io:format("~p~n", [Reason]) end.

shown(Name, Arguments) ->
    try
        applied(erlang, Name, Arguments),
        io:format("returned~n")
    catch
        Class:Reason:Stack ->
            Frames = [{Module, Function} || {Module, Function, _, _} <- Stack, lists:member(Module, [?MODULE, erlang])],
            io:format("~p ~p ~p ~p~n", [Name, Class, Reason, Frames])
    end.

applied(Module, Name, Arguments) ->
    apply(Module, Name, Arguments).
