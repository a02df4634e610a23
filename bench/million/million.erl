%% Many sleeping processes at once, in the ways of "How much memory do you need to run a million
%% Erlang processes" (2023): each step takes away something which a process need not hold.
%% spawn    a fun, monitored; the list of processes in the order of their making
%% reduce   the same, but the list is built in reverse by a fold
%% count    no list: each process sends a word to its parent, whom it holds in a closure
%% registry as count, but the parent is found by its name
%% remote   as registry, but what is spawned is a module, a function and its arguments
-module(million).
-export([main/1, sleeper/1]).

main([]) -> main(["count"]);
main([Variant | Args]) ->
    [Processes, Milliseconds] = numbers(Args, [100000, 3000]),
    register(million_parent, self()),
    Before = erlang:memory(processes),
    Start = erlang:monotonic_time(microsecond),
    Waiting = start(list_to_atom(Variant), Processes, Milliseconds),
    Started = erlang:monotonic_time(microsecond) - Start,
    Bytes = (erlang:memory(processes) - Before) / Processes,
    Done = await(Waiting, Processes),
    io:format("million ~s: ~w processes slept~n", [Variant, Done]),
    io:format(standard_error, "memory: ~.1f bytes/process~n", [Bytes]),
    io:format(standard_error, "result: million_~s ~.4f us/spawn~n", [Variant, Started / Processes]).

start(spawn, N, Time) ->
    {pids, [spawn(fun() -> timer:sleep(Time) end) || _ <- lists:seq(1, N)]};
start(reduce, N, Time) ->
    {pids, lists:foldl(fun(_, Pids) -> [spawn(fun() -> timer:sleep(Time) end) | Pids] end, [], lists:seq(1, N))};
start(count, N, Time) ->
    Parent = self(),
    repeat(N, fun() -> spawn(fun() -> timer:sleep(Time), Parent ! done end) end);
start(registry, N, Time) ->
    repeat(N, fun() -> spawn(fun() -> timer:sleep(Time), million_parent ! done end) end);
start(remote, N, Time) ->
    repeat(N, fun() -> spawn(?MODULE, sleeper, [Time]) end).

repeat(0, _) -> messages;
repeat(N, Spawn) ->
    Spawn(),
    repeat(N - 1, Spawn).

sleeper(Time) ->
    timer:sleep(Time),
    million_parent ! done.

await({pids, Pids}, _) -> await_pids(Pids, 0);
await(messages, N) -> await_messages(N, 0).

await_pids([], Done) -> Done;
await_pids([Pid | Pids], Done) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, _, _} -> await_pids(Pids, Done + 1) end.

await_messages(0, Done) -> Done;
await_messages(N, Done) -> receive done -> await_messages(N - 1, Done + 1) end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
