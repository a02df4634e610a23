%% Bignums to and from text in every base.
-module(bigint_text).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 255, -256, 1 bsl 59, -(1 bsl 59), 1 bsl 64, (1 bsl 64) - 1, -(1 bsl 127),
          123456789012345678901234567890, (1 bsl 300) - 1],
    [begin
         S = integer_to_list(N, B),
         N = list_to_integer(S, B),
         N = list_to_integer(string:lowercase(S), B),
         Bin = integer_to_binary(N, B),
         N = binary_to_integer(Bin, B),
         S = binary_to_list(Bin),
         case B of
             10 -> S = integer_to_list(N), N = list_to_integer(S), Bin = integer_to_binary(N);
             _ -> ok
         end,
         io:format("~w: ~s~n", [B, S])
     end || N <- Ns, B <- [2, 3, 8, 10, 16, 27, 36]],
    [io:format("~p: ~p ~p~n", [S, t(fun() -> list_to_integer(id(S)) end),
                               t(fun() -> binary_to_integer(id(list_to_binary(S))) end)])
     || S <- ["", "-", "+", "+5", "-0", "00012", "1 ", " 1", "1_000", "0x10", "1.0", "12a", "--1",
              "99999999999999999999999", "-99999999999999999999999", "+00000000000000000000000001"]],
    [io:format("~p~n", [t(fun() -> integer_to_list(10, id(B)) end)]) || B <- [1, 37, 0, -2, a]],
    [io:format("~p~n", [t(fun() -> list_to_integer(id(S), id(B)) end)])
     || {S, B} <- [{"2", 2}, {"z", 36}, {"Z", 36}, {"z", 35}, {"-ff", 16}, {"+FF", 16}]],
    Huge = lists:duplicate(2000, $7),
    io:format("~w~n", [list_to_integer(Huge) rem 1000000007]),
    io:format("~w~n", [integer_to_list(list_to_integer(Huge)) =:= Huge]),
    io:format("~w~n", [string:to_integer("  12")]),
    io:format("~w~n", [[string:to_integer(S) || S <- ["12abc", "-7,8", "x", "", "123456789012345678901 rest"]]]).

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.
