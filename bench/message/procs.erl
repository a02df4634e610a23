%% Lists travel round a ring; every process makes a new list for each message it passes on.
%% Wilhelmsson 2002, section 6 and Appendix D.1. A message is sent on with a counter which falls
%% to 0; messages at 0 go on as far as the leader. Johansson et al. use a counter of 10.
-module(procs).
-export([main/1, child/4, list_of/2]).

main(Args) ->
    [Processes, Size, Times] = numbers(Args, [100, 100, 100]),
    Start = erlang:monotonic_time(microsecond),
    Next = spawn(?MODULE, child, [self(), Processes - 1, Times, Size]),
    Next ! {Times, list_of(Size, [])},
    Messages = lead(Next, true, Size, 1),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("procs ~wx~w, counter ~w: ~w messages~n", [Processes, Size, Times, Messages]),
    io:format(standard_error, "result: procs ~w us~n", [Micros]).

child(Leader, 0, Times, Size) ->
    Leader ! {Times, list_of(Size, [])},
    pass(Leader, Size, 1);
child(Leader, Number, Times, Size) ->
    Next = spawn(?MODULE, child, [Leader, Number - 1, Times, Size]),
    Next ! {Times, list_of(Size, [])},
    pass(Next, Size, 1).

pass(Next, Size, Sent) ->
    receive
        {stop, Total} ->
            Next ! {stop, Total + Sent + 1};
        {0, _} ->
            Next ! {0, list_of(Size, [])},
            pass(Next, Size, Sent + 1);
        {Counter, _} ->
            Next ! {Counter - 1, list_of(Size, [])},
            pass(Next, Size, Sent + 1)
    end.

%% The first message at 0 that reaches the leader makes it close the ring.
lead(Next, Sending, Size, Sent) ->
    receive
        {0, _} when Sending ->
            Next ! {stop, Sent + 1},
            lead(Next, false, Size, Sent);
        {Counter, _} when Sending, is_integer(Counter) ->
            Next ! {Counter - 1, list_of(Size, [])},
            lead(Next, Sending, Size, Sent + 1);
        {Counter, _} when is_integer(Counter) ->
            lead(Next, Sending, Size, Sent);
        {stop, Total} ->
            Total
    end.

list_of(0, List) -> List;
list_of(N, List) -> list_of(N - 1, [42 | List]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
