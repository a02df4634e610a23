%% queue, array, proplists, and digraph's cousin in lists of pairs.
-module(sequence_modules).
-export([main/1]).

main(_) ->
    Q = lists:foldl(fun queue:in/2, queue:new(), lists:seq(1, 10)),
    p({queue:len(Q), queue:to_list(Q), queue:out(Q), queue:out_r(Q), queue:peek(Q), queue:peek_r(Q), queue:head(Q), queue:last(Q), queue:is_empty(Q), queue:member(5, Q)}),
    p([queue:to_list(X) || X <- [queue:reverse(Q), queue:in_r(0, Q), queue:drop(Q), queue:drop_r(Q), queue:join(Q, Q), queue:filter(fun(X) -> X > 5 end, Q), element(1, queue:split(3, Q)), element(2, queue:split(3, Q)), queue:tail(Q), queue:cons(c, Q), queue:snoc(Q, s), queue:from_list([a]), queue:delete(5, Q)]]),
    p({queue:fold(fun(X, S) -> X + S end, 0, Q), queue:any(fun(X) -> X > 9 end, Q), queue:all(fun is_atom/1, Q)}),
    p(mill(queue:new(), 1, 1000, 0)),
    p([t(fun() -> queue:head(queue:new()) end), t(fun() -> queue:drop(queue:new()) end), queue:out(queue:new()), t(fun() -> queue:in(1, notq) end)]),
    A = lists:foldl(fun(I, X) -> array:set(I * 3, I, X) end, array:new(), lists:seq(0, 99)),
    p({array:size(A), array:sparse_size(A), array:get(9, A), array:get(10, A), array:get(5000, A), array:sparse_to_orddict(A) =:= [{I * 3, I} || I <- lists:seq(0, 99)], erlang:phash2(A)}),
    p({array:foldl(fun(_, V, S) when is_integer(V) -> V + S; (_, _, S) -> S end, 0, A), array:sparse_foldr(fun(I, _, L) -> [I | L] end, [], A) =:= [I * 3 || I <- lists:seq(0, 99)], array:to_list(array:resize(7, A)), array:is_fix(array:fix(A)), array:default(array:new({default, 0}))}),
    p([t(fun() -> array:get(-1, A) end), t(fun() -> array:set(10, x, array:new(5)) end), t(fun() -> array:get(5, array:new([{size, 5}, {fixed, true}])) end)]),
    p({array:to_list(array:map(fun(I, V) -> {I, V} end, array:from_list([a, b]))), array:to_orddict(array:from_orddict([{1, x}, {3, y}]))}),
    L = [a, {b, 1}, {c, 2}, {b, 3}, {d}, "x", {no_e, true}],
    p([proplists:get_value(a, L), proplists:get_value(b, L), proplists:get_value(z, L, def), proplists:get_all_values(b, L), proplists:get_bool(a, L), proplists:lookup(c, L), proplists:lookup_all(b, L), proplists:delete(b, L), proplists:get_keys([{k, 1}]), proplists:is_defined(a, L), proplists:unfold([a, {b, 1}]), proplists:compact([{a, true}, {b, 1}]), proplists:append_values(b, [{b, [1]}, {b, 2}]), proplists:property(x, true), proplists:normalize([no_e, {c, 1}], [{negations, [{no_e, e}]}, {aliases, [{c, cc}]}]), proplists:split(L, [b, a]), proplists:to_map([{a, 1}, b]), proplists:expand([{a, [x, y]}], [a, z]), proplists:substitute_aliases([{c, cc}], L)]).

mill(Q, N, Max, Sum) when N > Max -> {Sum, queue:len(Q)};
mill(Q, N, Max, Sum) when N rem 3 =:= 0 -> {{value, V}, Q1} = queue:out(Q), mill(Q1, N + 1, Max, Sum + V);
mill(Q, N, Max, Sum) -> mill(queue:in(N, Q), N + 1, Max, Sum).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
