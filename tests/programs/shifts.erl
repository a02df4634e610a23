%% bsl and bsr by positive, negative and large counts.
-module(shifts).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 5, -5, 12345678901234567890, -12345678901234567890, (1 bsl 59) - 1,
          -(1 bsl 59), 1 bsl 128, -(1 bsl 128), (1 bsl 128) - 1],
    Cs = [0, 1, -1, 3, -3, 31, 58, 59, 60, 63, 64, 65, 127, 128, 129, -59, -60, -64, -128, -200],
    [io:format("~w ~w: ~w ~w~n", [N, C, id(N) bsl id(C), id(N) bsr id(C)]) || N <- Ns, C <- Cs],
    Huge = 1 bsl 70,
    [io:format("~w~n", [R])
     || R <- [id(0) bsl id(Huge), id(1) bsr id(Huge), id(-1) bsr id(Huge), id(0) bsr id(-Huge),
              id(5) bsl id(-Huge), id(-5) bsl id(-Huge)]],
    io:format("~w~n", [[try F() catch C:R -> {C, R} end
                        || F <- [fun() -> id(a) bsl 1 end, fun() -> id(1) bsl id(b) end,
                                 fun() -> id(1.0) bsr 1 end, fun() -> id(1) bsr id(2.0) end]]]).

id(X) -> X.
