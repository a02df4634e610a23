%% Maps of more than 32 keys: iteration order for keys of each type, updates, removal, matching.
-module(map_large).
-export([main/1, id/1]).

main(_) ->
    Ns = lists:seq(1, 100),
    order("small integers", Ns),
    order("sparse integers", [N * 1000003 || N <- Ns]),
    order("negative integers", [-N || N <- Ns]),
    order("bignums", [1 bsl (58 + N) || N <- Ns]),
    order("negative bignums", [-(1 bsl (58 + N)) - N || N <- Ns]),
    order("floats", [N / 8 || N <- Ns]),
    order("binaries", [integer_to_binary(N) || N <- Ns]),
    order("long binaries", [binary:copy(integer_to_binary(N), 50) || N <- lists:seq(1, 40)]),
    order("bitstrings", [<<N:11>> || N <- Ns]),
    order("strings", [integer_to_list(N) || N <- Ns]),
    order("tuples", [{N, N rem 3} || N <- Ns]),
    order("nested", [{[N], #{N => N}, <<N>>} || N <- Ns]),
    order("maps", [#{N => 1, 0 => 2} || N <- Ns]),
    order("large maps", [maps:from_list([{I, N} || I <- lists:seq(1, 40)]) || N <- lists:seq(1, 40)]),
    order("improper", [[N | N] || N <- Ns]),
    order("mixed", lists:flatten([[N, N * 1.0, {N}, <<N>>] || N <- lists:seq(1, 20)])),
    Atoms = maps:from_list([{list_to_atom("k" ++ integer_to_list(N)), N} || N <- Ns]),
    io:format("~w~n", [lists:sort(maps:to_list(Atoms))]),
    sizes(),
    updates().

order(Name, Keys) ->
    M = maps:from_list([{K, I} || {I, K} <- lists:zip(lists:seq(1, length(Keys)), Keys)]),
    io:format("~s ~w ~w~n", [Name, map_size(M), maps:values(M)]),
    Back = lists:foldl(fun(K, Acc) -> Acc#{K => maps:get(K, M)} end, #{}, lists:reverse(Keys)),
    true = (Back =:= M),
    true = (maps:values(Back) =:= maps:values(M)),
    [] = Keys -- maps:keys(M),
    io:format("~w~n", [iterated(maps:next(maps:iterator(M)), [])]).

iterated(none, Acc) -> lists:reverse(Acc);
iterated({_, V, I}, Acc) -> iterated(maps:next(I), [V | Acc]).

%% Growing over the limit of flat maps, and back.
sizes() ->
    {_, Up} = lists:foldl(fun(N, {M, Acc}) -> M2 = M#{N => N}, {M2, [{map_size(M2), M2 =:= maps:from_list(maps:to_list(M2))} | Acc]} end,
                          {#{}, []}, lists:seq(1, 40)),
    io:format("~w~n", [lists:usort([B || {_, B} <- Up])]),
    Full = maps:from_list([{N, N} || N <- lists:seq(1, 40)]),
    {Down, Keys} = lists:foldl(fun(N, {M, Acc}) -> M2 = maps:remove(N, M), {M2, [maps:keys(M2) | Acc]} end, {Full, []}, lists:seq(1, 40)),
    io:format("~w ~w~n", [Down, lists:reverse(Keys)]).

updates() ->
    M = maps:from_list([{N, N * N} || N <- lists:seq(1, 3000)]),
    M1 = lists:foldl(fun(N, A) -> A#{N := 0} end, M, lists:seq(1, 3000, 3)),
    io:format("~w ~w~n", [lists:sum(maps:values(M)), lists:sum(maps:values(M1))]),
    M2 = lists:foldl(fun(N, A) -> maps:remove(N, A) end, M1, lists:seq(1, 3000, 2)),
    io:format("~w ~w~n", [map_size(M2), lists:sum(maps:keys(M2))]),
    #{1000 := V, 2000 := W} = M2,
    io:format("~w ~w~n", [V, W]),
    io:format("~w~n", [try (id(M2))#{1 := x} catch C:R -> {C, R} end]),
    io:format("~w~n", [try maps:get(1, id(M2)) catch C1:R1 -> {C1, R1} end]),
    Merged = maps:merge(M2, maps:from_list([{N, m} || N <- lists:seq(2990, 3010)])),
    io:format("~w ~w~n", [map_size(Merged), lists:sort([N || {N, m} <- maps:to_list(Merged)])]),
    io:format("~w~n", [erlang:phash2(M2)]),
    io:format("~w~n", [{M < M1, M1 < M, M == M, M2 < M, M =:= lists:foldl(fun(N, A) -> A#{N := N * N} end, M1, lists:seq(1, 3000))}]),
    io:format("~w~n", [maps:fold(fun(K, X, S) -> K * 3 + X + S end, 0, maps:map(fun(_, X) -> X + 1 end, M))]),
    io:format("~w~n", [map_size(maps:filter(fun(K, _) -> K rem 5 =:= 0 end, M))]),
    io:format("~w~n", [lists:sublist(maps:keys(maps:with(lists:seq(10, 100), M)), 50)]),
    io:format("~P~n", [M, 12]).

id(X) -> X.
