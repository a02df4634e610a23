%% Allocation without garbage, in a fresh process each time; every collection is a full sweep.
%% Feeley 2001, section 4.2, Figure 3. R7B swept fully each time; here {fullsweep_after, 0} says so.
-module(garb0).
-export([main/1, work/2, build/2, first/1]).

main(Args) ->
    [N, Processes] = numbers(Args, [200, 1000000]),
    Start = erlang:monotonic_time(microsecond),
    go(Processes, N),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("garb0 N=~w, ~w processes~n", [N, Processes]),
    io:format(standard_error, "result: garb0 ~w us~n", [Micros]).

%% One process at a time: each is waited for before the next is spawned.
go(0, _) -> done;
go(Left, N) ->
    _ = spawn_opt(?MODULE, work, [N, self()], [{min_heap_size, 233}, {fullsweep_after, 0}]),
    receive _ -> ok end,
    go(Left - 1, N).

work(N, Parent) ->
    _ = first(build(N, {nil})),
    Parent ! 0.

%% A chain of N 4-tuples, all live.
build(0, Chain) -> Chain;
build(N, Chain) -> build(N - 1, {1, 2, 3, Chain}).

%% Exported, so that the compiler does not know what it is given or returns.
first(Tuple) -> element(1, Tuple).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
