%% process_info items whose values do not depend on the memory system.
-module(process_info).
-export([main/1, waits/1]).

main(_) ->
    P = spawn(?MODULE, waits, [self()]),
    receive ready -> ok end,
    receive after 5 -> ok end,
    [p(process_info(P, I)) || I <- [status, message_queue_len, messages, trap_exit, priority, initial_call, current_function, error_handler,
                                    registered_name, links, monitors, monitored_by, dictionary, suspending, catchlevel, message_queue_data]],
    P ! {a, "message"}, P ! 2,
    p(process_info(P, [messages, message_queue_len, trap_exit])),
    {current_stacktrace, [{M, F, A, _} | _]} = process_info(P, current_stacktrace),
    p({M, F, A}),
    {group_leader, GL} = process_info(P, group_leader),
    p(GL =:= group_leader()),
    [begin {I, V} = process_info(P, I), p({I, is_integer(V), V >= 0}) end
     || I <- [heap_size, total_heap_size, stack_size, memory, reductions, min_heap_size]],
    {garbage_collection, G} = process_info(P, garbage_collection),
    p(lists:sort([K || {K, _} <- G])),
    p(lists:sort([K || {K, _} <- process_info(self())])),
    p(process_info(self(), status)),
    p(process_info(self(), current_function)),
    {reductions, R1} = process_info(self(), reductions),
    lists:foldl(fun(X, S) -> X + S end, 0, lists:seq(1, 100000)),
    {reductions, R2} = process_info(self(), reductions),
    p(R2 - R1 > 50000),
    p([bad(fun() -> process_info(P, no_item) end), bad(fun() -> process_info(a) end), bad(fun() -> process_info(P, [status, bad]) end)]),
    p(process_info(P, [])),
    p(lists:member(P, processes())),
    p('it\'s a name'()),
    R = monitor(process, P),
    exit(P, kill),
    receive {'DOWN', R, _, _, _} -> ok end,
    p(process_info(P)),
    p(process_info(P, status)),
    p(is_process_alive(P)),
    p(lists:member(P, processes())).

%% Names in a backtrace are quoted as atoms are.
'it\'s a name'() ->
    {backtrace, Text} = process_info(self(), backtrace),
    {match, Names} = re:run(Text, "\\(process_info:(.*)/[0-9]+", [global, {capture, all_but_first, list}]),
    lists:usort(Names).

waits(To) ->
    put(key, value),
    To ! ready,
    wait().

wait() -> receive never -> ok end.

bad(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).
