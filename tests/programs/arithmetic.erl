%% Integer arithmetic on small numbers and over the small/big border, with every operand order.
-module(arithmetic).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 2, 7, -7, 255, 1 bsl 27, -(1 bsl 27), 1 bsl 31, 1 bsl 32,
          (1 bsl 59) - 1, 1 bsl 59, -(1 bsl 59), -(1 bsl 59) - 1, 1 bsl 60,
          (1 bsl 63) - 1, 1 bsl 63, -(1 bsl 63), 1 bsl 64, -(1 bsl 64), 1 bsl 100],
    [io:format("~w ~w: ~w~n", [A, B, [try_it(F, id(A), id(B)) || F <- operators()]])
     || A <- Ns, B <- Ns],
    [io:format("~w: ~w~n", [A, [-id(A), bnot id(A), abs(id(A)), +id(A), id(A) * id(A),
                                id(A) + 1, id(A) - 1, 1 - id(A), id(A) rem 10, id(A) div 10,
                                id(A) band 16#FF, id(A) bor 1, id(A) bxor -1]])
     || A <- Ns],
    ok.

operators() ->
    [fun(A, B) -> A + B end, fun(A, B) -> A - B end, fun(A, B) -> A * B end,
     fun(A, B) -> A div B end, fun(A, B) -> A rem B end, fun(A, B) -> A band B end,
     fun(A, B) -> A bor B end, fun(A, B) -> A bxor B end, fun(A, B) -> A < B end,
     fun(A, B) -> A =< B end, fun(A, B) -> A == B end, fun(A, B) -> A =:= B end,
     fun(A, B) -> A > B end, fun(A, B) -> A >= B end, fun(A, B) -> A /= B end,
     fun(A, B) -> A =/= B end].

try_it(F, A, B) ->
    try F(A, B) catch error:Reason -> Reason end.

id(X) -> X.
