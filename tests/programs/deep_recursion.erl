%% differential: stress=2000
%% Body recursion a million deep, and mutual, through funs, with live data on each frame.
-module(deep_recursion).
-export([main/1, id/1]).

main(_) ->
    p(count(1000000)),
    p(lists:sum(build(300000))),
    p(even(id(1000001))),
    p(erlang:phash2(nested(100000))),
    p(ack(2, 300)),
    p(fib(22)),
    p(frames(20000, a, {b}, [c])),
    p(depth(nested(50000))),
    p(through_fun(fun(F, N) -> if N =:= 0 -> 0; true -> 1 + F(F, N - 1) end end, 200000)),
    Self = self(),
    P = spawn(fun() -> Self ! {self(), count(500000)} end),
    receive {P, X} -> p(X) end.

count(0) -> 0;
count(N) -> 1 + count(N - 1).

build(0) -> [];
build(N) -> [N | build(N - 1)].

even(0) -> true;
even(N) -> not odd(N - 1) =:= false.
odd(0) -> false;
odd(N) -> even(N - 1).

nested(0) -> leaf;
nested(N) -> {N, nested(N - 1)}.

depth(leaf) -> 0;
depth({_, T}) -> 1 + depth(T).

ack(0, N) -> N + 1;
ack(M, 0) -> ack(M - 1, 1);
ack(M, N) -> ack(M - 1, ack(M, N - 1)).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

frames(0, A, B, C) -> length([A, B | C]);
frames(N, A, B, C) ->
    X = {N, A}, Y = [N | C],
    R = frames(N - 1, A, B, C),
    R + element(1, X) rem 3 + hd(Y) rem 5 + tuple_size(B).

through_fun(F, N) -> F(F, N).

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
