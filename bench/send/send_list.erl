%% One large list is sent many times; each message is acknowledged before the next.
-module(send_list).
-export([main/1, sink/1]).

main(Args) ->
    [Elements, Times] = numbers(Args, [100000, 200]),
    List = lists:seq(1, Elements),
    Sink = spawn(?MODULE, sink, [self()]),
    Start = erlang:monotonic_time(microsecond),
    Sum = send(Times, Sink, List, 0),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("send_list ~w elements x~w: ~w~n", [Elements, Times, Sum]),
    io:format(standard_error, "result: send_list ~.3f us/message~n", [Micros / Times]).

send(0, _, _, Sum) -> Sum;
send(N, Sink, List, Sum) ->
    Sink ! List,
    receive {got, First} -> send(N - 1, Sink, List, Sum + First) end.

sink(To) ->
    receive [First | _] -> To ! {got, First} end,
    sink(To).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
