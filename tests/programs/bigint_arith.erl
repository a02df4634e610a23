%% Bignum add, subtract, multiply, divide against identities and printed digits.
-module(bigint_arith).
-export([main/1, id/1]).

main(_) ->
    io:format("~w~n", [fact(100)]),
    io:format("~w~n", [fib(1000)]),
    io:format("~w~n", [pow(3, 500)]),
    io:format("~w~n", [pow(-7, 301)]),
    Ns = numbers(),
    [begin
         Q = A div B, R = A rem B,
         true = (A =:= Q * B + R),
         true = (abs(R) < abs(B)),
         true = ((A + B) - B =:= A),
         true = ((A - B) + B =:= A),
         true = ((A + B) * (A - B) =:= A * A - B * B),
         true = ((A bxor B) bxor B =:= A),
         true = ((A band B) + (A bor B) =:= A + B),
         true = (bnot A =:= -A - 1),
         io:format("~w ~w ~w~n", [Q, R, A * B])
     end || A <- Ns, B <- Ns, B =/= 0],
    io:format("~w~n", [erlang:phash2([A * B || A <- Ns, B <- Ns])]),
    io:format("~w~n", [[A < B || A <- Ns, B <- Ns]]),
    io:format("~w~n", [pow(10, 2000) div pow(7, 1500)]),
    io:format("~w~n", [pow(10, 2000) rem pow(7, 1500)]),
    io:format("~w~n", [gcd(fact(60), pow(2, 300) * 12345678901234567)]).

numbers() ->
    P = [id(0), id(1), id(9), id(10), 4294967295, 4294967296, 18446744073709551615,
         18446744073709551616, 340282366920938463463374607431768211455, pow(10, 40)],
    P ++ [-N || N <- tl(P)].

fact(0) -> 1;
fact(N) -> N * fact(N - 1).

fib(N) -> fib(N, 0, 1).
fib(0, A, _) -> A;
fib(N, A, B) -> fib(N - 1, B, A + B).

pow(_, 0) -> 1;
pow(B, N) when N rem 2 =:= 0 -> pow(B * B, N div 2);
pow(B, N) -> B * pow(B, N - 1).

gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

id(X) -> X.
