%% differential: allocates stress=5000
%% Long live lists while much garbage is made; sums checked against closed forms.
-module(gc_lists).
-export([main/1, id/1]).

main(_) ->
    Live = [{N, integer_to_list(N)} || N <- lists:seq(1, 30000)],
    io:format("~w~n", [garbage(200, 0)]),
    io:format("~w~n", [lists:sum([N || {N, _} <- Live])]),
    io:format("~w~n", [lists:sum([length(S) || {_, S} <- Live])]),
    io:format("~w~n", [rotate(Live, 20)]),
    io:format("~w~n", [keep_every(100000, 10, [])]),
    erlang:garbage_collect(),
    io:format("~w~n", [erlang:phash2(Live)]),
    io:format("~w~n", [updates(list_to_tuple(lists:seq(1, 100)), 20000)]),
    {number_of_gcs, true} = {number_of_gcs, element(1, erlang:statistics(garbage_collection)) > 0}.

garbage(0, S) -> S;
garbage(N, S) -> garbage(N - 1, S + length(id(lists:seq(1, 1000 + N)))).

rotate(L, 0) -> length(L);
rotate(L, N) -> rotate([{A + 1, B} || {A, B} <- lists:reverse(L)], N - 1).

%% One in ten survives.
keep_every(0, _, Kept) -> {length(Kept), lists:sum([hd(K) || K <- Kept])};
keep_every(N, M, Kept) ->
    T = [N, {N, N + 1}, [N]],
    case N rem M of
        0 -> keep_every(N - 1, M, [id(T) | Kept]);
        _ -> _ = id(T), keep_every(N - 1, M, Kept)
    end.

updates(T, 0) -> lists:sum([case E of {_, X} -> X; X -> X end || E <- tuple_to_list(T)]);
updates(T, N) -> updates(setelement(N rem 100 + 1, T, {new, N}), N - 1).

id(X) -> X.
