%% is_process_alive/1 sees what the caller sent before, and does not wait for a process that has nothing but messages.
-module(alive).
-export([main/1]).

main(_) ->
    io:format("~w~n", [lists:usort([killed(How) || _ <- lists:seq(1, 100), How <- [waits, runs, trapping]])]),
    io:format("~w~n", [[with_messages(Count) || Count <- [0, 1, 1000]]]),
    io:format("~w~n", [lists:usort([ended() || _ <- lists:seq(1, 100)])]),
    io:format("~w~n", [trapped()]),
    io:format("~w~n", [not_waited_for()]).

killed(How) ->
    Pid = spawn(fun() -> live(How) end),
    true = is_process_alive(Pid),
    exit(Pid, kill),
    is_process_alive(Pid).

live(waits) -> receive never -> ok end;
live(runs) -> live(runs);
live(trapping) -> process_flag(trap_exit, true), live(waits).

with_messages(Count) ->
    Pid = spawn(fun() -> live(waits) end),
    [Pid ! Number || Number <- lists:seq(1, Count)],
    Before = is_process_alive(Pid),
    exit(Pid, normal),
    Normal = is_process_alive(Pid),
    exit(Pid, shutdown),
    {Before, Normal, is_process_alive(Pid)}.

ended() ->
    {Pid, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, _, _, normal} -> is_process_alive(Pid) end.

trapped() ->
    Self = self(),
    Pid = spawn(fun() ->
        process_flag(trap_exit, true),
        Self ! ready,
        receive {'EXIT', Self, Reason} -> Self ! Reason end,
        live(waits)
    end),
    receive ready -> ok end,
    exit(Pid, shutdown),
    First = is_process_alive(Pid),
    {First, receive shutdown -> is_process_alive(Pid) end}.

%% On one scheduler a process of a lower priority does not run while this one asks for it.
not_waited_for() ->
    Steps = counters:new(1, []),
    Pid = spawn_link(fun() -> step(Steps) end),
    [Pid ! Number || Number <- lists:seq(1, 10)],
    process_flag(priority, high),
    Before = counters:get(Steps, 1),
    true = lists:all(fun(_) -> is_process_alive(Pid) end, lists:seq(1, 2000)),
    Ran = counters:get(Steps, 1) - Before,
    process_flag(priority, normal),
    unlink(Pid),
    exit(Pid, kill),
    case erlang:system_info(schedulers) of
        1 when Ran > 0 -> {waited_for, Ran};
        _ -> not_waited_for
    end.

step(Steps) -> counters:add(Steps, 1, 1), step(Steps).
