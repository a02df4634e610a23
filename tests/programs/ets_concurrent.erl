%% ETS: many processes on the same tables at once; the results do not depend on who comes first.
-module(ets_concurrent).
-export([main/1]).

main(_) ->
    [counters(T) || T <- [set, ordered_set]],
    [inserts(T) || T <- [set, ordered_set, bag, duplicate_bag]],
    [readers(T) || T <- [set, ordered_set]],
    new_only(),
    lists_are_atomic(),
    traverse(),
    tables(),
    rows_outlive().

counters(Type) ->
    T = ets:new(t, [Type, public, {write_concurrency, true}]),
    all(20, fun(_) -> [ets:update_counter(T, I rem 7, {2, 1}, {x, 0}) || I <- lists:seq(1, 2000)] end),
    p({Type, lists:sort(ets:tab2list(T))}).

inserts(Type) ->
    T = ets:new(t, [Type, public]),
    all(10, fun(N) -> [ets:insert(T, {{N, I}, [N | lists:seq(1, I rem 20)]}) || I <- lists:seq(1, 500)], [ets:insert(T, {same, N}) || _ <- [1, 2]] end),
    p({Type, ets:info(T, size), length(ets:lookup(T, same)), lists:sum([length(L) || {{_, _}, L} <- ets:tab2list(T)])}),
    all(10, fun(N) -> [ets:delete(T, {N, I}) || I <- lists:seq(1, 500), I rem 2 =:= 0] end),
    p([ets:info(T, size), ets:select_count(T, [{{{'_', '$1'}, '_'}, [{'=:=', {'rem', '$1', 2}, 0}], [true]}])]).

%% Readers see whole rows while a writer replaces them.
readers(Type) ->
    T = ets:new(t, [Type, public]),
    [ets:insert(T, row(K, 0)) || K <- lists:seq(1, 20)],
    all(6, fun(1) -> [ets:insert(T, row(K, V)) || V <- lists:seq(1, 100), K <- lists:seq(1, 20)];
              (2) -> [[begin [R] = ets:lookup(T, K), whole(R) end || K <- lists:seq(1, 20)] || _ <- lists:seq(1, 100)];
              (3) -> [[whole(R) || R <- ets:tab2list(T)] || _ <- lists:seq(1, 50)];
              (4) -> [[whole(R) || R <- ets:select(T, [{{'$1', '_', '_', '_'}, [{'>', '$1', 10}], ['$_']}])] || _ <- lists:seq(1, 50)];
              (5) -> [begin [R] = ets:lookup(T, I rem 20 + 1), whole(R), erlang:garbage_collect() end || I <- lists:seq(1, 50)];
              (6) -> [ets:insert(T, row(I rem 20 + 1, -I)) || I <- lists:seq(1, 1000)] end),
    p({Type, ets:info(T, size), length([whole(R) || R <- ets:tab2list(T)])}).

row(K, V) -> {K, V, lists:duplicate(10, V), binary:copy(<<V:64>>, 10)}.

whole({_, V, L, B}) -> L = lists:duplicate(10, V), B = binary:copy(<<V:64>>, 10), ok.

new_only() ->
    T = ets:new(t, [public]),
    Won = all(10, fun(N) -> length([I || I <- lists:seq(1, 500), ets:insert_new(T, {I, N})]) end),
    p([lists:sum(Won), ets:info(T, size)]),
    Taken = all(10, fun(_) -> length([I || I <- lists:seq(1, 500), ets:take(T, I) =/= []]) end),
    p([lists:sum(Taken), ets:info(T, size)]).

lists_are_atomic() ->
    T = ets:new(t, [public]),
    Won = all(10, fun(N) -> length([I || I <- lists:seq(1, 100), ets:insert_new(T, [{{I, J}, N} || J <- lists:seq(1, 10)])]) end),
    Owners = [lists:usort([ets:lookup_element(T, {I, J}, 2) || J <- lists:seq(1, 10)]) || I <- lists:seq(1, 100)],
    p([lists:sum(Won), ets:info(T, size), lists:all(fun(O) -> length(O) =:= 1 end, Owners)]).

%% What stays is met once by a traversal, whatever else comes and goes.
traverse() ->
    T = ets:new(t, [public]),
    ets:insert(T, [{{stays, I}} || I <- lists:seq(1, 500)]),
    R = all(4, fun(N) when N < 3 -> [begin ets:insert(T, {{N, I}}), ets:delete(T, {N, I - 10}) end || I <- lists:seq(1, 3000)], ok;
                  (3) -> ets:safe_fixtable(T, true), Keys = walk(T, ets:first(T), []), ets:safe_fixtable(T, false), length([I || {stays, I} <- Keys]);
                  (4) -> length([I || {{stays, I}} <- portions(ets:match_object(T, '_', 10), [])]) end),
    p(R).

walk(_, '$end_of_table', Acc) -> Acc;
walk(T, K, Acc) -> walk(T, ets:next(T, K), [K | Acc]).

portions('$end_of_table', Acc) -> Acc;
portions({L, C}, Acc) -> portions(ets:match_object(C), L ++ Acc).

tables() ->
    Before = length(ets:all()),
    all(20, fun(N) -> [begin T = ets:new(t, []), ets:insert(T, [{I, N} || I <- lists:seq(1, 20)]), 20 = ets:info(T, size), I0 rem 2 =:= 0 andalso ets:delete(T) end || I0 <- lists:seq(1, 20)], ok end),
    p(length(ets:all()) - Before).

%% Rows live on when the process that made them is gone.
rows_outlive() ->
    T = ets:new(t, [public]),
    all(50, fun(N) -> ets:insert(T, {N, lists:seq(1, 200), <<N:8000>>, #{n => N, l => [N, {N}]}}) end),
    erlang:garbage_collect(),
    _ = [lists:seq(1, 1000) || _ <- lists:seq(1, 200)],
    p(lists:all(fun(N) -> ets:lookup(T, N) =:= [{N, lists:seq(1, 200), <<N:8000>>, #{n => N, l => [N, {N}]}}] end, lists:seq(1, 50))).

%% Runs a function in so many processes; gives their results, in order, when they have ended.
all(Count, F) ->
    Self = self(),
    Ps = [spawn_opt(fun() -> receive go -> ok end, Self ! {self(), F(N)} end, [link, monitor]) || N <- lists:seq(1, Count)],
    [P ! go || {P, _} <- Ps],
    [receive {P, R} -> receive {'DOWN', M, _, _, _} -> R end end || {P, M} <- Ps].

p(X) -> io:format("~p~n", [X]).
