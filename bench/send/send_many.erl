%% Several senders, one receiver: small messages as fast as they go.
-module(send_many).
-export([main/1, sender/3]).

main(Args) ->
    [Senders, Messages] = numbers(Args, [8, 200000]),
    Each = Messages div Senders,
    Start = erlang:monotonic_time(microsecond),
    [spawn(?MODULE, sender, [self(), S, Each]) || S <- lists:seq(1, Senders)],
    Sum = collect(Each * Senders, 0),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("send_many ~w senders, ~w messages: ~w~n", [Senders, Each * Senders, Sum]),
    io:format(standard_error, "result: send_many ~.4f us/message~n", [Micros / (Each * Senders)]).

sender(_, _, 0) -> ok;
sender(To, S, N) ->
    To ! {S, N},
    sender(To, S, N - 1).

collect(0, Sum) -> Sum;
collect(N, Sum) -> receive {S, K} -> collect(N - 1, Sum + S * K) end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
