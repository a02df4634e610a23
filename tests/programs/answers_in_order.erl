%% What is asked of other processes is done when the call returns; errors leave mailbox and stack traces as they should be.
-module(answers_in_order).
-export([main/1]).

main(_) ->
    io:format("~p~n", [bad_timeouts()]),
    io:format("~p~n", [catch_reason(fun() -> erlang:hibernate(x, y, lists:duplicate(5122, z)) end)]),
    io:format("~p~n", [catch_reason(fun() -> erlang:hibernate(x, y, z) end)]),
    io:format("~p~n", [[depth(Depth) || Depth <- [0, 1, 2, 4]]]),
    io:format("~p~n", [leaders()]),
    io:format("~p~n", [of_other_creation()]).

%% A receive whose time is none looks at the first message again afterwards.
bad_timeouts() ->
    [bad_timeout(Time) || Time <- [no_time, -1, 1.5, 1 bsl 40]].

bad_timeout(Time) ->
    self() ! first,
    Reason = catch_reason(fun() -> receive never -> ok after Time -> ok end end),
    receive first -> Reason after 10000 -> lost end.

catch_reason(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

depth(Depth) ->
    Old = erlang:system_flag(backtrace_depth, Depth),
    Trace = try deep(20) catch error:deep:Stack -> Stack after erlang:system_flag(backtrace_depth, Old) end,
    length(Trace) =:= max(1, min(Depth, length(Trace))).

deep(0) -> error(deep);
deep(N) when N rem 2 =:= 0 -> [N | deep(N - 1)];
deep(N) -> {N, other(N - 1)}.

other(N) -> [deep(N)].

leaders() ->
    Old = group_leader(),
    New = spawn(fun() -> receive stop -> ok end end),
    Pid = spawn(fun() -> receive stop -> ok end end),
    true = group_leader(New, Pid),
    {group_leader, Found} = process_info(Pid, group_leader),
    true = group_leader(Old, Pid),
    exit(Pid, kill),
    {Found =:= New, catch_reason(fun() -> group_leader(New, Pid) end)}.

%% A pid of this node, of another run of it, is of nobody.
of_other_creation() ->
    Parts = lists:reverse(binary_to_list(term_to_binary(self()))),
    [Last | Others] = Parts,
    Pid = binary_to_term(list_to_binary(lists:reverse([Last + 1 | Others]))),
    Reference = erlang:monitor(process, Pid),
    receive {'DOWN', Reference, process, Pid, Reason} -> Reason after 10000 -> nothing end.
