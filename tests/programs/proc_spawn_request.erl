%% spawn_request, monitors with tags and aliases, made with the process or after it.
-module(proc_spawn_request).
-export([main/1, loop/0]).

main(_) ->
    R = spawn_request(fun() -> exit(hello) end, [monitor, {reply_tag, {my, tag}}]),
    P = receive {{my, tag}, R, ok, Pid} when is_pid(Pid) -> Pid after 20000 -> none end,
    p(receive {'DOWN', R, process, P, Why} -> Why after 20000 -> none end),
    R2 = spawn_request(?MODULE, loop, [], [{reply, no}]),
    p(is_reference(R2)),
    p(nothing()),
    R3 = spawn_request(?MODULE, loop, [], [foo]),
    p(receive {spawn_reply, R3, error, X3} -> X3 after 100 -> none end),
    [p(bad_options(Options)) || Options <- [
        [foo, {reply_tag, t}], [{reply_tag, t}, foo, {reply_tag, u}], [foo, {reply, no}], [{reply, success_only}, foo],
        [foo, {reply, error_only}], [{reply, foo}, {reply_tag, t}], [{priority, foo}, {reply_tag, t}], [{reply_tag, t} | foo]
    ]],
    R4 = spawn_request('no@such', ?MODULE, loop, [], []),
    p(receive {spawn_reply, R4, error, X4} -> X4 after 100 -> none end),
    R5 = spawn_request('no@such', ?MODULE, loop, [], [{reply, success_only}]),
    p({is_reference(R5), nothing()}),
    p(spawn_request_abandon(R)),
    Foreign = binary_to_term(<<131, 90, 3:16, 119, 3, "x@y", 1:32, 1:32, 2:32, 3:32>>),
    p({is_reference(Foreign), spawn_request_abandon(Foreign)}),
    p(try spawn_request_abandon(foo) catch C:E -> {C, E} end),
    {P6, M6} = spawn_opt(?MODULE, loop, [], [{monitor, [{tag, {x, "y", make_list(50)}}]}]),
    P6 ! stop,
    p(receive {{x, "y", L}, M6, process, P6, W6} -> {length(L), W6} after 20000 -> none end),
    {P7, M7} = spawn_opt(fun() -> receive {A, m} -> A ! reply, A ! late end end, [{monitor, [{alias, reply_demonitor}]}]),
    P7 ! {M7, m},
    p(receive reply -> got after 20000 -> none end),
    p(nothing()),
    P8 = spawn(?MODULE, loop, []),
    M8 = monitor(process, P8, [{tag, [tagged]}, {alias, demonitor}]),
    M8 ! through_alias,
    p(receive through_alias -> ok after 100 -> none end),
    erlang:garbage_collect(),
    P8 ! stop,
    p(receive {[tagged], M8, process, P8, W8} -> W8 after 20000 -> none end),
    M8 ! too_late,
    p(nothing()),
    P9 = spawn(?MODULE, loop, []),
    M9 = monitor(process, P9, [{tag, never}]),
    p(demonitor(M9, [flush, info])),
    P9 ! stop,
    p(nothing()),
    p(try monitor(process, {some_name, 'no@such'}) catch C1:E1 -> {C1, E1} end),
    M11 = monitor(process, not_registered),
    p(receive {'DOWN', M11, process, {not_registered, Node}, W11} -> {Node =:= node(), W11} after 20000 -> none end).

make_list(N) -> lists:seq(1, N).

nothing() -> receive X -> X after 30 -> nothing end.

loop() -> receive stop -> exit(stopped) end.

p(X) -> io:format("~w~n", [X]).

%% How the caller is told does not depend on where the bad option stands.
bad_options(Options) ->
    try spawn_request(?MODULE, loop, [], Options) of
        Request -> receive {Tag, Request, error, What} -> {Tag, What} after 100 -> none end
    catch
        Class:Reason -> {Class, Reason}
    end.
