%% Tuples: element, setelement, conversion, append, make_tuple, big tuples, errors.
-module(tuple_basic).
-export([main/1, id/1]).

main(_) ->
    T = id({a, 1, 2.5, "s", <<"b">>, {}}),
    io:format("~w ~w~n", [tuple_size(T), [element(N, T) || N <- [1, 2, 3, 4, 5, 6]]]),
    io:format("~w~n", [setelement(3, T, new)]),
    io:format("~w~n", [setelement(1, setelement(2, setelement(6, T, x), y), z)]),
    io:format("~w~n", [tuple_to_list(T)]),
    io:format("~w~n", [list_to_tuple(id([1, 2, 3]))]),
    io:format("~w ~w~n", [list_to_tuple(id([])), tuple_to_list(id({}))]),
    io:format("~w~n", [erlang:append_element(T, last)]),
    io:format("~w~n", [erlang:make_tuple(id(3), x)]),
    io:format("~w~n", [erlang:make_tuple(5, def, [{2, b}, {4, d}, {2, e}])]),
    io:format("~w~n", [erlang:insert_element(2, T, ins)]),
    io:format("~w~n", [erlang:delete_element(1, T)]),
    Big = list_to_tuple(lists:seq(1, 5000)),
    io:format("~w ~w ~w~n", [tuple_size(Big), element(5000, Big), sum(Big, tuple_size(Big), 0)]),
    io:format("~p~n", [[t(fun() -> element(id(0), T) end), t(fun() -> element(id(7), T) end),
                        t(fun() -> element(id(a), T) end), t(fun() -> element(1, id([])) end),
                        t(fun() -> setelement(id(7), T, x) end),
                        t(fun() -> setelement(1, id(x), x) end),
                        t(fun() -> tuple_size(id([])) end),
                        t(fun() -> list_to_tuple(id([1 | 2])) end),
                        t(fun() -> tuple_to_list(id(a)) end),
                        t(fun() -> erlang:make_tuple(id(-1), a) end),
                        t(fun() -> erlang:make_tuple(2, a, [{3, b}]) end),
                        t(fun() -> erlang:delete_element(7, T) end),
                        t(fun() -> erlang:insert_element(8, T, x) end)]]),
    io:format("~w~n", [[shape(X) || X <- [{}, {a}, {a, b}, {b, a}, {a, b, c}, {point, 1, 2}, x]]]).

sum(_, 0, S) -> S;
sum(T, N, S) -> sum(T, N - 1, S + element(N, T)).

shape({}) -> empty;
shape({_}) -> one;
shape({a, _}) -> a_pair;
shape({_, a}) -> pair_a;
shape({point, X, Y}) -> X + Y;
shape(T) when is_tuple(T) -> {other, tuple_size(T)};
shape(_) -> no.

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.
