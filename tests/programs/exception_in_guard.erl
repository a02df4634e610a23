%% Exceptions in guards are failures of the guard; in the body next to it they are errors.
-module(exception_in_guard).
-export([main/1, id/1]).

main(_) ->
    [p({X, one(X), two(X), three(X), four(X)}) || X <- [1, 0, a, [], [1], {1}, {}, #{}, <<1>>, 2.5, -1]],
    p(case id(0) of N when 1 div N > 0 -> bad; _ -> guard_failed end),
    p(try case id(0) of N2 -> 1 div N2 end catch error:badarith -> body_failed end),
    Empty = id([]),
    p(if hd(Empty) -> a; true -> b end),
    p(receive_guard()),
    p(try throw({a, 0}) catch throw:{a, M} when 1 / M > 0 -> no; throw:_ -> second end),
    p((fun(F) when is_function(F), 1 + F > 0 -> no; (_) -> fell_through end)(fun() -> 1 end)),
    p([X || X <- [1, a, {}, 2], is_atom(X) orelse X > 1]).

one(X) when length(X) =:= 1 -> list; one(X) when tuple_size(X) =:= 1 -> tuple; one(_) -> other.
two(X) when 10 div X > 5; element(1, X) =:= 1 -> yes; two(_) -> no.
three(X) when hd(X) > 0, is_list(X) -> yes; three(X) when map_size(X) =:= 0 orelse X > 0 -> map_or_positive; three(_) -> no.
four(X) when not (X > 0 andalso byte_size(X) =:= 1) -> not_byte; four(_) -> byte.

receive_guard() ->
    self() ! a, self() ! 0, self() ! 5,
    A = receive N when 10 div N =:= 2 -> N end,
    B = receive X when is_atom(X); 1 div X > 0 -> X end,
    C = receive Y -> Y end,
    {A, B, C}.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
