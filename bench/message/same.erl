%% One list is made, given to every process of a ring at its spawn, and sent round by each.
%% Wilhelmsson 2002, section 6 and Appendix D.2 (`sendsame' in Johansson et al. 2002).
-module(same).
-export([main/1, child/4, list_of/2, pair/2]).

main(Args) ->
    [Processes, Size, Times] = numbers(Args, [1000, 1000, 10]),
    Start = erlang:monotonic_time(microsecond),
    List = list_of(Size, []),
    Next = spawn(?MODULE, child, [self(), Processes - 2, Times, List]),
    Next ! pair(Times - 1, List),
    Returned = lead(Next, Processes, 0),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("same ~w processes, ~w elements, ~w sends: ~w returned~n",
              [Processes, Size, Times, Returned]),
    io:format(standard_error, "result: same ~w us~n", [Micros]).

child(Leader, 0, Times, List) ->
    Leader ! pair(Times - 1, List),
    pass(Leader);
child(Leader, Number, Times, List) ->
    Next = spawn(?MODULE, child, [Leader, Number - 1, Times, List]),
    Next ! pair(Times - 1, List),
    pass(Next).

pass(Next) ->
    receive
        stop ->
            Next ! stop;
        {0, _} ->
            Next ! pair(0, empty),
            pass(Next);
        {Counter, List} ->
            Next ! pair(Counter - 1, List),
            pass(Next)
    end.

lead(Next, 0, Returned) ->
    Next ! stop,
    receive stop -> Returned end;
lead(Next, Missing, Returned) ->
    receive
        {0, _} ->
            lead(Next, Missing - 1, Returned);
        {Counter, List} ->
            Next ! pair(Counter - 1, List),
            lead(Next, Missing, Returned + 1)
    end.

%% Exported, so that the compiler builds the message where the paper does.
pair(Counter, Content) -> {Counter, Content}.

list_of(0, List) -> List;
list_of(N, List) -> list_of(N - 1, [42 | List]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
