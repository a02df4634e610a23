%% try, catch, after, of, nesting, rethrow, and values that survive them.
-module(try_catch).
-export([main/1, id/1]).

main(_) ->
    p([one(F) || F <- thunks()]),
    p([catch F() || F <- [fun() -> 1 end, fun() -> throw(t) end, fun() -> exit(e) end]]),
    p([element(1, element(2, catch F())) || F <- [fun() -> error(r) end, fun() -> id(1) + a end, fun() -> (id(x)):f() end]]),
    p([with_after(F) || F <- thunks()]),
    p([of_clause(X) || X <- [1, 2, 3, a]]),
    p(nested()),
    p(rethrown()),
    p(survive(id(1), id([2]), id({3}), id(4.5))),
    p(in_loop(1000, 0)),
    p(deep(2000)),
    p(after_order()),
    p(try throw(id(a)) catch throw:A when A =:= b -> never; throw:a when true -> guarded end),
    p(try error(id({e, 5})) catch error:{e, N} when N > 3 -> N * 2; _:_ -> other end),
    p(catch begin catch throw(id(inner)), throw(id(outer)) end),
    p((catch id(1)) + (catch throw(id(2)))),
    p(try try throw(id(x)) catch error:x -> wrong end catch throw:Y -> {passed, Y} end),
    p(catch try id(4) of 4 -> throw(from_of) catch throw:from_of -> wrong end).

thunks() ->
    [fun() -> ok end, fun() -> throw(ball) end, fun() -> error(bad) end, fun() -> exit(bye) end, fun() -> id(a) + 1 end,
     fun() -> [_ | _] = id([]) end, fun() -> erlang:raise(throw, raised, []) end].

one(F) ->
    try F() of
        V -> {value, V}
    catch
        throw:T -> {thrown, T};
        error:E -> {error, E};
        exit:X -> {exit, X}
    end.

with_after(F) ->
    put(log, []),
    R = (catch try F() catch throw:T -> note(caught), {t, T} after note('after') end),
    {case R of {'EXIT', {Reason, Stack}} when is_list(Stack) -> {'EXIT', Reason}; _ -> R end, lists:reverse(get(log))}.

note(X) -> put(log, [X | get(log)]).

of_clause(X) ->
    try
        try id(X) of
            1 -> one;
            2 -> throw(two);
            3 -> error(three)
        catch
            throw:_ -> never
        end
    catch
        C:{try_clause, V} -> {C, try_clause, V};
        C:R -> {C, R}
    end.

nested() ->
    try
        try
            try error(a) catch error:a -> throw(b) end
        catch
            throw:b -> exit(c)
        after
            put(seen, here)
        end
    catch
        exit:c -> {get(seen), done}
    end.

rethrown() ->
    try
        try id(x) + 1 catch C:R:S -> erlang:raise(C, {wrapped, R, length(S) > 0}, S) end
    catch
        C2:R2 -> {C2, R2}
    end.

survive(A, B, C, D) ->
    R = try id(A + hd(B)) catch _:_ -> no after id(C) end,
    S = try throw(D) catch throw:T -> T * A end,
    {R, S, A, B, C, D}.

in_loop(0, S) -> S;
in_loop(N, S) ->
    V = try maybe_throw(N) catch throw:X -> -X; error:odd -> 1 end,
    in_loop(N - 1, S + V).

maybe_throw(N) when N rem 3 =:= 0 -> throw(N);
maybe_throw(N) when N rem 2 =:= 1 -> error(odd);
maybe_throw(N) -> N.

deep(N) -> try down(N) catch throw:bottom -> surfaced end.
down(0) -> throw(bottom);
down(N) -> [N | down(N - 1)].

after_order() ->
    put(log, []),
    catch try try note(1), error(x) after note(2) end after note(3) end,
    lists:reverse(erase(log)).

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
