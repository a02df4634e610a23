%% A new list is made for every message, and the old one becomes garbage.
%% Wilhelmsson 2002, section 6 and Appendix D.2; Johansson et al. 2002, section 6.
-module(garbage).
-export([main/1, child/4, list_of/2, pair/2]).

main(Args) ->
    [Processes, Size, Times] = numbers(Args, [1000, 1000, 10]),
    Start = erlang:monotonic_time(microsecond),
    Next = spawn(?MODULE, child, [self(), Processes - 2, Times, Size]),
    Next ! pair(Times - 1, list_of(Size, [])),
    Returned = lead(Next, Size, Processes, 0),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("garbage ~w processes, ~w elements, ~w sends: ~w returned~n",
              [Processes, Size, Times, Returned]),
    io:format(standard_error, "result: garbage ~w us~n", [Micros]).

child(Leader, 0, Times, Size) ->
    Leader ! pair(Times - 1, list_of(Size, [])),
    pass(Leader, Size);
child(Leader, Number, Times, Size) ->
    Next = spawn(?MODULE, child, [Leader, Number - 1, Times, Size]),
    Next ! pair(Times - 1, list_of(Size, [])),
    pass(Next, Size).

pass(Next, Size) ->
    receive
        stop ->
            Next ! stop;
        {0, _} ->
            Next ! pair(0, empty),
            pass(Next, Size);
        {Counter, _} ->
            Next ! pair(Counter - 1, list_of(Size, [])),
            pass(Next, Size)
    end.

lead(Next, _, 0, Returned) ->
    Next ! stop,
    receive stop -> Returned end;
lead(Next, Size, Missing, Returned) ->
    receive
        {0, _} ->
            lead(Next, Size, Missing - 1, Returned);
        {Counter, _} ->
            Next ! pair(Counter - 1, list_of(Size, [])),
            lead(Next, Size, Missing, Returned + 1)
    end.

%% Exported, so that the compiler builds the message where the paper does.
pair(Counter, Content) -> {Counter, Content}.

list_of(0, List) -> List;
list_of(N, List) -> list_of(N - 1, [42 | List]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
