%% Counters of many writers, the time that schedulers are busy, the names of native functions, and the trace of a call of
%% what is no fun.
-module(counters_wall_time).
-export([main/1, body/2, tail/2]).

main(_) ->
    Counters = counters:new(10, [write_concurrency]),
    Count = fun() -> [counters:add(Counters, 1 + I rem 10, 3) || I <- lists:seq(1, 1000)] end,
    Workers = [spawn_monitor(Count) || _ <- lists:seq(1, 10)],
    [receive {'DOWN', Monitor, process, Pid, Reason} -> normal = Reason end || {Pid, Monitor} <- Workers],
    io:format("~p ~p~n", [[counters:get(Counters, I) || I <- lists:seq(1, 10)], maps:get(size, counters:info(Counters))]),
    counters:put(Counters, 1, -5),
    counters:sub(Counters, 1, 4),
    io:format("~p~n", [counters:get(Counters, 1)]),
    refused(fun() -> counters:get(Counters, 0) end),
    refused(fun() -> counters:get(Counters, 11) end),
    refused(fun() -> counters:put(Counters, 1, 1 bsl 63) end),
    refused(fun() -> counters:new(0, [write_concurrency]) end),
    refused(fun() -> counters:new(1 bsl 70, [write_concurrency]) end),
    refused(fun() -> atomics:get(element(2, Counters), 1) end),
    undefined = erlang:statistics(scheduler_wall_time),
    false = erlang:system_flag(scheduler_wall_time, true),
    timer:sleep(20),
    Times = erlang:statistics(scheduler_wall_time),
    true = lists:all(fun({_, Active, All}) -> Active >= 0 andalso Active =< All end, Times),
    true = lists:any(fun({_, Active, All}) -> Active < All end, Times),
    true = length(Times) >= erlang:system_info(schedulers),
    true = erlang:system_flag(scheduler_wall_time, false),
    io:format("~p~n", [erlang:statistics(scheduler_wall_time)]),
    io:format("~p ~p~n", [lists:sort(erl_tracer:module_info(nifs)), lists:module_info(nifs)]),
    [traced(Call) || Call <- [fun() -> body(length, [1]) end, fun() -> tail(length, [1]) end,
                              fun() -> tail(fun(X) -> X end, [1, 2]) end, fun() -> tail(fun main/1, [1 | 2]) end]].

refused(Call) ->
    io:format("~p~n", [try Call() catch error:Reason -> Reason end]).

body(Fun, Arguments) ->
    Result = apply(Fun, Arguments),
    {Result}.

tail(Fun, Arguments) -> apply(Fun, Arguments).

traced(Call) ->
    try Call() catch error:_:Trace -> io:format("~p~n", [[Name || {_, Name, _, _} <- lists:sublist(Trace, 3)]]) end,
    ok.
