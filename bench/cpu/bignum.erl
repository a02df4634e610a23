%% Large integers: factorial, powers, division, greatest common divisors, digits.
-module(bignum).
-export([main/1, factorial/2]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [1000, 40]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("bignum ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: bignum ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(N) ->
    F = factorial(N, 1),
    P = power(3, N * 5),
    Q = F * P,
    {length(integer_to_list(F)), erlang:phash2(F div (P + 1)), gcd(Q, power(6, N)) rem 1000000007,
     erlang:phash2((P band F) bxor (Q bsr N)), modpow(7, F, P bor 1) rem 1000003}.

factorial(0, F) -> F;
factorial(N, F) -> factorial(N - 1, F * N).

power(_, 0) -> 1;
power(B, N) when N band 1 =:= 0 -> power(B * B, N bsr 1);
power(B, N) -> B * power(B, N - 1).

gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

modpow(_, E, _) when E < 1 bsl 40 -> E;
modpow(B, E, M) -> modpow(B * B rem M, E bsr 64, M).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
