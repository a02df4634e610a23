%% A structure goes to a new process as its argument and comes back as a message.
%% Feeley 2001, section 4.3, Figure 6: a chain of N 4-tuples, copied twice by private heaps.
-module(comm).
-export([main/1, work/2, build/2]).

main(Args) ->
    [N, Processes] = numbers(Args, [200, 1000000]),
    Chain = build(N, nil),
    Start = erlang:monotonic_time(microsecond),
    go(Processes, Chain),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("comm N=~w, ~w processes~n", [N, Processes]),
    io:format(standard_error, "result: comm ~.3f us/process~n", [Micros / max(1, Processes)]).

go(0, _) -> done;
go(Left, Chain) ->
    _ = spawn(?MODULE, work, [Chain, self()]),
    receive _ -> ok end,
    go(Left - 1, Chain).

work(Chain, Parent) -> Parent ! Chain.

build(0, Chain) -> Chain;
build(N, Chain) -> build(N - 1, {1, 2, 3, Chain}).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
