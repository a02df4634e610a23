%% differential: stress=100
%% A process which grows over max_heap_size is killed, or is not.
-module(max_heap_size).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    Quiet = #{size => 100000, kill => true, error_logger => false},
    p(run([{max_heap_size, Quiet}], 1000)),
    p(run([{max_heap_size, Quiet}], 1000000)),
    p(run([{max_heap_size, Quiet#{kill => false}}], 200000)),
    p(run([{max_heap_size, 0}], 200000)),
    p(run([], 200000)),
    {P, R} = spawn_monitor(fun() -> process_flag(trap_exit, true), process_flag(max_heap_size, Quiet), grow(1000000), exit(survived) end),
    p(receive {'DOWN', R, _, P, X} -> X end),
    p(lists:sort(maps:to_list(maps:remove(include_shared_binaries, process_flag(max_heap_size, Quiet#{size => 10000000}))))),
    p(element(2, process_info(self(), max_heap_size)) =:= process_flag(max_heap_size, 0)),
    p([try process_flag(max_heap_size, V) catch C:E -> {C, E} end || V <- [-1, a, #{size => a}, #{kill => true}]]),
    p(lists:sort(maps:to_list(spawn_default()))).

spawn_default() ->
    P = spawn(fun() -> receive stop -> ok end end),
    {max_heap_size, M} = process_info(P, max_heap_size),
    P ! stop,
    maps:with([size, kill, error_logger], M).

run(Options, N) ->
    {P, R} = spawn_opt(fun() -> exit(grow(N)) end, [monitor | Options]),
    receive {'DOWN', R, process, P, Reason} -> Reason end.

grow(N) -> length(lists:seq(1, N)).

p(X) -> io:format("~w~n", [X]).
