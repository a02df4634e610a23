%% ETS: owners, heirs, names, protection, options, and what becomes of tables when processes end.
-module(ets_owner).
-export([main/1]).

main(_) ->
    Self = self(),
    %% A table dies with its owner, before anybody learns of it.
    {P1, M1} = spawn_monitor(fun() -> ets:new(mortal, [named_table, public]), ets:new(other, [named_table]), Self ! ready, receive stop -> ok end end),
    receive ready -> ok end,
    p([ets:insert(mortal, {a, 1}), ets:lookup(mortal, a), ets:whereis(mortal) =/= undefined, ets:info(mortal, owner) =:= P1, ets:info(other, protection)]),
    P1 ! stop,
    receive {'DOWN', M1, _, _, _} -> ok end,
    p([ets:whereis(mortal), ets:info(other), catch_(fun() -> ets:lookup(mortal, a) end)]),
    %% Or goes to its heir.
    {P2, M2} = spawn_monitor(fun() -> T = ets:new(legacy, [named_table, {heir, Self, {data, [1, 2, "x"]}}]), ets:insert(T, [{I, I} || I <- lists:seq(1, 100)]), ets:insert(T, {big, lists:seq(1, 1000)}) end),
    receive {'DOWN', M2, _, _, _} -> ok end,
    receive {'ETS-TRANSFER', legacy, P2, Data} -> p(Data) after 20000 -> p(no_transfer) end,
    p([ets:info(legacy, owner) =:= Self, ets:info(legacy, heir) =:= Self, ets:info(legacy, size), length(ets:lookup_element(legacy, big, 2)), ets:insert(legacy, {new})]),
    %% An heir that is no more gets nothing.
    {Dead, MD} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', MD, _, _, _} -> ok end,
    {_, M3} = spawn_monitor(fun() -> ets:new(lost, [named_table, {heir, Dead, x}]) end),
    receive {'DOWN', M3, _, _, _} -> ok end,
    p(ets:whereis(lost)),
    %% Given away.
    {P4, M4} = spawn_monitor(fun() -> receive {'ETS-TRANSFER', T4, From, Gift} -> Self ! {got, From =:= Self, Gift, ets:info(T4, owner) =:= self(), catch_(fun() -> ets:insert(T4, {1}) end)} end, receive stop -> ok end end),
    p([ets:give_away(legacy, P4, {gift, <<"x">>})]),
    receive {got, A, B, C, D} -> p([A, B, C, D]) end,
    p([catch_(fun() -> ets:insert(legacy, {1}) end), catch_(fun() -> ets:give_away(legacy, Self, x) end), catch_(fun() -> ets:delete(legacy) end)]),
    P4 ! stop,
    receive {'DOWN', M4, _, _, _} -> ok end,
    receive {'ETS-TRANSFER', legacy, P4, Data2} -> p(Data2) after 20000 -> p(no_transfer) end,
    %% Options that change.
    p([ets:setopts(legacy, {heir, none}), ets:info(legacy, heir), ets:setopts(legacy, [{heir, Self, x}]), ets:info(legacy, heir) =:= Self]),
    p([ets:rename(legacy, renamed), ets:whereis(legacy), ets:info(renamed, name), ets:info(renamed, size)]),
    R = ets:whereis(renamed),
    p([is_reference(R), ets:info(renamed, id) =:= R, ets:lookup(R, 1), ets:info(R, named_table)]),
    ets:delete(renamed),
    p([ets:info(R), catch_(fun() -> ets:lookup(R, 1) end), ets:whereis(renamed)]),
    %% Protection.
    protection(Self),
    %% What ends fixes nothing any more.
    T5 = ets:new(t, [public]),
    ets:insert(T5, [{I} || I <- lists:seq(1, 10)]),
    {P6, M6} = spawn_monitor(fun() -> ets:safe_fixtable(T5, true), Self ! fixed, receive stop -> ok end end),
    receive fixed -> ok end,
    ets:delete(T5, 3),
    p([ets:info(T5, fixed), ets:info(T5, size)]),
    P6 ! stop,
    receive {'DOWN', M6, _, _, _} -> ok end,
    p([ets:info(T5, fixed), ets:info(T5, size)]),
    p(lists:member(T5, ets:all())),
    p([{O, options(O)} || O <- [[], [private, {write_concurrency, true}, {read_concurrency, true}], [public, {write_concurrency, auto}], [public, ordered_set, {write_concurrency, true}],
        [bag, {write_concurrency, true}, {decentralized_counters, true}], [duplicate_bag, compressed, {keypos, 7}], [set, bag, ordered_set], [public, private, {keypos, 3}, {keypos, 2}]]]).

options(Options) ->
    T = ets:new(name, Options),
    R = [{I, ets:info(T, I)} || I <- [type, protection, keypos, read_concurrency, compressed, named_table, name, node, heir, size]],
    Keys = [K || {K, _} <- ets:info(T)],
    ets:delete(T),
    {R, Keys}.

protection(Self) ->
    Ts = [ets:new(t, [P]) || P <- [public, protected, private]],
    [ets:insert(T, {k, 1}) || T <- Ts],
    spawn(fun() -> Self ! {result, [[catch_(F) || F <- [fun() -> ets:lookup(T, k) end, fun() -> ets:insert(T, {k, 2}) end, fun() -> ets:update_counter(T, k, 1) end, fun() -> ets:member(T, k) end,
        fun() -> ets:first(T) end, fun() -> ets:tab2list(T) end, fun() -> ets:select_count(T, [{'_', [], [true]}]) end, fun() -> ets:select_delete(T, [{{x}, [], [true]}]) end, fun() -> ets:info(T, size) end,
        fun() -> ets:safe_fixtable(T, false) end, fun() -> ets:setopts(T, {heir, none}) end, fun() -> ets:rename(T, x) =:= T end, fun() -> ets:delete_object(T, {x}) end]] || T <- Ts]} end),
    receive {result, R} -> [p(X) || X <- R] end,
    p([ets:lookup(T, k) || T <- Ts]).

catch_(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
