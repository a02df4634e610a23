%% Boolean operators as values, short circuits, and comparisons used as values.
-module(booleans).
-export([main/1, id/1]).

main(_) ->
    Bs = [true, false],
    p([{A and B, A or B, A xor B, not A} || A <- Bs, B <- Bs]),
    p([{id(A) andalso id(B), id(A) orelse id(B)} || A <- Bs, B <- Bs ++ [not_a_boolean]]),
    p([t(F) || F <- [fun() -> id(x) and true end, fun() -> true or id(x) end, fun() -> id(1) xor true end, fun() -> not id(0) end, fun() -> id(x) orelse true end, fun() -> case id(x) andalso y of true -> 1; false -> 2 end end]]),
    put(n, 0),
    p([touch(false) andalso touch(true), touch(true) orelse touch(false), get(n)]),
    p([is_atom(a) =:= true, (1 < 2) == (2 > 1), {1 =:= 1.0, 1 == 1.0, 1 =/= 1.0, 1 /= 1.0}]),
    p([select(A, B) || A <- Bs, B <- Bs]),
    p([bool_case(X) || X <- [true, false, maybe]]),
    p([is_boolean(X) || X <- [true, false, tru, 1]]),
    p(lists:foldl(fun(X, Acc) -> Acc and (X > 0) end, true, [1, 2, 3])),
    p([{A, complex(A, 5, [])} || A <- [1, 5, 9, a]]).

touch(X) -> put(n, get(n) + 1), X.

select(true, true) -> 3;
select(true, false) -> 2;
select(false, X) -> case X of true -> 1; false -> 0 end.

bool_case(X) -> case X of true -> yes; false -> no; Other -> Other end.

complex(A, B, C) ->
    (A > B andalso C =:= []) orelse (is_integer(A) andalso not (A =:= B) andalso A + B > 5) orelse (C =/= [] andalso hd(C)).

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
