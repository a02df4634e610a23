%% Runs one suite with Common Test: `-s conformance_run start -extra FOLDER SUITE RESULTS LOGS`.
-module(conformance_run).
-export([start/0]).

start() ->
    [Folder, Suite, Results, Logs] = init:get_plain_arguments(),
    ok = filelib:ensure_dir(filename:join(Logs, "x")),
    Outcome = ct:run_test([{dir, Folder}, {suite, [list_to_atom(Suite)]}, {logdir, Logs}, {auto_compile, false},
                           {multiply_timetraps, 2}, {event_handler, {conformance_events, Results}}]),
    io:format("~0tp~n", [Outcome]),
    halt(0).
