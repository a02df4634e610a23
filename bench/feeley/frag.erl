%% Every process makes a chain which it no longer needs, then waits for a process which does the same.
%% Feeley 2001, section 4.4, Figure 8: 10,000 processes, chains of 500 4-tuples. What private heaps
%% hold at the end is garbage which no allocation uncovers.
-module(frag).
-export([main/1, work/3, build/2, first/1]).

main(Args) ->
    [Processes, N] = numbers(Args, [10000, 500]),
    Before = erlang:memory(processes),
    Start = erlang:monotonic_time(microsecond),
    Deepest = go(Processes, N),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("frag ~w processes, N=~w~n", [Processes, N]),
    io:format(standard_error, "memory: frag ~.1f MB~n", [(Deepest - Before) / 1.0e6]),
    io:format(standard_error, "result: frag ~w us~n", [Micros]).

%% The last process, with all others waiting, says how much memory processes take.
work(0, _, Parent) ->
    Parent ! erlang:memory(processes);
work(Left, N, Parent) ->
    _ = first(build(N, {nil})),
    Parent ! go(Left, N).

go(Left, N) ->
    _ = spawn(?MODULE, work, [Left - 1, N, self()]),
    receive Used -> Used end.

build(0, Chain) -> Chain;
build(N, Chain) -> build(N - 1, {1, 2, 3, Chain}).

first(Tuple) -> element(1, Tuple).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
