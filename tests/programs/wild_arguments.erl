%% Every function of modules with built-in functions, called with arguments of every wild kind: for each function, how many calls
%% gave a result, and a hash of all results, or of class, reason and top of the trace.
-module(wild_arguments).
-export([main/1, calls/3]).

main(_) ->
    logger:set_primary_config(level, none),
    [function(M, F, A) || M <- [erlang, lists, maps, binary, ets, atomics, counters, unicode, re, os, math],
                          {F, A} <- lists:sort(M:module_info(exports)), A =< 3, not is_left_out(M, F)].

function(M, F, A) ->
    Results = calls(M, F, A),
    Good = length([ok || {_, {ok, _}} <- Results]),
    io:format("~w:~w/~w ~w of ~w, ~w~n", [M, F, A, Good, length(Results), erlang:phash2(Results)]).

%% For looking at what differs: calls(M, F, A).
calls(M, F, A) ->
    [{shown(Args), result(M, F, Args)} || Args <- arguments(A), not is_spared(M, F, Args)].

result(M, F, Args) ->
    try {ok, shown(apply(M, F, Args))}
    catch Class:Reason:Trace -> {Class, shown(Reason), top(Trace)}
    end.

top([{M, F, Given, Where} | _]) ->
    Arity = if is_list(Given) -> length(Given); true -> Given end,
    {M, F, Arity, [Info || {error_info, Info} <- Where]};
top([]) -> [].

arguments(0) -> [[]];
arguments(1) -> [[A] || A <- terms()];
arguments(2) -> [[A, B] || A <- few(), B <- few()];
arguments(3) -> [[A, B, C] || A <- fewest(), B <- fewest(), C <- fewest()].

terms() ->
    few() ++
        [255, 256, (1 bsl 59) - 1, -(1 bsl 59), -(1 bsl 59) - 1, 1 bsl 63, -(1 bsl 64), -0.0, 1.0e308, 1.0e22, '', true, infinity,
         list_to_atom(lists:duplicate(255, $x)), [1], [[[]]], [a | b], [$a, 256, 16#110000], [-1], [{1, 2, 3}], lists:seq(1, 300),
         {1}, list_to_tuple(lists:seq(1, 300)), #{}, maps:from_list([{I, I} || I <- lists:seq(1, 40)]), <<1>>, <<0:2400>>,
         <<255, 128>>, <<"a", 0:7>>, <<16#ED, 16#A0, 16#80>>, deep(1000)].

few() ->
    [0, 1, -1, 1 bsl 59, 1 bsl 70, 1.5, a, [], "abc", [1, 2 | 3], [{a, 1}], {}, {a, 1}, #{a => 1}, <<>>, <<"abc">>, <<5:3>>].

fewest() -> [0, 2, -1, 1 bsl 64, a, [], "abc", [1 | 2], {a, 1}, <<"abcd">>, <<5:3>>].

deep(0) -> [];
deep(N) -> [deep(N - 1)].

%% Calls that are left out: they would take long or much; one whose work OTP leaves to a function of another name.
is_spared(erlang, md5, [L]) -> is_list(L) andalso (catch length(L)) =:= 300;
%% In years that are long gone, OTP is a day off.
is_spared(erlang, posixtime_to_universaltime, [Seconds]) -> is_integer(Seconds) andalso Seconds < -(1 bsl 58);
is_spared(M, F, Args) ->
    Sized = [{lists, seq}, {lists, duplicate}, {binary, copy}, {erlang, 'bsl'}, {erlang, 'bsr'}, {erlang, make_tuple}],
    lists:member({M, F}, Sized) andalso lists:any(fun(A) -> is_integer(A) andalso abs(A) > 100000 end, Args).

shown(L) when is_list(L), length(L) > 0 -> [shown(X) || X <- L];
shown([A | B]) -> [shown(A) | shown(B)];
shown({re_pattern, _, _, _, _}) -> a_pattern;
shown(T) when is_tuple(T) -> list_to_tuple([shown(X) || X <- tuple_to_list(T)]);
shown(M) when is_map(M) -> {map, lists:sort([{shown(K), shown(V)} || {K, V} <- maps:to_list(M)])};
shown(X) when is_float(X) -> <<X/float>>;
shown(X) when is_function(X) -> a_fun;
shown(X) when is_reference(X) -> a_reference;
shown(X) when is_pid(X) -> a_pid;
shown(X) when is_port(X) -> a_port;
shown(X) -> X.

%% Functions that act on the machine or the process, or whose result changes.
is_left_out(_, module_info) -> true;
is_left_out(erlang, F) ->
    lists:member(F, [halt, display, display_nl, display_string, spawn, spawn_link, spawn_monitor, spawn_opt, spawn_request, exit, send,
                     send_nosuspend, '!', open_port, process_flag, system_flag, trace, trace_pattern, trace_delivered, trace_info, now,
                     timestamp, monotonic_time, system_time, unique_integer, make_ref, self, processes, ports, registered, get, put, erase,
                     get_keys, time, date, localtime, universaltime, memory, statistics, system_info, start_timer, send_after, set_cookie,
                     get_cookie, disconnect_node, monitor_node, monitor, demonitor, link, unlink, hibernate, yield, garbage_collect,
                     group_leader, register, unregister, load_module, load_nif, purge_module, delete_module, check_process_code,
                     check_old_code, finish_loading, finish_after_on_load, call_on_load_function, loaded, pre_loaded, module_loaded,
                     get_module_info, module_info, nodes, node, is_alive, setnode, dist_ctrl_get_data, dist_get_stat, dist_ctrl_put_data,
                     dist_ctrl_get_data_notification, dist_ctrl_input_handler, dist_ctrl_set_opt, dist_ctrl_get_opt, suspend_process,
                     resume_process, system_monitor, system_profile, seq_trace, seq_trace_info, seq_trace_print, port_command, port_control,
                     port_close, port_connect, port_call, port_info, port_get_data, port_set_data, process_display, process_info,
                     prepare_loading, read_timer, cancel_timer, bump_reductions, get_stacktrace, raise, nif_error, error, throw, apply,
                     fun_info, alias, unalias, spawn_request_abandon, time_offset, dt_append_vm_tag_data, dt_get_tag, dt_get_tag_data,
                     dt_prepend_vm_tag_data, dt_put_tag, dt_restore_tag, dt_spread_tag, gather_gc_info_result, exit_signal, crasher,
                     delay_trap, is_process_alive, fun_to_list, has_prepared_code_on_load, term_to_iovec, whereis,
                     gather_sched_wall_time_result, await_proc_exit, await_sched_wall_time_modifications, external_size,
                     garbage_collect_message_area, is_builtin, ref_to_list, md5_init, crc32_init]);
is_left_out(os, F) ->
    lists:member(F, [cmd, timestamp, system_time, perf_counter, getpid, set_signal, type, version, unsetenv, putenv, getenv, env,
                     find_executable, module_info]);
is_left_out(ets, F) ->
    lists:member(F, [new, all, i, module_info, file2tab, tab2file, tabfile_info, whereis, internal_delete_all, internal_request_all,
                     internal_select_delete, delete_all_objects, info, table, fun2ms, init_table]);
is_left_out(re, F) ->
    lists:member(F, [version]);
is_left_out(counters, F) ->
    lists:member(F, [new]);
is_left_out(atomics, F) ->
    lists:member(F, [new]);
is_left_out(_, _) -> false.
