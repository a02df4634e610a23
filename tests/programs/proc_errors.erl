%% Errors of the functions that concern processes: class, reason, function, and the cause that libraries explain.
-module(proc_errors).
-export([main/1, loop/0]).

main(_) ->
    Gone = spawn(fun() -> ok end),
    receive after 20 -> ok end,
    Ref = make_ref(),
    [t(fun() -> spawn_opt(?MODULE, loop, [], Options) end)
     || Options <- [[{priority, foo}], [foo], foo, [{min_heap_size, -1}], [{fullsweep_after, a}], [{message_queue_data, x}],
                    [{max_heap_size, 10}], [{monitor, [foo]}]]],
    t(fun() -> spawn(id(1), 2, 3) end),
    t(fun() -> spawn_link(a, b, id(c)) end),
    t(fun() -> spawn_monitor(id(a)) end),
    t(fun() -> spawn_monitor(a, b, c) end),
    t(fun() -> link(id(a)) end),
    t(fun() -> unlink(id(a)) end),
    t(fun() -> monitor(id(a), b) end),
    t(fun() -> monitor(process, id(1)) end),
    t(fun() -> monitor(process, Gone, [foo]) end),
    t(fun() -> demonitor(id(a)) end),
    t(fun() -> demonitor(Ref, [a]) end),
    t(fun() -> demonitor(Ref, [info]) end),
    t(fun() -> exit(id(a), b) end),
    t(fun() -> register(a, b) end),
    t(fun() -> register(undefined, self()) end),
    t(fun() -> register(xx, self()), register(xx, self()) end),
    t(fun() -> register(yy, self()) end),
    t(fun() -> register(dd, Gone) end),
    t(fun() -> unregister(zz) end),
    t(fun() -> unregister(xx) end),
    t(fun() -> whereis(id(1)) end),
    t(fun() -> group_leader(a, b) end),
    t(fun() -> group_leader(self(), b) end),
    t(fun() -> apply(a, b, id(c)) end),
    t(fun() -> apply(id(fun() -> ok end), [1]) end),
    t(fun() -> apply(id(3), []) end),
    t(fun() -> erlang:hibernate(a, b, c) end),
    t(fun() -> erlang:bump_reductions(-1) end),
    t(fun() -> is_process_alive(id(1)) end),
    t(fun() -> is_process_alive(Gone) end),
    t(fun() -> alias([foo]) end),
    t(fun() -> unalias(id(x)) end),
    t(fun() -> unalias(Ref) end),
    t(fun() -> erlang:send_after(a, self(), x) end),
    t(fun() -> erlang:send_after(-1, self(), x) end),
    t(fun() -> erlang:send_after(1, self(), x, [foo]) end),
    t(fun() -> erlang:start_timer(1, 2, x) end),
    t(fun() -> erlang:cancel_timer(x) end),
    t(fun() -> erlang:cancel_timer(Ref, [x]) end),
    t(fun() -> erlang:read_timer(x) end),
    t(fun() -> erlang:send(nosuch, x) end),
    t(fun() -> nosuch ! x end),
    t(fun() -> erlang:send(self(), x, [foo]) end),
    t(fun() -> erlang:send(self(), x, [noconnect]) end),
    t(fun() -> erlang:send({a, 'b@c'}, x, [noconnect]) end),
    t(fun() -> erlang:send({a, node()}, x) end),
    t(fun() -> process_info(self(), foo) end),
    t(fun() -> process_info(a, links) end),
    t(fun() -> process_info(Gone) end),
    t(fun() -> process_info(Gone, [links]) end),
    [t(fun() -> process_flag(Flag, Value) end)
     || {Flag, Value} <- [{trap_exit, foo}, {min_heap_size, foo}, {fullsweep_after, -3}, {max_heap_size, 100},
                          {message_queue_data, o}, {foo, bar}, {priority, foo}, {save_calls, -1}, {error_handler, 1}]],
    t(fun() -> erlang:raise(a, b, c) end),
    t(fun() -> erlang:error(a, [b, c]) end),
    t(fun() -> erlang:error(a, none, [{error_info, #{}}]) end),
    t(fun() -> erlang:error(a, [x], [foo]) end),
    t(fun() -> erlang:system_time(foo) end),
    t(fun() -> erlang:monotonic_time(0) end),
    t(fun() -> erlang:unique_integer([foo]) end),
    t(fun() -> erlang:universaltime_to_localtime(x) end),
    t(fun() -> os:getenv(a) end),
    t(fun() -> erlang:system_info(foo) end),
    t(fun() -> erlang:system_flag(foo, 1) end),
    t(fun() -> erlang:statistics(foo) end),
    t(fun() -> erlang:function_exported(a, b, id(c)) end),
    t(fun() -> erlang:module_loaded(id(1)) end),
    t(fun() -> erlang:get_module_info(foo) end),
    t(fun() -> erlang:get_module_info(lists, foo) end),
    t(fun() -> erlang:suspend_process(self()) end),
    t(fun() -> erlang:resume_process(self()) end),
    t(fun() -> nodes(foo) end),
    t(fun() -> erlang:halt(foo) end),
    t(fun() -> erlang:halt(-1) end),
    t(fun() -> erlang:halt(1, [foo]) end),
    t(fun() -> exit(self(), normal) end).

loop() -> receive stop -> ok end.

id(X) -> X.

%% In a process of its own, which an exit signal may end.
t(F) ->
    {P, R} = spawn_monitor(fun() -> exit({result, attempt(F)}) end),
    receive {'DOWN', R, _, P, Reason} -> io:format("~w~n", [Reason]) end.

attempt(F) ->
    try F() of
        X when is_pid(X) -> pid;
        X -> X
    catch
        C:E:Stack -> {C, E, top(Stack)}
    end.

top([{M, N, A, Info} | _]) when is_list(A) -> {M, N, length(A), cause(Info)};
top([{?MODULE, _, A, Info} | _]) -> {A, cause(Info)};
top([{M, N, A, Info} | _]) -> {M, N, A, cause(Info)};
top([]) -> none.

cause(Info) -> maps:get(cause, proplists:get_value(error_info, Info, #{}), no_cause).
