%% receive ... after with 0, short, computed and infinite times.
-module(receive_timeout).
-export([main/1, id/1]).

main(_) ->
    p(receive X -> X after 0 -> empty end),
    p(receive after 1 -> slept end),
    self() ! m1,
    p(receive m2 -> m2 after 0 -> not_matched end),
    p(receive m1 -> m1 after 0 -> lost end),
    p(receive m1 -> m1 after id(10) -> timeout end),
    T0 = erlang:monotonic_time(millisecond),
    receive never -> ok after 30 -> ok end,
    T1 = erlang:monotonic_time(millisecond),
    p(T1 - T0 >= 29),
    Self = self(),
    spawn(fun() -> receive after 20 -> Self ! late end end),
    p(receive late -> got_late after infinity -> never end),
    spawn(fun() -> receive after 5 -> Self ! unrelated end, receive after 30 -> Self ! wanted end end),
    p(receive wanted -> wanted after 20000 -> timeout end),
    p(receive unrelated -> unrelated after 0 -> gone end),
    p(polls(3)),
    p([t(fun() -> receive after id(T) -> ok end end) || T <- [0, 1, a, -1, 1.0, 1 bsl 32, 1 bsl 70]]),
    p(t(fun() -> receive x -> x after id(bad) -> ok end end)),
    self() ! x,
    p(t(fun() -> receive x -> found after id(bad) -> ok end end)),
    self() ! x,
    p(t(fun() -> receive x -> found after id(16#FFFFFFFF) -> ok end end)),
    Blocked = spawn(fun() -> receive after infinity -> ok end end),
    p(is_process_alive(Blocked)),
    exit(Blocked, kill),
    p(sleepers_that_get_messages(Self)),
    p(lists:sort([receive {done, N} -> N end || _ <- [spawn(fun() -> receive after N * 3 -> Self ! {done, N} end end) || N <- [5, 1, 3, 2, 4]]])).

%% Processes that sleep for ever in a register's time are woken by messages, and go on sleeping.
sleepers_that_get_messages(Self) ->
    Sleepers = [spawn_monitor(fun() -> timer:sleep(id(infinity)) end) || _ <- lists:seq(1, 20)],
    [begin
         [Pid ! {message, K} || {Pid, _} <- Sleepers],
         [process_info(Pid, [status, message_queue_len]) || {Pid, _} <- Sleepers],
         spawn(fun() -> Self ! {clobber, lists:sum(lists:seq(1, K)), a, [b]} end),
         receive {clobber, _, a, [b]} -> ok end
     end || K <- lists:seq(1, 20)],
    Queues = lists:usort([process_info(Pid, message_queue_len) || {Pid, _} <- Sleepers]),
    [exit(Pid, kill) || {Pid, _} <- Sleepers],
    {Queues, lists:usort([receive {'DOWN', Monitor, process, _, Why} -> Why end || {_, Monitor} <- Sleepers])}.

polls(0) -> [];
polls(N) -> [receive M -> M after 0 -> none end | polls(N - 1)].

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
