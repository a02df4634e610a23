%% ETS: rows by their keys, of every type of table: insertion, deletion, traversal by key, counters, elements.
-module(ets_keys).
-export([main/1]).

main(_) ->
    [types(Type, Position) || Type <- [set, ordered_set, bag, duplicate_bag], Position <- [1, 2]],
    [terms(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    [growth(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    [fixed(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    [counters(Type) || Type <- [set, ordered_set]],
    elements(),
    ordered(),
    slots(),
    large().

types(Type, Position) ->
    T = ets:new(t, [Type, {keypos, Position}]),
    Rows = [list_to_tuple(lists:sublist([v, K, N, K], 3 - Position, 3)) || N <- lists:seq(1, 3), K <- [1, 1.0, a, "b", {c}, <<"d">>, 1 bsl 80, []]],
    p([ets:insert(T, R) || R <- Rows]),
    p({Type, Position, ets:info(T, size), sorted(ets:tab2list(T))}),
    p([ets:lookup(T, K) || K <- [1, 1.0, a, "b", {c}, <<"d">>, 1 bsl 80, [], none]]),
    p([catch ets:lookup_element(T, K, 3) || K <- [1, 1.0, a]]),
    p([ets:member(T, K) || K <- [1, 2, {c}]]),
    p([ets:delete_object(T, hd(Rows)), sorted(ets:tab2list(T))]),
    p([ets:insert_new(T, R) || R <- [hd(Rows), lists:last(Rows)]]),
    p([ets:insert_new(T, [setelement(Position, {x, x, x}, K) || K <- Ks]) || Ks <- [[1, new], [new, newer], [new, newest]]]),
    p(lists:sort([ets:take(T, K) || K <- [1, new, none]])),
    p([ets:delete(T, a), ets:delete(T, none), ets:info(T, size)]),
    p([ets:insert(T, Rows ++ Rows), ets:info(T, size)]),
    p([ets:delete_all_objects(T), ets:info(T, size), ets:first(T), ets:last(T), ets:tab2list(T), ets:delete(T)]).

%% Terms of all kinds come back as they were, after collections too.
terms(Type) ->
    T = ets:new(t, [Type]),
    Big = binary:copy(<<"0123456789">>, 100),
    Shared = lists:seq(1, 20),
    Terms = [1, -1 bsl 59, 1 bsl 200, 1.5, atom, [], {}, {a, {b, [c]}}, "list", [1 | 2], #{}, #{a => #{b => 1}},
             maps:from_list([{I, I} || I <- lists:seq(1, 100)]), Big, binary:part(Big, 3, 500), <<1:3>>, <<Big/binary, 5:3>>,
             fun lists:map/2, self(), {Shared, Shared}, [Shared, {Shared}]],
    [ets:insert(T, {X, N, X}) || {N, X} <- lists:enumerate(Terms)],
    erlang:garbage_collect(),
    p({Type, ets:info(T, size), [ets:lookup(T, X) =:= [{X, N, X}] || {N, X} <- lists:enumerate(Terms)]}),
    F = fun(A) -> {A, Big} end,
    ets:insert(T, {f, F}),
    [{f, G}] = ets:lookup(T, f),
    p([G =:= F, G(1) =:= F(1)]),
    R = make_ref(),
    ets:insert(T, {R, T}),
    p([ets:lookup_element(T, R, 2) =:= T orelse ets:lookup_element(T, R, 2) =:= [T]]),
    ets:delete(T).

growth(Type) ->
    T = ets:new(t, [Type, public]),
    N = 3000,
    [ets:insert(T, {I * 7919, I}) || I <- lists:seq(1, N)],
    p({Type, ets:info(T, size), lists:all(fun(I) -> ets:lookup(T, I * 7919) =:= [{I * 7919, I}] end, lists:seq(1, N))}),
    Walk = fun W('$end_of_table', Acc) -> lists:sort(Acc); W(K, Acc) -> W(ets:next(T, K), [K | Acc]) end,
    p(Walk(ets:first(T), []) =:= [I * 7919 || I <- lists:seq(1, N)]),
    [ets:delete(T, I * 7919) || I <- lists:seq(1, N), I rem 3 > 0],
    p([ets:info(T, size), length(Walk(ets:first(T), []))]),
    p(lists:sum([K || {K, _} <- ets:tab2list(T)])),
    [ets:delete(T, I * 7919) || I <- lists:seq(1, N)],
    p([ets:info(T, size), ets:first(T)]),
    [ets:insert(T, {same, I rem 50}) || I <- lists:seq(1, 500)],
    p([ets:info(T, size), length(ets:lookup(T, same)), lists:sublist(ets:lookup(T, same), 3)]),
    ets:delete(T).

%% A traversal of a fixed table meets what is not deleted, whatever happens to the rest.
fixed(Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{I, x} || I <- lists:seq(1, 100)]),
    true = ets:safe_fixtable(T, true),
    Walk = fun W('$end_of_table', Acc) -> lists:sort(Acc);
               W(K, Acc) -> ets:delete(T, K), K =< 100 andalso ets:insert(T, {K + 1000, y}), W(ets:next(T, K), [K | Acc]) end,
    Seen = [K || K <- Walk(ets:first(T), []), K =< 100],
    p({Type, Seen =:= lists:seq(1, 100), ets:info(T, fixed), ets:info(T, size) > 0}),
    {_, [{P, C}]} = ets:info(T, safe_fixed),
    p([P =:= self(), C]),
    ets:insert(T, [{I, again} || I <- lists:seq(1, 10)]),
    p(lists:sort([ets:lookup(T, I) || I <- lists:seq(1, 12)])),
    ets:safe_fixtable(T, true),
    ets:safe_fixtable(T, false),
    p(ets:info(T, fixed)),
    ets:safe_fixtable(T, false),
    p([ets:info(T, fixed), ets:info(T, safe_fixed), lists:sort([ets:lookup(T, I) || I <- lists:seq(9, 12)])]),
    ets:delete_all_objects(T),
    p([ets:info(T, size), ets:first(T)]),
    ets:safe_fixtable(T, true),
    ets:insert(T, {1, x}),
    ets:delete_all_objects(T),
    p([ets:info(T, size), ets:first(T), ets:lookup(T, 1), ets:insert_new(T, {1, y}), ets:lookup(T, 1)]),
    ets:safe_fixtable(T, false),
    p(ets:lookup(T, 1)).

counters(Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, {k, 0, (1 bsl 59) - 1, 1 bsl 90, pad}),
    p([ets:update_counter(T, k, Op) || Op <- [1, -3, {2, 5}, {3, 1}, {3, -1}, {4, 1}, {4, -(1 bsl 90)}, {2, 1, 3, 0}, {2, 1, 4, 0},
         {2, 100, 50, 7}, {2, -100, 0, 9}, [{2, 1}, {2, 1}, {3, 5}], [{2, 0}, {4, 1 bsl 70, 1, 1 bsl 65}]]]),
    p(ets:lookup(T, k)),
    p([ets:update_counter(T, new, 5, {whatever, 10}), ets:update_counter(T, new2, {3, 5}, {whatever, pad, 10, rest}), ets:update_counter(T, new, 5, {whatever, 1000}), ets:update_counter(T, new3, [{2, 1}], {x, 1})]),
    p(lists:sort(ets:tab2list(T))),
    p(catch_(fun() -> ets:update_counter(T, k, [{2, 1}, {5, 1}]) end)),
    p(ets:lookup(T, k)),
    p(catch_(fun() -> ets:update_counter(T, k, 1, x) end)),
    ets:delete(T).

elements() ->
    T = ets:new(t, [{keypos, 2}]),
    ets:insert(T, {a, k, 1, [x], {y}}),
    p([ets:update_element(T, k, Op) || Op <- [{1, b}, {3, [1, 2]}, [{4, 1}, {5, "text"}], [{1, c}, {1, d}], []]]),
    p(ets:lookup(T, k)),
    p([catch_(fun() -> ets:update_element(T, k, Op) end) || Op <- [{2, x}, {0, x}, {6, x}, [{1, x}, {9, x}]]]),
    p(ets:lookup(T, k)).

ordered() ->
    T = ets:new(t, [ordered_set]),
    ets:insert(T, [{K} || K <- [c, "z", 3, 1.5, {a}, {}, [], <<"b">>, #{}, -1, 2.0, 2, b, <<>>, {a, b}]]),
    p(ets:tab2list(T)),
    p([{K, ets:next(T, K), ets:prev(T, K)} || K <- [1.5, 1, 2, 2.0, 100, zzz, "a", <<"zz">>, -5]]),
    p([ets:first(T), ets:last(T), ets:lookup(T, 2.0), ets:lookup(T, 2), ets:member(T, -1.0), ets:member(T, 3.0)]),
    p([ets:delete(T, 3.0), ets:delete_object(T, {2.0}), ets:delete_object(T, {-1.0}), ets:insert(T, {1, b}), ets:insert(T, {1.0, c})]),
    p(ets:tab2list(T)),
    p([ets:slot(T, N) || N <- [0, 1, 13]]),
    p([ets:update_element(T, 1, {2, d}), ets:lookup(T, 1)]).

slots() ->
    T = ets:new(t, []),
    ets:insert(T, [{I} || I <- lists:seq(1, 500)]),
    Slots = fun S(N, Acc) -> case ets:slot(T, N) of '$end_of_table' -> {N, Acc}; L -> S(N + 1, L ++ Acc) end end,
    {N, All} = Slots(0, []),
    p([lists:sort(All) =:= [{I} || I <- lists:seq(1, 500)], catch_(fun() -> ets:slot(T, N + 1) end)]).

large() ->
    T = ets:new(t, []),
    Row = list_to_tuple([key | [{I, [I]} || I <- lists:seq(1, 2000)]]),
    ets:insert(T, Row),
    erlang:garbage_collect(),
    p([ets:lookup(T, key) =:= [Row], ets:lookup_element(T, key, 1500), ets:update_element(T, key, {1000, small}), ets:lookup_element(T, key, 1000)]),
    L = [ets:lookup(T, key) || _ <- lists:seq(1, 20)],
    erlang:garbage_collect(),
    p([length(L), length(lists:usort(L))]).

%% In an order that tells 1 and 1.0 apart.
sorted(L) -> [X || {_, X} <- lists:sort([{term_to_binary(X), X} || X <- L])].

catch_(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
