%% Monitors: reasons, noproc, demonitor with flush and info, names, tags, many at once.
-module(monitor_process).
-export([main/1]).

main(_) ->
    quiet(),
    [p({R, down_of(fun() -> exit(R) end)}) || R <- [normal, shutdown, {a, [1, 2]}, killed]],
    p(down_of(fun() -> ok end)),
    {bad, Stack} = down_of(fun() -> error(bad) end),
    p(is_list(Stack)),
    Dead = spawn(fun() -> ok end),
    receive after 10 -> ok end,
    Ref = monitor(process, Dead),
    p(receive {'DOWN', Ref, process, Dead, R1} -> R1 end),
    P1 = spawn(fun() -> receive stop -> ok end end),
    R2 = monitor(process, P1),
    p(demonitor(R2)),
    P1 ! stop,
    p(receive {'DOWN', R2, _, _, _} -> down after 20 -> quiet end),
    P2 = spawn(fun() -> ok end),
    R3 = monitor(process, P2),
    receive after 10 -> ok end,
    p(demonitor(R3, [flush])),
    p(receive {'DOWN', R3, _, _, _} -> down after 0 -> flushed end),
    p(demonitor(R3, [info])),
    P3 = spawn(fun() -> receive stop -> ok end end),
    R4 = monitor(process, P3),
    p(demonitor(R4, [info, flush])),
    register(monitored_name, P3),
    R5 = monitor(process, monitored_name),
    R6 = monitor(process, {monitored_name, node()}),
    P3 ! stop,
    p(receive {'DOWN', R5, process, What, Why} -> {What, Why} end),
    p(receive {'DOWN', R6, process, What6, Why6} -> {What6, Why6} end),
    R7 = monitor(process, no_such_name),
    p(receive {'DOWN', R7, process, What7, Why7} -> {What7, Why7} end),
    P4 = spawn(fun() -> receive stop -> exit(many) end end),
    Refs = [monitor(process, P4) || _ <- lists:seq(1, 50)],
    {monitors, Ms} = process_info(self(), monitors),
    p(length(Ms)),
    {monitored_by, By} = process_info(P4, monitored_by),
    p({length(By), lists:usort(By) =:= [self()]}),
    P4 ! stop,
    p(lists:usort([receive {'DOWN', R, process, P4, many} -> ok end || R <- Refs])),
    p(process_info(self(), monitors)),
    P8 = spawn(fun() -> receive stop -> exit(tagged) end end),
    R8 = monitor(process, P8, [{tag, {my, tag}}]),
    P8 ! stop,
    p(receive {{my, tag}, R8, process, _, X8} -> X8 end),
    p(demonitor(make_ref())),
    p([is_badarg(F) || F <- [fun() -> monitor(process, 1) end, fun() -> monitor(foo, self()) end, fun() -> demonitor(a) end,
                             fun() -> demonitor(R8, [bad]) end]]),
    R9 = monitor(process, self()),
    p(is_reference(R9)),
    p(process_info(self(), monitors)),
    {P10, R10} = spawn_monitor(fun() -> receive after infinity -> ok end end),
    exit(P10, kill),
    p(receive {'DOWN', R10, process, P10, X10} -> X10 end).

down_of(F) ->
    {P, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, P, R} -> R end.

is_badarg(F) -> try F() catch error:badarg -> badarg end.

%% Nothing is printed when a process ends by an error.
quiet() ->
    logger:set_primary_config(level, none).

p(X) -> io:format("~w~n", [X]).
