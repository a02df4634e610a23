%% A new list is made for every message, and every process keeps all that it was sent.
%% Wilhelmsson 2002, section 6 and Appendix D.2 (`keeplive' in Johansson et al. 2002).
%% The kept lists are counted at the end, so they are live until then.
-module(keep).
-export([main/1, child/4, list_of/2, pair/2]).

main(Args) ->
    [Processes, Size, Times] = numbers(Args, [1000, 1000, 10]),
    Start = erlang:monotonic_time(microsecond),
    Next = spawn(?MODULE, child, [self(), Processes - 2, Times, Size]),
    Next ! pair(Times - 1, list_of(Size, [])),
    Returned = lead(Next, Size, [], Processes),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("keep ~w processes, ~w elements, ~w sends: ~w kept~n",
              [Processes, Size, Times, Returned]),
    io:format(standard_error, "result: keep ~w us~n", [Micros]).

child(Leader, 0, Times, Size) ->
    Leader ! pair(Times - 1, list_of(Size, [])),
    pass(Leader, Size, []);
child(Leader, Number, Times, Size) ->
    Next = spawn(?MODULE, child, [Leader, Number - 1, Times, Size]),
    Next ! pair(Times - 1, list_of(Size, [])),
    pass(Next, Size, []).

pass(Next, Size, Kept) ->
    receive
        {stop, Total} ->
            Next ! {stop, Total + length(Kept)};
        {0, _} ->
            Next ! pair(0, empty),
            pass(Next, Size, Kept);
        {Counter, List} ->
            Next ! pair(Counter - 1, list_of(Size, [])),
            pass(Next, Size, [List | Kept])
    end.

%% The leader sends on the list that it was sent, as the published program does.
lead(Next, _, Kept, 0) ->
    Next ! {stop, length(Kept)},
    receive {stop, Total} -> Total end;
lead(Next, Size, Kept, Missing) ->
    receive
        {0, _} ->
            lead(Next, Size, Kept, Missing - 1);
        {Counter, List} ->
            Next ! pair(Counter - 1, List),
            lead(Next, Size, [List | Kept], Missing)
    end.

%% Exported, so that the compiler builds the message where the paper does.
pair(Counter, Content) -> {Counter, Content}.

list_of(0, List) -> List;
list_of(N, List) -> list_of(N - 1, [42 | List]).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
