%% Which messages a traced process tells of: trace_pattern(send | 'receive', ...).
-module(trace_messages).
-export([main/1, loop/0]).

main(_) ->
    P = spawn(?MODULE, loop, []),
    Q = spawn(?MODULE, loop, []),
    put(names, [{P, traced}, {Q, other}, {self(), self}]),
    1 = erlang:trace(P, true, [send, 'receive']),
    [pattern(P, Q, send, Pattern)
     || Pattern <- [false, true, [], [{[Q, '_'], [], []}], [{['_', {hello, '_'}], [], [{message, {{extra, {self}}}}]}],
                         [{['$1', '$2'], [{'==', '$2', bye}], [{message, false}]}, {'_', [], []}],
                         [{['$1', '_'], [{is_pid, '$1'}], [{message, true}]}], [{[no_list_of_this_length], [], []}], nothing, restart, 1]],
    pattern(P, Q, send, true),
    [pattern(P, Q, 'receive', Pattern)
     || Pattern <- [false, true, [{['_', '_', {to, '_', bye}], [], []}],
                         [{['$1', '_', {to, '_', '$2'}], [], [{message, {{node, '$1', '$2'}}}]}], [{['_', '_'], [], []}]]],
    pattern(P, Q, 'receive', true).

pattern(P, Q, What, Pattern) ->
    Set = try erlang:trace_pattern(What, Pattern, []) catch error:Reason -> Reason end,
    show({What, Pattern, Set, erlang:trace_info(What, match_spec)}),
    P ! {to, Q, {hello, 1}},
    P ! {to, Q, bye},
    P ! {sync, self()},
    receive synced -> ok end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    %% Whether it is sent to again before or after it has sent is up to the schedulers.
    show(lists:partition(fun(Told) -> element(3, Told) =:= 'receive' end, told())).

loop() ->
    receive
        {to, Pid, Message} -> Pid ! Message, loop();
        {sync, Pid} -> Pid ! synced, loop();
        _ -> loop()
    end.

told() ->
    receive Told when element(1, Told) =:= trace -> [Told | told()] after 0 -> [] end.

show(Term) -> io:format("~p~n", [names(Term)]).

%% Names in place of pids.
names(Term) when is_list(Term) -> [names(Part) || Part <- Term];
names(Term) when is_tuple(Term) -> list_to_tuple(names(tuple_to_list(Term)));
names(Term) -> proplists:get_value(Term, get(names), Term).
