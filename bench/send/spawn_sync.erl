%% An empty process is spawned and waited for, many times, one at a time.
-module(spawn_sync).
-export([main/1, work/1]).

main(Args) ->
    [Processes] = numbers(Args, [500000]),
    Start = erlang:monotonic_time(microsecond),
    go(Processes),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("spawn_sync ~w processes~n", [Processes]),
    io:format(standard_error, "result: spawn_sync ~.4f us/process~n", [Micros / Processes]).

go(0) -> ok;
go(N) ->
    _ = spawn(?MODULE, work, [self()]),
    receive done -> go(N - 1) end.

work(Parent) -> Parent ! done.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
