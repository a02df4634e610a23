%% Balanced trees built, dropped, and changed while others stay live; explicit collections between.
-module(gc_trees).
-export([main/1]).

main(_) ->
    Long = tree(12),
    io:format("~w~n", [[{D, lists:sum([check(tree(D)) || _ <- lists:seq(1, 1 bsl (12 - D))])} || D <- lists:seq(4, 12, 2)]]),
    io:format("~w~n", [check(Long)]),
    erlang:garbage_collect(),
    io:format("~w~n", [check(Long)]),
    T = lists:foldl(fun(K, A) -> insert((K * 7919) rem 10007, K, A) end, nil, lists:seq(1, 5000)),
    io:format("~w ~w~n", [size(T, 0), erlang:phash2(to_list(T, []))]),
    T2 = lists:foldl(fun(K, A) -> insert((K * 7919) rem 10007, {new, K}, A) end, T, lists:seq(1, 5000, 2)),
    erlang:garbage_collect(self(), [{type, minor}]),
    io:format("~w ~w~n", [erlang:phash2(to_list(T, [])), erlang:phash2(to_list(T2, []))]),
    Self = self(),
    Ps = [spawn(fun() -> X = tree(N rem 5 + 6), erlang:garbage_collect(), Self ! {N, check(X), X} end) || N <- lists:seq(1, 30)],
    io:format("~w~n", [lists:sum([receive {N, C, X} -> C = check(X), C * N end || N <- lists:seq(1, length(Ps))])]),
    P = spawn(fun() -> X = tree(10), receive {ask, From} -> From ! {answer, check(X)} end end),
    receive after 5 -> ok end,
    io:format("~w~n", [erlang:garbage_collect(P)]),
    io:format("~w~n", [erlang:garbage_collect(P, [{type, major}])]),
    P ! {ask, self()},
    io:format("~w~n", [receive {answer, C} -> C end]).

tree(0) -> leaf;
tree(D) -> {tree(D - 1), D, tree(D - 1)}.

check(leaf) -> 1;
check({L, D, R}) -> check(L) + D + check(R).

insert(K, V, nil) -> {K, V, nil, nil};
insert(K, V, {K, _, L, R}) -> {K, V, L, R};
insert(K, V, {K1, V1, L, R}) when K < K1 -> {K1, V1, insert(K, V, L), R};
insert(K, V, {K1, V1, L, R}) -> {K1, V1, L, insert(K, V, R)}.

size(nil, N) -> N;
size({_, _, L, R}, N) -> size(L, size(R, N + 1)).

to_list(nil, Acc) -> Acc;
to_list({K, V, L, R}, Acc) -> to_list(L, [{K, V} | to_list(R, Acc)]).
