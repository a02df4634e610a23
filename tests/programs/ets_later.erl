%% Functions of ets and persistent_term that came after OTP 25, held against what says the same in older ones.
-module(ets_later).
-export([main/1]).

main(_) ->
    [table(Type) || Type <- [set, ordered_set, bag, duplicate_bag]],
    updates(),
    terms().

table(Type) ->
    T = ets:new(t, [Type, public]),
    show({Type, empty, call(ets, first_lookup, [T]), call(ets, last_lookup, [T])}),
    ets:insert(T, [{K, K * K, {row, K}} || K <- lists:seq(1, 40)]),
    ets:insert(T, [{7, other, row}, {3, 9, {row, 3}}]),
    show({Type, ordered(Type, walk(T, call(ets, first_lookup, [T]), next_lookup))}),
    show({Type, ordered(Type, walk(T, call(ets, last_lookup, [T]), prev_lookup))}),
    show(catch_all(ets, next_lookup, [T, nothing])),
    show([catch_all(ets, lookup_element, [T, K, P, default]) || K <- [7, 50], P <- [1, 2, 3, 4, 0, x]]).

ordered(ordered_set, Rows) -> Rows;
ordered(_, Rows) -> lists:sort(Rows).

walk(_, '$end_of_table', _) -> [];
walk(T, {Key, Rows}, Next) -> [{Key, lists:sort(Rows)} | walk(T, call(ets, Next, [T, Key]), Next)].

updates() ->
    T = ets:new(t, [{keypos, 2}]),
    show([catch_all(ets, update_element, [T | Arguments])
          || Arguments <- [[k, {1, a}, {d1, d2, d3}], [k, {1, b}, {e1, e2, e3}], [l, [{1, x}, {3, y}], {d1, d2, d3}],
                           [m, {2, x}, {d1, d2, d3}], [m, {4, x}, {d1, d2, d3}], [m, {1, x}, {short}], [m, {1, x}, none],
                           [m, [], {d1, d2, d3}], [m, x, {d1, d2, d3}]]]),
    show(lists:sort(ets:tab2list(T))).

terms() ->
    show([catch_all(persistent_term, put_new, [?MODULE, Value]) || Value <- [[1, {2}], [1, {2}], [1, {2.0}]]]),
    show(persistent_term:get(?MODULE)).

catch_all(M, F, A) -> try call(M, F, A) catch error:Reason -> Reason end.

call(M, F, A) ->
    case erlang:function_exported(M, F, length(A)) of
        true -> apply(M, F, A);
        false -> older(F, A)
    end.

older(first_lookup, [T]) -> rows(T, ets:first(T));
older(last_lookup, [T]) -> rows(T, ets:last(T));
older(next_lookup, [T, K]) -> rows(T, ets:next(T, K));
older(prev_lookup, [T, K]) -> rows(T, ets:prev(T, K));
older(lookup_element, [T, K, P, Default]) ->
    _ = [error(badarg) || not (is_integer(P) andalso P > 0)],
    case ets:member(T, K) of
        true -> ets:lookup_element(T, K, P);
        false -> Default
    end;
older(update_element, [T, K, Spec, Default]) ->
    _ = [error(badarg) || not is_tuple(Default) orelse tuple_size(Default) < 2],
    New = ets:insert_new(T, setelement(2, Default, K)),
    try
        ets:update_element(T, K, Spec)
    catch
        error:Reason ->
            _ = [ets:delete(T, K) || New],
            error(Reason)
    end;
older(put_new, [K, V]) ->
    case persistent_term:get(K, V) of
        V -> persistent_term:put(K, V);
        _ -> error(badarg)
    end.

rows(_, '$end_of_table') -> '$end_of_table';
rows(T, K) -> {K, ets:lookup(T, K)}.

show(Term) -> io:format("~p~n", [Term]).
