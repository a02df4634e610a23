%% Shortest ways in a graph: an ordered set as a queue, maps of lists.
-module(dijkstra).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [4000, 30]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("dijkstra ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: dijkstra ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    Graph = maps:from_list([{I, edges(I, N)} || I <- lists:seq(0, N - 1)]),
    Distances = search(gb_sets:singleton({0, 0}), #{}, Graph),
    {map_size(Distances), lists:sum(maps:values(Distances))}.

edges(I, N) -> [{(I * K + K * K) rem N, 1 + (I * 31 + K * 17) rem 97} || K <- lists:seq(1, 6)].

search(Queue, Done, Graph) ->
    case gb_sets:is_empty(Queue) of
        true -> Done;
        false ->
            {{Distance, Node}, Rest} = gb_sets:take_smallest(Queue),
            case Done of
                #{Node := _} -> search(Rest, Done, Graph);
                #{} -> search(relax(maps:get(Node, Graph), Distance, Done, Rest), Done#{Node => Distance}, Graph)
            end
    end.

relax([], _, _, Queue) -> Queue;
relax([{To, _} | Edges], Distance, Done, Queue) when is_map_key(To, Done) -> relax(Edges, Distance, Done, Queue);
relax([{To, Length} | Edges], Distance, Done, Queue) ->
    relax(Edges, Distance, Done, gb_sets:add({Distance + Length, To}, Queue)).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
