%% Records: construction, defaults, access, update, matching, nesting, guards, errors.
-module(records).
-export([main/1, id/1]).

-record(point, {x = 0, y = 0, label}).
-record(line, {from = #point{}, to :: #point{} | undefined, tags = [] :: list()}).
-record(empty, {}).

main(_) ->
    P = #point{x = 1},
    p(P), p(P#point.x), p(P#point{y = 2, label = "p"}), p(#point{_ = wild}),
    L = #line{to = P},
    p(L), p((L#line.to)#point.x), p(L#line{from = (L#line.from)#point{x = 9}}),
    p([is_record(P, point), is_record(P, line), is_record(id({point, 1}), point), is_record(id(P), point, 4), is_record(id(P), point, 3)]),
    p([kind(X) || X <- [P, L, #empty{}, {point}, x, #point{x = 5, y = 5}]]),
    p(record_info(fields, line)), p(record_info(size, point)),
    p([#point.x, #point.label]),
    p(t(fun() -> (id(x))#point.x end)), p(t(fun() -> (id({point, 1}))#point.y end)), p(t(fun() -> (id(L))#point{x = 1} end)),
    #point{x = X, y = Y} = id(P),
    p({X, Y}),
    Ps = [#point{x = N, y = N * N, label = N rem 3} || N <- lists:seq(1, 10)],
    p(lists:keysort(#point.label, Ps)),
    p([N || #point{x = N, label = 0} <- Ps]),
    p(lists:foldl(fun(#point{x = A}, #line{tags = T} = S) -> S#line{tags = [A | T]} end, L, Ps)).

kind(#point{x = N, y = N}) -> {diagonal, N};
kind(#point{}) -> point;
kind(R) when is_record(R, line) -> line;
kind(#empty{}) -> empty;
kind(_) -> other.

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
