%% The same code builds terms that are sent, then such that are kept, then such that are sent again.
-module(area_feedback).
-export([main/1, build/2, rows/1, tree/1]).

main(_) ->
    Me = self(),
    Others = [spawn_link(fun() -> sum(0, Me) end) || _ <- [1, 2, 3]],
    Sent = [send(Others, N) || N <- lists:seq(1, 40)],
    Kept = [build(N rem 4, 60) || N <- lists:seq(1, 60)],
    Again = [send(Others, N) || N <- lists:seq(41, 60)],
    [Other ! {stop, Me} || Other <- Others],
    Sums = [receive {Other, Sum} -> Sum end || Other <- Others],
    io:format("~w ~w~n~w~n", [lists:sum(Sent), lists:sum(Again), Sums]),
    io:format("~w ~w~n", [erlang:phash2(Kept), same(Kept, 60)]).

send(Others, N) ->
    Term = build(N rem 4, 50 + N),
    [Other ! {term, N, Term} || Other <- Others],
    %% What was sent is still ours, and can be built on.
    size_of([{N, Term} | Term]).

sum(Sum, Leader) ->
    receive
        {term, N, Term} -> true = Term =:= build(N rem 4, 50 + N), sum(Sum + size_of(Term), Leader);
        {stop, Leader} -> Leader ! {self(), Sum}
    end.

%% Lists of immediates; of tuples with private parts; of tuples with tails of their own; trees.
build(0, N) -> ascending(N, []);
build(1, N) -> rows(N);
build(2, N) -> [{pair, I, ascending(I rem 7, [])} || I <- lists:seq(1, N)];
build(3, N) -> tree(N).

ascending(0, Tail) -> Tail;
ascending(N, Tail) -> ascending(N - 1, [N | Tail]).

rows(0) -> [];
rows(N) -> [{row, N, N / 2, <<N:16>>, 1 bsl (N rem 90)} | rows(N - 1)].

tree(0) -> leaf;
tree(N) -> Half = N div 2, {tree(Half), {}, [N | same], tree(N - 1 - Half)}.

same(Kept, Count) ->
    Kept =:= [build(N rem 4, 60) || N <- lists:seq(1, Count)].

size_of([Head | Tail]) -> 1 + size_of(Head) + size_of(Tail);
size_of(Tuple) when is_tuple(Tuple) -> 1 + size_of(tuple_to_list(Tuple));
size_of(_) -> 1.
