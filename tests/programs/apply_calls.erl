%% apply in all forms, calls by module and function in variables, exports known and unknown.
-module(apply_calls).
-export([main/1, id/1, f/0, f/1, f/2, f/3, many/12]).

main(_) ->
    M = id(?MODULE), F = id(f),
    p([M:F(), M:F(1), M:F(1, 2), M:F(1, 2, 3)]),
    p([apply(M, F, lists:seq(1, N)) || N <- [0, 1, 2, 3]]),
    p(apply(fun f/2, [a, b])),
    p(apply(fun ?MODULE:f/1, [a])),
    p(last_call(M, F)),
    p(last_apply(M, F, [x])),
    p(apply(id(erlang), id('+'), [1, 2])),
    p(apply(id(lists), id(map), [fun(X) -> X * 2 end, [1, 2, 3]])),
    p((id(erlang)):(id(element))(2, {a, b})),
    p(apply(id(erlang), id(apply), [lists, reverse, [[1, 2]]])),
    p(M:many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
    p(apply(M, many, lists:seq(1, 12))),
    p([bad(G) || G <- [fun() -> M:nope() end, fun() -> apply(M, F, [1, 2, 3, 4]) end, fun() -> apply(nomod, f, []) end, fun() -> (id(1)):f() end,
                       fun() -> M:(id("f"))() end, fun() -> apply(M, F, a) end, fun() -> apply(M, F, [1 | 2]) end, fun() -> apply(id(a), [1]) end,
                       fun() -> apply(fun f/1, []) end]]),
    p(erlang:function_exported(M, f, 3)),
    p(erlang:function_exported(M, f, 4)),
    p(erlang:function_exported(erlang, abs, 1)),
    p(erlang:is_builtin(erlang, abs, 1)),
    p(lists:sort([E || {N, _} = E <- M:module_info(exports), N =/= module_info])),
    p(?MODULE:module_info(module)),
    p(loop(100000, M)).

last_call(M, F) -> M:F(tail).
last_apply(M, F, A) -> apply(M, F, A).

loop(0, _) -> done;
loop(N, M) -> loop(M:id(N - 1), M).

f() -> zero.
f(A) -> {one, A}.
f(A, B) -> {two, A, B}.
f(A, B, C) -> {three, A, B, C}.

many(A, B, C, D, E, F, G, H, I, J, K, L) -> [A + L, B + K, C + J, D + I, E + H, F + G].

bad(F) -> try F() catch C:{badarity, {_, A}} -> {C, badarity, A}; C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
