%% Messages between two processes keep their order, whatever else is sent between others.
-module(message_order).
-export([main/1]).

main(_) ->
    Self = self(),
    N = 2000, S = 8,
    Senders = [spawn(fun() -> [Self ! {I, K} || K <- lists:seq(1, N)], Self ! {done, I} end) || I <- lists:seq(1, S)],
    Last = collect(S, #{}, true),
    io:format("~w ~w~n", [length(Senders), Last]),
    %% Through a relay each way.
    Relay = spawn(fun() -> relay(Self) end),
    [Relay ! K || K <- lists:seq(1, 1000)],
    io:format("~w~n", [[receive {relayed, K} -> K end || K <- lists:seq(1, 1000)] =:= lists:seq(1, 1000)]),
    %% A message sent before a spawn's first message, by causality.
    Sink = spawn(fun() -> receive {first, F} -> receive second -> Self ! {causal, F} end end end),
    Sink ! {first, 1},
    Sink ! second,
    io:format("~w~n", [receive {causal, X} -> X end]),
    %% Fan out and in by a tree of processes.
    spawn(fun() -> tree(8, 1, Self) end),
    io:format("~w~n", [receive {tree, T} -> T end]),
    %% A pipeline of stages.
    Out = lists:foldl(fun(K, Next) -> spawn(fun() -> stage(K, Next) end) end, Self, lists:seq(1, 20)),
    [Out ! {item, I} || I <- lists:seq(1, 100)],
    io:format("~w~n", [[receive {item, I} -> I end || _ <- lists:seq(1, 100)]]).

collect(0, M, Ok) -> {Ok, lists:sum(maps:values(M))};
collect(S, M, Ok) ->
    receive
        {done, _} -> collect(S - 1, M, Ok);
        {I, K} -> Before = maps:get(I, M, 0), collect(S, M#{I => K}, Ok andalso K =:= Before + 1)
    end.

relay(To) -> receive K -> To ! {relayed, K}, relay(To) end.

tree(0, N, To) -> To ! {tree, N};
tree(D, N, To) ->
    Self = self(),
    spawn(fun() -> tree(D - 1, 2 * N, Self) end),
    spawn(fun() -> tree(D - 1, 2 * N + 1, Self) end),
    A = receive {tree, X} -> X end,
    B = receive {tree, Y} -> Y end,
    To ! {tree, A + B}.

stage(K, Next) -> receive {item, I} -> Next ! {item, I * 2 rem 1009 + K}, stage(K, Next) end.
