%% is_process_alive/1 and others see what the caller sent before.
-module(alive).
-export([main/1]).

main(_) ->
    io:format("~w~n", [lists:usort([killed(How) || _ <- lists:seq(1, 100), How <- [waits, runs, trapping]])]),
    io:format("~w~n", [[with_messages(Count) || Count <- [0, 1, 1000]]]),
    io:format("~w~n", [lists:usort([ended() || _ <- lists:seq(1, 100)])]),
    io:format("~w~n", [trapped()]),
    io:format("~w~n", [[frames(Depth) || Depth <- [0, 1, 2]]]),
    io:format("~w~n", [[calls_saved(Before) || Before <- [fun(_) -> ok end, fun(Pid) -> exit(Pid, kill) end]]]).

%% process_info shows as many frames as stack traces have, or none.
frames(Depth) ->
    Old = erlang:system_flag(backtrace_depth, Depth),
    {current_stacktrace, Frames} = process_info(self(), current_stacktrace),
    erlang:system_flag(backtrace_depth, Old),
    length(Frames).

%% As is_process_alive/1: signals that were sent before count.
calls_saved(Before) ->
    Pid = spawn(fun() -> live(waits) end),
    Before(Pid),
    Result = try process_flag(Pid, save_calls, 0) catch error:Reason -> Reason end,
    exit(Pid, kill),
    Result.

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
