%% spawn in all forms with all options that do not show addresses.
-module(spawn_opt).
-export([main/1, reports/2, id/1]).

main(_) ->
    quiet(),
    Self = self(),
    spawn(?MODULE, reports, [Self, 1]), p(get_report()),
    spawn(fun() -> reports(Self, 2) end), p(get_report()),
    spawn(node(), ?MODULE, reports, [Self, 3]), p(get_report()),
    spawn(node(), fun() -> reports(Self, 4) end), p(get_report()),
    P1 = spawn_opt(fun() -> receive stop -> ok end end, [{min_heap_size, 5000}, {min_bin_vheap_size, 50000}, {fullsweep_after, 3}, {priority, high}]),
    {garbage_collection, Info} = process_info(P1, garbage_collection),
    p([lists:keyfind(fullsweep_after, 1, Info), process_info(P1, priority)]),
    {min_heap_size, H} = lists:keyfind(min_heap_size, 1, Info),
    p(H >= 5000),
    P1 ! stop,
    {P2, R2} = spawn_opt(fun() -> exit(x) end, [monitor]),
    p(receive {'DOWN', R2, process, P2, X2} -> X2 end),
    {P3, R3} = spawn_opt(fun() -> exit(y) end, [{monitor, [{tag, my_tag}]}]),
    p(receive {my_tag, R3, process, P3, X3} -> X3 end),
    process_flag(trap_exit, true),
    P4 = spawn_opt(?MODULE, reports, [Self, 5], [link]),
    p(get_report()),
    p(receive {'EXIT', P4, X4} -> X4 end),
    {P5, R5} = spawn_opt(fun() -> exit(both) end, [link, monitor]),
    p(lists:sort([receive {'EXIT', P5, A} -> {exit, A}; {'DOWN', R5, _, _, B} -> {down, B} end || _ <- [1, 2]])),
    P6 = spawn_opt(fun() -> receive stop -> ok end end, [{message_queue_data, off_heap}]),
    p(process_info(P6, message_queue_data)),
    P6 ! stop,
    [p(bad(fun() -> spawn_opt(fun() -> ok end, O) end)) || O <- [[bad], [{priority, none}], [{min_heap_size, -1}], not_a_list, [link | x], [{fullsweep_after, a}]]],
    p(bad(fun() -> spawn(not_a_fun) end)),
    p(bad(fun() -> spawn(m, f, not_a_list) end)),
    p(bad(fun() -> spawn(1, f, []) end)),
    p(is_pid(spawn(no_module, f, []))),
    p(is_pid(spawn(id(fun(_) -> ok end)))),
    Req = spawn_request(fun() -> reports(Self, 6) end, [{reply_tag, spawned}]),
    p(receive {spawned, Req, ok, Q} -> is_pid(Q) end),
    p(get_report()),
    p(spawn_request_bad()),
    p(lists:sort([get_report_of(spawn_link(fun() -> reports(Self, N) end)) || N <- lists:seq(10, 20)])).

spawn_request_bad() ->
    Req = spawn_request(no_such_node@nowhere, fun() -> ok end, [{reply_tag, r}]),
    receive {r, Req, error, E} -> E after 20000 -> timeout end.

reports(To, N) -> To ! {report, N}.

get_report() -> receive {report, N} -> N after 20000 -> timeout end.

get_report_of(P) when is_pid(P) -> get_report().

bad(F) -> try F() catch C:R -> {C, R} end.

%% Nothing is printed when a process ends by an error.
quiet() ->
    logger:set_primary_config(level, none).

id(X) -> X.

p(X) -> io:format("~w~n", [X]).
