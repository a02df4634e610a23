%% Building and taking apart lists without the lists module; ++ and --, hd, tl, length.
-module(list_basic).
-export([main/1, id/1]).

main(_) ->
    L = upto(10),
    io:format("~w~n", [L]),
    io:format("~w~n", [rev(L, [])]),
    io:format("~w ~w ~w~n", [sum(L), count(L), length(L)]),
    io:format("~w~n", [map(fun(X) -> X * X end, L)]),
    io:format("~w~n", [id(L) ++ id([a | b])]),
    io:format("~w~n", [id([]) ++ id(tail)]),
    io:format("~w~n", [id([1, 2, 3, 1, 2.0, 3]) -- id([3, 1, 2, 9])]),
    io:format("~w~n", [id([a, b, c, a, b]) -- id([a, a, a])]),
    io:format("~w~n", [{hd(L), tl(L), hd(id([x | y])), tl(id([x | y]))}]),
    io:format("~w~n", [[t(fun() -> hd(id([])) end), t(fun() -> tl(id([])) end),
                        t(fun() -> length(id([1 | 2])) end), t(fun() -> length(id(a)) end),
                        t(fun() -> id([1 | 2]) ++ [3] end), t(fun() -> id(a) ++ [3] end),
                        t(fun() -> id([1]) -- id(b) end), t(fun() -> id([1 | c]) -- id([d]) end),
                        t(fun() -> hd(id({})) end)]]),
    io:format("~w~n", [quicksort([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9])]),
    io:format("~w~n", [perms([1, 2, 3, 4])]),
    [A, B | C] = id([1, 2, 3, 4]),
    io:format("~w ~w ~w~n", [A, B, C]),
    io:format("~w~n", [begin Big = upto(100000), lists:sum(Big) + length(Big ++ Big) end]).

upto(N) -> upto(N, []).
upto(0, L) -> L;
upto(N, L) -> upto(N - 1, [N | L]).

rev([], L) -> L;
rev([H | T], L) -> rev(T, [H | L]).

sum([H | T]) -> H + sum(T);
sum([]) -> 0.

count([_ | T]) -> 1 + count(T);
count([]) -> 0.

map(F, [H | T]) -> [F(H) | map(F, T)];
map(_, []) -> [].

quicksort([]) -> [];
quicksort([P | L]) ->
    quicksort([X || X <- L, X < P]) ++ [P] ++ quicksort([X || X <- L, X >= P]).

perms([]) -> [[]];
perms(L) -> [[H | T] || H <- L, T <- perms(L -- [H])].

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.
