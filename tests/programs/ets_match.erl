%% ETS: match, match_object, select and their like on every type of table, in portions, counting, deleting, replacing.
-module(ets_match).
-export([main/1]).

main(_) ->
    [one(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    [portions(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    ranges(),
    replace(),
    compiled(),
    reverse().

one(Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{I, I rem 3, [I, {I}], #{n => I}} || I <- lists:seq(1, 20)] ++ [{a}, {b, "string", <<1, 2, 3>>}, {1, again}]),
    p(Type),
    p(lists:sort(ets:tab2list(T))),
    p([lists:sort(ets:match(T, P)) || P <- ['_', '$1', {'$1', 0, '_', '_'}, {'$2', '$1', '_', '_'}, {5, '$1', '$2', '$3'}, {'_', '_', ['$1', {'$1'}], #{n => '$1'}},
        {'$1', '$1', '_', '_'}, {'_', '_', '_', #{}}, {'_', '_', '_', #{x => '_'}}, {b, '$7', '_'}, {b, "string", <<1, 2, 3>>}, {}, foo, [], {99, '_'}]]),
    p([lists:sort(ets:match_object(T, P)) || P <- [{'_'}, {1, '_'}, {'_', 2, '_', '_'}, {'$1', '_', ['$1' | '_'], '_'}]]),
    p([lists:sort(ets:select(T, S)) || S <- [
        [{{'$1', '$2', '_', '_'}, [{'>', '$1', 15}], ['$1']}],
        [{{'$1', '$2', '_', '_'}, [{'=:=', '$2', 1}, {'<', '$1', 10}], [{{'$1', {'+', '$1', '$2'}, [x, '$2' | y]}}]}],
        [{{'$1', '_', '$2', '_'}, [{'<', '$1', 4}], [{hd, '$2'}]}],
        [{{'$1', '_', '$2', '_'}, [{'<', '$1', 4}], [{element, 1, {hd, {tl, '$2'}}}]}],
        [{{'$1', '_', '_', '$2'}, [{'==', {map_get, n, '$2'}, 7}], ['$_']}],
        [{{'$1', '_', '_', '$2'}, [{is_map_key, n, '$2'}, {'<', '$1', 3}], [#{k => '$1', '$1' => '$2'}]}],
        [{{a}, [], [first]}, {{b, '_', '_'}, [], [second]}, {{'$1', 0, '_', '_'}, [], ['$1']}],
        [{{1, '_', '_', '_'}, [], ['$_']}, {{2, '_', '_', '_'}, [], ['$$']}, {{1, '_'}, [], [one]}],
        [{{'$1', '_', '_'}, [{is_atom, '$1'}], [{binary_part, {element, 3, '$_'}, 0, 2}]}],
        [{{'$1', '_', '_'}, [], [{length, {element, 2, '$_'}}]}],
        [{{'$1', '_'}, [{'orelse', {is_atom, '$1'}, {'>', '$1', 0}}], ['$$', ok]}],
        [{{'$1'}, [{'not', {is_integer, '$1'}}], [{const, {'$1', '_'}}]}],
        [{{'$1'}, [], [{{self, {{'$1', 'and'}}}}]}],
        [{{'$1'}, [], [{'+', '$1', 1}]}],
        [{{'$1'}, [{'+', '$1', 1}], [never]}],
        []]]),
    p([ets:select_count(T, S) || S <- [[{'_', [], [true]}], [{'_', [], [false]}], [{{'$1', 0, '_', '_'}, [], [{'>', '$1', 5}]}], [{{1, '_'}, [], [true]}], []]]),
    p([ets:select_delete(T, [{{'$1', 0, '_', '_'}, [], [true]}]), ets:info(T, size)]),
    p([ets:match_delete(T, {1, '_'}), ets:match_delete(T, {'_', 1, '_', '_'}), ets:info(T, size)]),
    p([ets:select_delete(T, [{{5, '_', '_', '_'}, [], [true]}, {{8, '_', '_', '_'}, [], [true]}, {{11, '_', '_', '_'}, [], [maybe]}]), lists:sort(ets:match(T, {'$1', '_', '_', '_'}))]),
    p([ets:select_delete(T, [{'_', [], [true]}]), ets:info(T, size), ets:tab2list(T)]).

portions(Type) ->
    T = ets:new(t, [Type, public]),
    ets:insert(T, [{I, I rem 2} || I <- lists:seq(1, 100)]),
    ets:insert(T, [{7, J} || J <- lists:seq(1, 10)]),
    All = fun A('$end_of_table', Next, Acc) -> _ = Next, Acc; A({L, C}, Next, Acc) -> A(Next(C), Next, [L | Acc]) end,
    Spec = [{{'$1', '$2'}, [{'>', '$1', 3}], [{{'$2', '$1'}}]}],
    [begin
        Portions = All(ets:select(T, Spec, N), fun ets:select/1, []),
        p({Type, N, lists:all(fun(L) -> length(L) =< N end, Portions), lists:sort(lists:append(Portions)) =:= lists:sort(ets:select(T, Spec))})
     end || N <- [1, 2, 3, 7, 50, 1000]],
    p(lists:sort(lists:append(All(ets:match(T, {'$1', 0}, 4), fun ets:match/1, []))) =:= lists:sort(ets:match(T, {'$1', 0}))),
    p(lists:sort(lists:append(All(ets:match_object(T, {'_', 1}, 9), fun ets:match_object/1, []))) =:= lists:sort(ets:match_object(T, {'_', 1}))),
    %% Rows come and go between the portions.
    ets:safe_fixtable(T, true),
    {L, C} = ets:select(T, [{'_', [], ['$_']}], 10),
    [ets:insert(T, {I, x}) || I <- lists:seq(1000, 5000)],
    erlang:garbage_collect(),
    Rest = lists:append(All(ets:select(C), fun ets:select/1, [L])),
    p([length([x || {I, _} <- Rest, I < 1000]), length(lists:usort([I || {I, _} <- Rest, I < 1000]))]),
    ets:safe_fixtable(T, false),
    p(ets:select(T, [{{none, '_'}, [], ['$_']}], 5)),
    p(ets:select(T, [{{3, '_'}, [], ['$_']}], 5)).

%% Keys of which the beginning is known, in an ordered table.
ranges() ->
    T = ets:new(t, [ordered_set]),
    ets:insert(T, [{{A, B, C}, C} || A <- [1, 2.0, 3, x], B <- [a, {b}, "c"], C <- [1, 2]] ++ [{{1}}, {{1, a}}, {[]}, {9}]),
    p([ets:match_object(T, {P, '_'}) || P <- [{1, '_', '_'}, {2, '_', 1}, {2.0, '$1', 1}, {x, a, '$1'}, {'_', a, 2}, {1, {'$1'}, '_'}, {3, [$c | '_'], '_'}, {4, '_', '_'}, {'$1', '$2'}, {1, '_', '_', '_'}]]),
    p(ets:match_object(T, {{1, '_'}})),
    p(ets:select_count(T, [{{{x, '_', '_'}, '_'}, [], [true]}])),
    p([ets:select_delete(T, [{{{3, '_', '_'}, '_'}, [], [true]}]), ets:info(T, size)]).

replace() ->
    [begin
        T = ets:new(t, [Type]),
        ets:insert(T, [{I, I, x} || I <- lists:seq(1, 10)]),
        p([ets:select_replace(T, [{{'$1', '$2', '_'}, [{'>', '$2', 5}], [{{'$1', {'*', '$2', 2}, replaced}}]}]), lists:sort(ets:tab2list(T))]),
        p([ets:select_replace(T, S) || S <- [[{{3, '_', '_'}, [], [{{3, three}}]}], [{{'$1', '$2', '_'}, [{'<', '$1', 3}], [{{{element, 1, '$_'}, small}}]}], [{{4, '_', '_'}, [], ['$_']}]]]),
        p(lists:sort(ets:tab2list(T))),
        p([catch_(fun() -> ets:select_replace(T, S) end) || S <- [[{{'$1', '$2', '_'}, [], [{{'$2', '$1'}}]}], [{{'_', '_', '_'}, [], [{{1, 2}}]}], [{{'$1', '_', '_'}, [], ['$1']}]]]),
        %% A map as a pattern matches larger ones, which are other keys.
        Map = #{a => 1},
        ets:insert(T, [{Map#{b => 2}, 1}, {{x, [Map]}, 1}, {y, Map}]),
        p([catch_(fun() -> ets:select_replace(T, [{Head, [], [Result]}]) end) || {Head, Result} <- [{{Map, 1}, {const, {Map, 2}}}, {{{x, [Map]}, 1}, {const, {{x, [Map]}, 2}}}, {{Map, 1}, {{{const, Map}, 2}}}, {{{x, '$1'}, 1}, {{{{x, '$1'}}, Map}}}, {{y, Map}, {const, {y, 2}}}]])
     end || Type <- [set, ordered_set]].

compiled() ->
    Ms = ets:match_spec_compile([{{'$1', "text", '$2'}, [{'>', '$2', 1.5}], [{{'$1', "text", <<"binary">>, {const, {big, 1 bsl 100}}}}]}, {'_', [], ["no match"]}]),
    erlang:garbage_collect(),
    p([ets:is_compiled_ms(Ms), ets:is_compiled_ms(make_ref())]),
    p(ets:match_spec_run([{a, "text", 2}, {b, "text", 1}, {c, 3}, {d, "text", 2.0}], Ms)),
    p(ets:test_ms({a, 1}, [{{'$1', '$2'}, [{'>', '$2', 0}], [{{'$2', '$1'}}]}])),
    p([ets:test_ms({a, b}, S) || S <- [[{{'$1', '$2'}, [], ['$3']}], [{{'$1', '$2'}, [{nothing, 1}], ['$1']}], [{{'$1', '_'}, [], []}], [{{'$1', '_'}, x, [x]}], [a], [{a, b}], [{'_', [], [{}]}],
        [{'_', [], [{const}]}], [{'_', [], [{const, 1, 2}]}], [{'_', [], [{'and'}]}], [{#{'$1' => a}, [], [a]}], [{'_', [], [{"x", 1}]}]]]).

reverse() ->
    T = ets:new(t, [ordered_set]),
    ets:insert(T, [{{I rem 3, I}, I} || I <- lists:seq(1, 12)]),
    p(ets:select_reverse(T, [{{{1, '$1'}, '_'}, [], ['$1']}])),
    p(ets:select(T, [{{{1, '$1'}, '_'}, [], ['$1']}])),
    p(ets:select(T, [{{{'_', '$1'}, 5}, [], ['$1']}])),
    p(ets:match(T, {{2, '$1'}, '$2'})),
    p(ets:match(T, {{2, '$1', '_'}, '$2'})),
    p(ets:match_object(T, {{0, '_'}, '_'})),
    p(ets:select(T, [{{{2, 5}, '_'}, [], ['$_']}, {{{1, 1}, '_'}, [], ['$_']}, {{{2, 99}, '_'}, [], ['$_']}])),
    {L1, C1} = ets:select_reverse(T, [{{'$1', '_'}, [], ['$1']}], 5),
    {L2, C2} = ets:select_reverse(C1),
    {L3, End} = ets:select_reverse(C2),
    p([L1, L2, L3, End]),
    p(ets:select_delete(T, [{{{1, '_'}, '_'}, [], [true]}])),
    p(ets:tab2list(T)),
    p(ets:select(T, [{{{0, '_'}, '$1'}, [], ['$1']}], 4)  =:= '$end_of_table'),
    L = ets:new(l, [ordered_set]),
    ets:insert(L, [{[A, B | C]} || A <- "ab", B <- "xyz", C <- ["", "q", "rs"]]),
    p(ets:match_object(L, {"ay" ++ '_'})),
    p(ets:select(L, [{{[$b, '$1', $r | '_']}, [], [['$1']]}])).

catch_(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
