%% A library is unloaded: all threads that may have called it are told. See native_unload.rs.
-module(native_unload).
-export([main/1]).

-define(PLACES, 4).

main([Folder]) ->
    Report = filename:join(Folder, "report"),
    _ = prim_file:delete(Report),
    ok = native_unloaded:load(filename:join(Folder, "native_unload"), Report),
    %% Two schedulers (or threads in their place), and one thread of each kind for dirty calls.
    Calls = [fun native_unloaded:meet/1, fun native_unloaded:meet/1,
             fun native_unloaded:meet_cpu/1, fun native_unloaded:meet_io/1],
    Started = [spawn_monitor(fun() -> exit(Call(?PLACES)) end) || Call <- Calls],
    [receive {'DOWN', Monitor, process, Pid, met} -> ok end || {Pid, Monitor} <- Started],
    true = erlang:delete_module(native_unloaded),
    true = erlang:purge_module(native_unloaded),
    io:put_chars(wait(Report, 1000)),
    halt(0).

wait(Report, Left) when Left > 0 ->
    case prim_file:read_file(Report) of
        {ok, Text} -> Text;
        {error, enoent} -> timer:sleep(10), wait(Report, Left - 1)
    end.
