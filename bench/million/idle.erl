%% Processes that wait in a receive, and hold nothing. What one takes of resident memory is for the runner to measure:
%% the difference between runs with many and with few. Spawned in lots, each of which says that it waits before the
%% next begins, so that the parent's mailbox stays small.
-module(idle).
-export([main/1, idle/1]).

main(Args) ->
    [Processes] = numbers(Args, [1000000]),
    spawned(Processes, 1000),
    io:format("idle ~w processes~n", [Processes]).

spawned(0, _) -> ok;
spawned(Left, Lot) ->
    Now = min(Left, Lot),
    start(Now),
    await(Now),
    spawned(Left - Now, Lot).

start(0) -> ok;
start(N) ->
    spawn(?MODULE, idle, [self()]),
    start(N - 1).

await(0) -> ok;
await(N) -> receive waits -> await(N - 1) end.

idle(Parent) ->
    Parent ! waits,
    receive stop -> ok end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
