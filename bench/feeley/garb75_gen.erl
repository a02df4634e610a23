%% As garb75, collected by generations: Feeley's generational variant has {fullsweep_after, 2}.
-module(garb75_gen).
-export([main/1, work/2, build/2, first/1]).

main(Args) ->
    [N, Processes] = numbers(Args, [200, 1000000]),
    Start = erlang:monotonic_time(microsecond),
    go(Processes, N),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("garb75_gen N=~w, ~w processes~n", [N, Processes]),
    io:format(standard_error, "result: garb75_gen ~w us~n", [Micros]).

%% One process at a time: each is waited for before the next is spawned.
go(0, _) -> done;
go(Left, N) ->
    _ = spawn_opt(?MODULE, work, [N, self()], [{min_heap_size, 233}, {fullsweep_after, 2}]),
    receive _ -> ok end,
    go(Left - 1, N).

work(N, Parent) ->
    _ = first(build(N div 4, {nil})),
    Parent ! 0.

%% Of four 4-tuples made in a step three are garbage at once.
build(0, Chain) -> Chain;
build(N, Chain) -> build(first({N, N, N, {N, N, N, {N, N, N, N}}}) - 1, {1, 2, 3, Chain}).

%% Exported, so that the compiler does not know what it is given or returns.
first(Tuple) -> element(1, Tuple).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
