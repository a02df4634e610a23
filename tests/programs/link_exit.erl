%% Links: exit propagation, normal exits, unlink, linking to the dead, spawn_link.
-module(link_exit).
-export([main/1]).

main(_) ->
    quiet(),
    process_flag(trap_exit, true),
    P1 = spawn_link(fun() -> exit(reason1) end),
    p(wait(P1)),
    P2 = spawn_link(fun() -> ok end),
    p(wait(P2)),
    P3 = spawn(fun() -> receive stop -> exit(stopped) end end),
    link(P3),
    P3 ! stop,
    p(wait(P3)),
    p(link_dead(P3)),
    P4 = spawn_link(fun() -> receive stop -> exit(no_signal) end end),
    unlink(P4),
    P4 ! stop,
    p(receive {'EXIT', P4, _} -> signalled after 30 -> quiet end),
    p(chain(10)),
    p(normal_does_not_kill()),
    p(killed_is_passed_on()),
    P5 = spawn_link(fun() -> throw(thrown) end),
    p(strip(wait(P5))),
    P6 = spawn_link(fun() -> error(err) end),
    p(strip(wait(P6))),
    P7 = spawn_link(fun() -> link(self()), exit(self_linked) end),
    p(wait(P7)),
    p(process_info(self(), links) =:= {links, []}),
    P8 = spawn_link(fun() -> receive never -> ok end end),
    p(process_info(self(), links) =:= {links, [P8]}),
    link(P8), link(P8),
    p(process_info(self(), links) =:= {links, [P8]}),
    exit(P8, bang),
    p(wait(P8)),
    p(element(1, element(2, catch link(a)))),
    process_flag(trap_exit, false),
    p(strip_pid(catch link(P3))),
    p(process_info(self(), links)),
    Port = open_port({spawn, "cat"}, []),
    port_close(Port),
    p(strip_pid(catch link(Port))),
    p(port_ends()).

%% A port ends with whatever reason it is given, and passes it on.
port_ends() ->
    process_flag(trap_exit, true),
    Port = open_port({spawn, "cat"}, []),
    exit(Port, {any, [<<"reason">>, 1.5]}),
    wait(Port).

strip_pid({'EXIT', {noproc, [{erlang, link, [_], Info} | _]}}) -> {noproc, Info};
strip_pid(Other) -> Other.

wait(P) -> receive {'EXIT', P, R} -> R after 20000 -> timeout end.

strip({R, S}) when is_list(S) -> {R, [A || {M, _, A, _} <- S, M =:= ?MODULE]};
strip(R) -> R.

link_dead(P) ->
    true = link(P),
    wait(P).

%% Each links to the next; the last one's exit takes them all.
chain(N) ->
    Self = self(),
    First = spawn_link(fun() -> grow(N, Self) end),
    receive {top, Top} -> Top ! die end,
    {wait(First), is_process_alive(First)}.

grow(0, Master) -> Master ! {top, self()}, receive die -> exit(domino) end;
grow(N, Master) -> spawn_link(fun() -> grow(N - 1, Master) end), receive never -> ok end.

normal_does_not_kill() ->
    P = spawn(fun() -> spawn_link(fun() -> ok end), receive {ask, From} -> From ! alive end end),
    receive after 10 -> ok end,
    P ! {ask, self()},
    receive alive -> alive after 20000 -> dead end.

killed_is_passed_on() ->
    Self = self(),
    P = spawn_link(fun() -> Q = spawn_link(fun() -> receive never -> ok end end), Self ! {q, Q}, receive never -> ok end end),
    receive {q, Q} -> exit(Q, kill) end,
    wait(P).

%% Nothing is printed when a process ends by an error.
quiet() ->
    logger:set_primary_config(level, none).

p(X) -> io:format("~w~n", [X]).
