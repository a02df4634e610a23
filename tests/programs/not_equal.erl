%% =/=, /=, == and =:= as branches, over numbers of both types and inside of terms.
-module(not_equal).
-export([main/1, id/1]).

main(_) ->
    Ts = [1, 1.0, 0, 0.0, -0.0, a, [1], [1.0], {1, a}, {1.0, a}, #{k => 1}, #{k => 1.0}, #{1 => k}, #{1.0 => k}, 1 bsl 64, 18446744073709551616.0, <<1>>, "", []],
    [io:format("~w ~w: ~w~n", [A, B, [f1(A, B), f2(A, B), f3(A, B), f4(A, B), f5(A, B, 0), f6(A, B), f7(A, B), f8(A)]]) || A <- Ts, B <- Ts].

f1(A, B) when A /= B -> differ; f1(_, _) -> same.
f2(A, B) when A =/= B -> differ; f2(_, _) -> same.
f3(A, B) -> case A /= B of true -> put(x, 1), id(differ); false -> erase(x), id(same) end.
f4(A, B) -> if A == B, A =/= B -> equal_only; A =:= B -> identical; true -> neither end.
f5(A, B, N) when A /= B, N =:= 0; N > 5 -> one; f5(A, B, N) when A == B; N < 0 -> two; f5(_, _, _) -> three.
f6(A, B) -> (A /= B) xor (A =/= B).
f7(A, B) -> A /= B andalso id(differ).
f8(A) when is_float(A), A /= 0 -> nonzero_float; f8(A) when A /= 0 -> nonzero; f8(_) -> zero.

id(X) -> X.
