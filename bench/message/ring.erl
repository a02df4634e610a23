%% A token travels round a ring of processes.
%% Johansson, Sagonas, Wilhelmsson 2002, section 6.1: 100 processes, 100,000 messages.
-module(ring).
-export([main/1, member/1]).

main(Args) ->
    [Processes, Hops] = numbers(Args, [100, 100000]),
    First = build(Processes - 1, self()),
    Start = erlang:monotonic_time(microsecond),
    First ! {token, Hops - 1},
    Sum = lead(First, 1),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("ring ~w processes, ~w hops, ~w laps~n", [Processes, Hops, Sum]),
    io:format(standard_error, "result: ring ~.4f us/hop~n", [Micros / Hops]).

%% The processes are linked from the last to the first, so each knows its successor.
build(0, Next) -> Next;
build(N, Next) -> build(N - 1, spawn(?MODULE, member, [Next])).

lead(First, Laps) ->
    receive
        {token, N} when N > 0 ->
            First ! {token, N - 1},
            lead(First, Laps + 1);
        {token, 0} ->
            First ! stop,
            lead(First, Laps);
        stop ->
            Laps
    end.

member(Next) ->
    receive
        {token, 0} ->
            Next ! {token, 0},
            member(Next);
        {token, N} ->
            Next ! {token, N - 1},
            member(Next);
        stop ->
            Next ! stop
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
