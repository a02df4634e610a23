%% Exceptions raised again with their stack trace, from catch, after, and another function.
-module(reraise).
-export([main/1, id/1]).

main(_) ->
    [p(outer(F)) || F <- [fun() -> error(e) end, fun() -> exit(x) end, fun() -> throw(t) end, fun() -> id(1) + a end]],
    p(stack(fun() -> again(fun() -> deep(3) end) end)),
    p(stack(fun() -> try deep(2) after put(ran, true) end end)),
    p(get(ran)),
    p(stack(fun() -> try deep(1) catch C:R:S -> put(s, S), erlang:raise(C, R, S) end end)),
    p(length(get(s)) > 0),
    p(stack(fun() -> try deep(1) catch C1:R1:S1 -> keep(S1), erlang:raise(C1, {again, R1}, S1) end end)),
    p(try erlang:raise(error, x, [{a, b, 1, []}]) catch _:_:S2 -> S2 end),
    p([try erlang:raise(error, x, St) catch C3:R3 -> {C3, R3} end || St <- [[], [bad], not_a_list, [{a, b}], [{m, f, [1], [{line, 3}]}]]]),
    p(stack(fun() -> nested(4) end)),
    {'EXIT', {err, [_ | _]}} = (catch again(fun() -> error(err) end)),
    p(catch again(fun() -> exit(plain) end)).

outer(F) ->
    try again(F) of V -> {value, V}
    catch throw:T -> {throw, T}; C:R -> {C, R}
    end.

again(F) ->
    try F()
    catch C:R:S when C =/= throw -> erlang:raise(C, R, S)
    end.

nested(0) -> error(bottom);
nested(N) -> try [nested(N - 1)] catch error:R:S when N > 0 -> erlang:raise(error, R, S) after put({level, N}, N) end.

deep(0) -> error(deep);
deep(N) -> [deep(N - 1)].

keep(S) -> put(kept, S).

stack(F) ->
    try F() catch C:R:S -> {C, R, [{Fn, A} || {M, Fn, A, _} <- lists:takewhile(fun({_, Fn, _, _}) -> Fn =/= main end, S), M =:= ?MODULE]} end.

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
