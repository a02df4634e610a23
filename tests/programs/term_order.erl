%% The order of all terms, by comparing each with each, and by sorting.
-module(term_order).
-export([main/1, id/1]).

main(_) ->
    Terms = terms(),
    io:format("~p~n", [lists:sort(Terms)]),
    io:format("~p~n", [lists:usort(Terms ++ Terms)]),
    [io:format("~p: ~s~n", [A, [compare(id(A), id(B)) || B <- Terms]]) || A <- Terms],
    io:format("~p ~p~n", [lists:max(Terms), lists:min(Terms)]),
    Kinds = [1, a, make_ref(), fun() -> ok end, self(), {}, #{}, [], [x], <<>>],
    io:format("~w~n", [[kind(T) || T <- lists:sort(lists:reverse(Kinds))]]),
    io:format("~w~n", [[kind(T) || T <- lists:sort([<<1>>, [], #{}, {}, self(), fun lists:map/2, make_ref(), x, 0.5])]]),
    io:format("~w~n", [[max(1, 1.0), max(1.0, 1), min(1, 1.0), min(1.0, 1)]]),
    R1 = make_ref(), R2 = make_ref(),
    io:format("~w~n", [{R1 < R2, R1 =:= R1, R1 == R2, lists:sort([fun lists:map/2, fun lists:foldl/3, fun erlang:abs/1])}]).

terms() ->
    [0, 1, -1, 1.0, 0.0, 2, 1.5, 1 bsl 70, -(1 bsl 70), 1.0e30, a, b, ab, 'A', '', true,
     {}, {1}, {1.0}, {a}, {1, 2}, {b, a}, {a, b, c}, [], [1], [1.0], [1, 2], [1 | 2], [a], [[]], "abc", "abd",
     #{}, #{1 => a}, #{1.0 => a}, #{a => 1}, #{b => 0}, #{a => 1, b => 2}, #{a => 2, b => 1}, #{1 => x, 1.0 => y},
     <<>>, <<0>>, <<1>>, <<1:1>>, <<0:1>>, <<1:2>>, <<"abc">>, <<"ab">>, <<255>>, <<128:9>>].

compare(A, B) ->
    R = if A < B -> $<; A == B -> $=; A > B -> $> end,
    R = if A >= B, A =< B -> $=; A >= B -> $>; A =< B -> $< end,
    true = (A /= B) =:= (R =/= $=),
    true = (A =/= B) =:= not (A =:= B),
    if A =:= B -> $!; true -> R end.

kind(T) when is_number(T) -> number;
kind(T) when is_atom(T) -> atom;
kind(T) when is_reference(T) -> reference;
kind(T) when is_function(T) -> 'fun';
kind(T) when is_pid(T) -> pid;
kind(T) when is_tuple(T) -> tuple;
kind(T) when is_map(T) -> map;
kind(T) when is_list(T) -> list;
kind(T) when is_bitstring(T) -> bitstring.

id(X) -> X.
