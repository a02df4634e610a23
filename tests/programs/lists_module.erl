%% Every function of lists that has a BIF or a loop worth running.
-module(lists_module).
-export([main/1]).

main(_) ->
    L = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5],
    T = [{b, 2}, {a, 1}, {c, 3}, {a, 9}, {d, 2.0}],
    p([lists:reverse(L), lists:reverse(L, tail), lists:append([[1], [2, 3], []]), lists:append([1], x), lists:nth(3, L), lists:nthtail(9, L),
       lists:last(L), lists:sublist(L, 3), lists:sublist(L, 3, 4), lists:sublist(L, 100), lists:seq(2, 10, 3), lists:seq(5, 1, -2), lists:seq(1, 0),
       lists:duplicate(3, x), lists:delete(5, L), lists:subtract(L, [5, 3, 7])]),
    p([lists:member(9, L), lists:member(9.0, L), lists:max(L), lists:min(L), lists:sum(L), lists:sum([1, 2.5])]),
    p([lists:sort(L), lists:usort(L), lists:sort(fun(A, B) -> A > B end, L), lists:merge([1, 3, 5], [2, 4]), lists:umerge([[1, 2], [2, 3], [1]]), lists:merge3([1], [0], [2])]),
    p([lists:keysort(2, T), lists:ukeysort(1, T), lists:keyfind(a, 1, T), lists:keyfind(2, 2, T), lists:keyfind(z, 1, T), lists:keysearch(c, 1, T), lists:keymember(2, 2, T),
       lists:keydelete(a, 1, T), lists:keyreplace(a, 1, T, {new}), lists:keystore(z, 1, T, {z}), lists:keytake(c, 1, T), lists:keymap(fun atom_to_list/1, 1, T), lists:keymerge(1, [{a}], [{b}])]),
    p([lists:map(fun(X) -> -X end, L), lists:filter(fun(X) -> X > 3 end, L), lists:filtermap(fun(X) -> X > 3 andalso {true, X * 10} end, L), lists:partition(fun(X) -> X rem 2 =:= 0 end, L),
       lists:flatmap(fun(X) -> [X, X] end, [1, 2]), lists:foldl(fun(X, A) -> [X | A] end, [], L), lists:foldr(fun(X, A) -> [X | A] end, [], L), lists:mapfoldl(fun(X, A) -> {X + A, A + 1} end, 0, L),
       lists:mapfoldr(fun(X, A) -> {X + A, A + 1} end, 0, L), lists:takewhile(fun(X) -> X < 5 end, L), lists:dropwhile(fun(X) -> X < 5 end, L), lists:splitwith(fun(X) -> X < 5 end, L),
       lists:split(4, L), lists:any(fun(X) -> X =:= 9 end, L), lists:all(fun is_integer/1, L), lists:search(fun(X) -> X > 4 end, L), lists:search(fun(X) -> X > 40 end, L)]),
    p([lists:zip([1, 2], [a, b]), lists:unzip(T), lists:zip3([1], [2], [3]), lists:unzip3([{1, 2, 3}]), lists:zipwith(fun(A, B) -> A * B end, [1, 2], [3, 4]), lists:concat([a, 1, 2.5, "s"]),
       lists:flatten([1, [2, [3, [[]]], "ab"]]), lists:flatten([[1], 2], [t]), lists:flatlength([1, [2, [3]]]), lists:join(",", ["a", "b"]), lists:droplast(L), lists:prefix([3, 1], L), lists:suffix([3, 5], L),
       lists:enumerate([a, b]), lists:uniq([1, 2, 1, 3]), lists:zipwith3(fun(A, B, C) -> A + B + C end, [1], [2], [3])]),
    p([t(F) || F <- [fun() -> lists:reverse(a) end, fun() -> lists:reverse([1 | 2]) end, fun() -> lists:nth(0, L) end, fun() -> lists:nth(20, L) end, fun() -> lists:last([]) end, fun() -> lists:max([]) end, fun() -> lists:member(x, [a | b]) end,
                     fun() -> lists:keyfind(a, 0, T) end, fun() -> lists:keyfind(a, 1, x) end, fun() -> lists:keyfind(a, 1, [b | c]) end, fun() -> lists:sort(a) end, fun() -> lists:seq(1, 5, 0) end, fun() -> lists:zip([1], []) end,
                     fun() -> lists:sum([a]) end, fun() -> lists:sublist(L, -1) end, fun() -> lists:split(20, L) end, fun() -> lists:flatten([1 | 2]) end, fun() -> lists:map(fun(X) -> X end, [1 | 2]) end, fun() -> lists:foldl(x, 0, [1]) end]]),
    {_, R} = lists:foldl(fun(_, {S, A}) -> N = (S * 1103515245 + 12345) rem 2147483648, {N, [N rem 1000 | A]} end, {42, []}, lists:seq(1, 5000)),
    S = lists:sort(R),
    p([erlang:phash2(S), erlang:phash2(lists:usort(R)), length(lists:usort(R)), S =:= lists:merge(lists:sort(lists:sublist(R, 2000)), lists:sort(lists:nthtail(2000, R))),
       erlang:phash2(lists:sort(fun(A, B) -> A rem 10 =< B rem 10 end, R)), erlang:phash2(lists:keysort(1, [{X rem 7, X} || X <- R])), lists:keyfind(hd(R), 1, [{X} || X <- lists:reverse(R)])]),
    p([erlang:phash2(lists:reverse(lists:seq(1, 100000))), length(lists:append(lists:seq(1, 50000), lists:seq(1, 10))), lists:member(99999, lists:seq(1, 100000))]).

t(F) -> try F() catch C:R -> {C, case R of {badarity, _} -> badarity; _ -> R end} end.

p(X) -> io:format("~p~n", [X]).
