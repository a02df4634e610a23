%% Returns and exceptions that are told of all calls of a function; a process that is its own tracer.
-module(trace_meta).
-export([main/1, outer/1, inner/1, fails/1, tail/1]).

main(_) ->
    Tracer = spawn(fun() -> collect([]) end),
    put(names, [{self(), self}, {Tracer, tracer}]),
    Meta = [{meta, Tracer}],
    1 = erlang:trace_pattern({?MODULE, outer, 1}, [{'_', [], [{return_trace}]}], Meta),
    1 = erlang:trace_pattern({?MODULE, inner, 1}, [{[1], [], [{exception_trace}, {message, {{one, {self}}}}]}, {'_', [], []}], Meta),
    1 = erlang:trace_pattern({?MODULE, fails, 1}, [{'_', [], [{exception_trace}]}], Meta),
    1 = erlang:trace_pattern({?MODULE, tail, 1}, [{'_', [], [{message, false}, {return_trace}]}], Meta),
    show([outer(1), outer(2), catch outer(fails), (catch outer(exits)), tail(3)]),
    show([begin trace_ts = element(1, Told), {_, _, _} = element(tuple_size(Told), Told), erlang:delete_element(tuple_size(Told), Told) end
          || Told <- ask(Tracer)]),
    [1 = erlang:trace_pattern({?MODULE, Name, 1}, false, [meta]) || Name <- [outer, inner, fails, tail]],
    outer(1),
    show(ask(Tracer)),
    itself().

itself() ->
    show(erlang:trace(self(), true, [call, 'receive', send, procs])),
    show([erlang:trace_info(self(), tracer), lists:member(call, element(2, erlang:trace_info(self(), flags)))]),
    erlang:trace_pattern({?MODULE, '_', '_'}, true, [local]),
    outer(1),
    self() ! something,
    receive something -> ok end,
    garbage_collect(),
    show(erlang:trace(self(), false, [all])),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    show([erlang:trace_info(self(), flags), receive Any -> Any after 0 -> nothing end]).

outer(X) -> [inner(X)].

inner(fails) -> {fails(1)};
inner(exits) -> {fails(exits)};
inner(X) -> {X}.

fails(exits) -> exit(leaving);
fails(X) -> error({failed, X}).

tail(0) -> done;
tail(N) -> tail(N - 1).

collect(Told) ->
    receive
        {ask, From} -> From ! {told, lists:reverse(Told)}, collect([]);
        What -> collect([What | Told])
    end.

ask(Tracer) ->
    Tracer ! {ask, self()},
    receive {told, Told} -> Told end.

show(Term) -> io:format("~p~n", [names(Term)]).

%% Names in place of pids; of a crash without its places.
names({'EXIT', {Reason, Stack}}) when is_list(Stack) -> {'EXIT', Reason};
names(Term) when is_list(Term) -> [names(Part) || Part <- Term];
names(Term) when is_tuple(Term) -> list_to_tuple(names(tuple_to_list(Term)));
names(Term) -> proplists:get_value(Term, get(names), Term).
