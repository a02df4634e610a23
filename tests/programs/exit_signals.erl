%% Order of signals between two processes, and what an ending process leaves behind.
-module(exit_signals).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    p([order(N) || N <- [1, 10, 100]]),
    p(message_before_exit()),
    p(link_then_message()),
    p(exit_closes_names()),
    p(unlink_then_exit()),
    p(tree(3, 3)),
    p(mass_kill(200)),
    p(exit_in_exit()),
    p(race(100)).

%% Messages and then an exit signal: all of the messages come first.
order(N) ->
    Self = self(),
    P = spawn(fun() -> process_flag(trap_exit, true), Self ! up, collect(Self, []) end),
    receive up -> ok end,
    [P ! I || I <- lists:seq(1, N)],
    exit(P, done),
    receive {collected, L} -> L =:= lists:seq(1, N) end.

collect(Master, Acc) ->
    receive
        {'EXIT', Master, done} -> Master ! {collected, lists:reverse(Acc)};
        I -> collect(Master, [I | Acc])
    end.

message_before_exit() ->
    Self = self(),
    {P, R} = spawn_monitor(fun() -> Self ! {last, words}, exit(gone) end),
    Down = receive {'DOWN', R, process, P, X} -> X end,
    {Down, receive {last, W} -> W after 0 -> none end}.

link_then_message() ->
    process_flag(trap_exit, true),
    P = spawn_link(fun() -> receive go -> exit(after_go) end end),
    P ! go,
    R = receive {'EXIT', P, X} -> X end,
    process_flag(trap_exit, false),
    R.

exit_closes_names() ->
    {P, R} = spawn_monitor(fun() -> register(short_lived, self()), exit(normal) end),
    receive {'DOWN', R, process, P, _} -> whereis(short_lived) end.

unlink_then_exit() ->
    process_flag(trap_exit, true),
    P = spawn_link(fun() -> receive go -> exit(x) end end),
    P ! go,
    until_queued(P),
    unlink(P),
    A = receive {'EXIT', P, _} -> queued after 0 -> none end,
    process_flag(trap_exit, false),
    A.

until_queued(P) ->
    {messages, L} = process_info(self(), messages),
    case lists:keymember(P, 2, L) of
        true -> ok;
        false -> receive after 1 -> until_queued(P) end
    end.

%% A tree of linked processes dies as one.
tree(Depth, Width) ->
    Self = self(),
    {Root, R} = spawn_monitor(fun() -> branch(Depth, Width, Self) end),
    Pids = [receive {pid, P} -> P end || _ <- lists:seq(1, size_of(Depth, Width))],
    exit(Root, shutdown),
    receive {'DOWN', R, _, _, Reason} -> Reason end,
    wait_dead(Pids, 1000),
    {length(Pids), Reason, [P || P <- Pids, is_process_alive(P)]}.

size_of(0, _) -> 1;
size_of(D, W) -> 1 + W * size_of(D - 1, W).

branch(Depth, Width, Master) ->
    Master ! {pid, self()},
    [spawn_link(fun() -> branch(Depth - 1, Width, Master) end) || Depth > 0, _ <- lists:seq(1, Width)],
    receive never -> ok end.

wait_dead(_, 0) -> ok;
wait_dead(Pids, N) ->
    case lists:any(fun is_process_alive/1, Pids) of
        true -> receive after 5 -> wait_dead(Pids, N - 1) end;
        false -> ok
    end.

mass_kill(N) ->
    Ps = [spawn_monitor(fun() -> receive never -> ok end end) || _ <- lists:seq(1, N)],
    [exit(P, kill) || {P, _} <- Ps],
    lists:usort([receive {'DOWN', R, process, P, X} -> X end || {P, R} <- Ps]).

exit_in_exit() ->
    {_, R} = spawn_monitor(fun() -> try exit(first) after exit(second) end end),
    receive {'DOWN', R, _, _, X} -> X end.

%% Both sides end at once; exactly one DOWN each. To link to who has ended is an error.
race(N) ->
    L = [begin
             {A, RA} = spawn_monitor(fun() -> receive {peer, B} -> link(B), exit(a) end end),
             {B, RB} = spawn_monitor(fun() -> receive {peer, A1} -> link(A1), exit(b) end end),
             A ! {peer, B}, B ! {peer, A},
             [receive {'DOWN', Ref, _, _, X} -> ended(X) end || Ref <- [RA, RB]]
         end || _ <- lists:seq(1, N)],
    lists:usort(L).

ended({noproc, [{erlang, link, [_], _} | _]}) -> true;
ended(X) -> lists:member(X, [a, b, noproc]).

p(X) -> io:format("~w~n", [X]).
