%% Large processes whose messages are looked at in portions by a collector of messages: a deep stack, a long mailbox, many timers.
-module(area_portions).
-export([main/1, deep/3, holder/2, churn/1, check/2]).

main(Args) ->
    Scale = case Args of [S] -> list_to_integer(S); [] -> 1 end,
    Churners = [spawn_link(?MODULE, churn, [self()]) || _ <- [1, 2]],
    Me = self(),
    Deep = spawn_link(fun() -> Me ! {deep, deep_all(300 * Scale)} end),
    Box = spawn_link(fun() -> Me ! {box, box(200 * Scale)} end),
    Timers = spawn_link(fun() -> Me ! {timers, timers(100 * Scale)} end),
    io:format("~w~n", [[receive {What, Result} -> {What, Result} end || What <- [deep, box, timers]]]),
    [begin unlink(C), exit(C, kill) end || C <- Churners],
    [is_process_alive(P) || P <- [Deep, Box, Timers]],
    ok.

%% Makes garbage among the messages, so that cycles follow each other.
churn(To) ->
    Pid = spawn_link(fun echo/0),
    churn(Pid, 0, To).

churn(Pid, N, To) ->
    Pid ! {self(), message(N)},
    receive {Pid, M} -> true = check(M, N) end,
    churn(Pid, N + 1, To).

echo() ->
    receive {From, M} -> From ! {self(), M} end,
    echo().

message(N) -> {N, [{N, X, [N, X]} || X <- lists:seq(1, 12)]}.

check({N, L}, N) -> L =:= [{N, X, [N, X]} || X <- lists:seq(1, 12)];
check(_, _) -> false.

%% Each frame has a message that nobody else has.
deep_all(N) ->
    Maker = spawn_link(fun maker/0),
    A = deep(Maker, N, none),
    %% Frames left by an exception.
    B = try deep(Maker, N, {throw, N div 3}) catch throw:{at, At} -> At end,
    C = caught(Maker, N),
    %% Down and up again, between which there is time to look at some.
    D = lists:sum([waves(Maker, N div 4, 4) || _ <- [1, 2]]),
    Holder = spawn_link(?MODULE, holder, [self(), message(7)]),
    receive {Holder, ready} -> ok end,
    E = deep(Maker, N, none),
    Holder ! {self(), go},
    F = receive {Holder, R} -> R end,
    {A, B, C, D, E, F}.

maker() ->
    receive {From, N} -> From ! {self(), message(N)} end,
    maker().

get(Maker, N) ->
    Maker ! {self(), N},
    receive {Maker, M} -> M end.

deep(_, 0, _) -> 0;
deep(Maker, N, Stop) ->
    M = get(Maker, N),
    case Stop of
        {throw, N} -> throw({at, N});
        _ -> ok
    end,
    Rest = deep(Maker, N - 1, Stop),
    true = check(M, N),
    N rem 64 =:= 0 andalso erlang:yield(),
    Rest + 1.

caught(_, 0) -> 0;
caught(Maker, N) ->
    M = get(Maker, N),
    Rest = try caught(Maker, N - 1)
           catch error:{value, V} -> V
           end,
    true = check(M, N),
    N rem 16 =:= 0 andalso error({value, Rest + 1}),
    Rest + 1.

waves(Maker, N, 0) -> deep(Maker, N, none);
waves(Maker, N, Waves) ->
    M = get(Maker, N),
    First = deep(Maker, N, none),
    Second = waves(Maker, N, Waves - 1),
    true = check(M, N),
    First + Second.

%% The stack is gone while it sleeps.
holder(To, M) ->
    Keep = [message(N) || N <- lists:seq(1, 100)],
    To ! {self(), ready},
    receive {To, go} -> ok end,
    To ! {self(), {check(M, 7), length(Keep)}}.

%% A long mailbox, out of which messages are taken in many orders.
box(N) ->
    Maker = spawn_link(fun maker/0),
    [Maker ! {self(), K} || K <- lists:seq(1, N)],
    Reference = make_ref(),
    Maker ! {self(), Reference},
    Last = receive {Maker, {Reference, L}} -> length(L) end,
    {messages, Shown} = process_info(self(), messages),
    Right = length([ok || {K, {_, M}} <- lists:zip(lists:seq(1, N), Shown), check(M, K)]),
    Odd = [receive {Maker, {K, _} = M} -> check(M, K) end || K <- lists:seq(N - 1 + N rem 2, 1, -2)],
    Reply = get_by_reference(Maker, 50),
    Even = [receive {Maker, {K, _} = M} -> check(M, K) end || K <- lists:seq(2, N, 2)],
    erlang:garbage_collect(),
    {Last, length(Shown), Right, lists:usort(Odd ++ Even), Reply, length([ok || {K, {_, M}} <- lists:zip(lists:seq(1, N), Shown), check(M, K)])}.

%% Calls with monitors, whose replies are looked for behind a marker.
get_by_reference(_, 0) -> true;
get_by_reference(Maker, N) ->
    Reference = monitor(process, Maker),
    Maker ! {self(), Reference},
    R = receive
            {Maker, {Reference, L}} -> length(L) =:= 12;
            {'DOWN', Reference, _, _, _} -> false
        end,
    demonitor(Reference, [flush]),
    R andalso get_by_reference(Maker, N - 1).

timers(N) ->
    Refs = [erlang:send_after(X rem 40 + 1, self(), message(X)) || X <- lists:seq(1, N)],
    Far = [erlang:send_after(100000 + X, self(), message(X)) || X <- lists:seq(1, N)],
    Came = [receive {X, _} = M -> check(M, X) end || X <- lists:seq(1, N)],
    Cancelled = [erlang:cancel_timer(T) =/= false || T <- Far],
    {length(Refs), lists:usort(Came), lists:usort(Cancelled)}.
