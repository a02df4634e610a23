%% Arithmetic that is cut down to its low bits: products, sums and shifts that would be large, and operands that are
%% large, negative, floats or no numbers.
-module(low_bits).
-export([main/1, lcg/1, lcg_minus/2, fnv/2, rotate/2, rotate_right/2, mixed/3, kept/2, guarded/2, shifted/2, squared/1,
         both/4, zero/2, narrow/1, high/2]).

main(_) ->
    Values = [0, 1, -1, 7, -8, 255, 16#7FFFFFFF, -16#80000000, 1 bsl 58, 98765432123456789, (1 bsl 59) - 1,
              -(1 bsl 59), 1 bsl 59, -(1 bsl 59) - 1, 1 bsl 63, -(1 bsl 64), 1 bsl 100 + 12345, 1.5, a],
    Counts = [0, 1, 5, 31, 32, 59, 60, 63, 64, 65, 100, -1, -64, 1 bsl 70, 2.0],
    Hash = lists:foldl(fun(Round, Sum) -> round(Round, Values, Counts, Sum) end, 0, lists:seq(1, 60)),
    io:format("~w~n", [Hash]),
    io:format("~w~n", [[outcome(fun() -> lcg(V) end) || V <- Values]]),
    io:format("~w~n", [[outcome(fun() -> rotate(16#89ABCDEF, C) end) || C <- Counts]]),
    io:format("~w~n", [[outcome(fun() -> rotate_right(16#89ABCDEF, C) end) || C <- Counts]]),
    io:format("~w~n", [[outcome(fun() -> shifted(V, 3) end) || V <- Values]]),
    io:format("~w~n", [[outcome(fun() -> kept(V, 77) end) || V <- Values]]),
    io:format("~w~n", [[outcome(fun() -> guarded(V, 13) end) || V <- Values]]),
    io:format("~w~n", [walk(50000, 42, 0)]).

round(Round, Values, Counts, Sum) ->
    Each = [{V, W, C} || V <- Values, W <- [Round * 7919, lists:nth(1 + Round rem length(Values), Values)],
                         C <- [lists:nth(1 + Round rem length(Counts), Counts)]],
    lists:foldl(fun({V, W, C}, S) ->
        Outcomes = [outcome(F) || F <- [
            fun() -> lcg(V) end, fun() -> lcg_minus(V, W) end, fun() -> fnv(V, W) end, fun() -> rotate(V, C) end,
            fun() -> rotate_right(V, C) end, fun() -> mixed(V, W, C) end, fun() -> kept(V, W) end,
            fun() -> guarded(V, W) end, fun() -> shifted(V, C) end, fun() -> squared(V) end,
            fun() -> both(V, W, C, Round) end, fun() -> zero(V, W) end, fun() -> narrow(V) end]],
        erlang:phash2({S, Outcomes})
    end, Sum, Each).

outcome(F) ->
    try F() catch Class:Reason -> {Class, Reason} end.

lcg(S) -> (S * 1103515245 + 12345) band 16#7FFFFFFF.

lcg_minus(S, T) -> 16#FFFF band (12345 - S * T).

fnv(H, B) -> ((H bxor (B band 255)) * 16777619) band 16#FFFFFFFF.

rotate(X, N) -> ((X bsl N) bor (X bsr (32 - N))) band 16#FFFFFFFF.

rotate_right(X, N) -> ((X bsr N) bor (X bsl (32 - N))) band 16#FFFFFFFF.

mixed(A, B, C) -> ((A * B - C) * (A + B) bxor (C bsl 7)) band 16#FFFFFFFFFFFF.

%% The product is used afterwards.
kept(A, B) ->
    P = A * B * 123456789,
    {P band 16#FFFF, P}.

guarded(A, B) when (A * 1103515245 + B) band 1 =:= 0 -> even;
guarded(A, B) when (A bsl 40) * B band 3 =:= 1 -> {one, A};
guarded(_, _) -> other.

%% To the right from what is whole, and what is not.
shifted(A, N) -> {((A bsl 3 + 5) bsr N * 99991) band 16#FFFFF, high(A, N)}.

high(A, N) -> ((A * 16#123456789AB) bsr N) band 16#FFFFF.

squared(A) -> (A * A * A * A) band 16#FFFFFFFFFFFFFF.

both(A, B, C, D) ->
    X = (A * 31 + B) band 16#FFFFFFF,
    Y = (X * 31 + C) band 16#FFFFFFF,
    {X, Y, (Y * 31 + D) band 16#FFFFFFF}.

zero(A, B) -> (A * B) band 0.

narrow(A) -> ((A * 16#10001) band 255) - 300.

walk(0, _, Sum) -> Sum;
walk(N, S, Sum) ->
    Next = lcg(S),
    Deep = rotate(Next, N rem 32),
    walk(N - 1, Next, (Sum + Deep + keep(Next)) band 16#FFFFFFFF).

%% The result lies in a frame.
keep(S) ->
    T = (S * 40503 + 1) band 16#FFFF,
    id(S) + T.

id(X) -> X.
