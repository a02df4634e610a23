%% Binary construction and matching of floats of 16, 32 and 64 bits.
-module(bs_construct_float).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, -0.0, 1.0, -1.5, 0.1, 3.141592653589793, 65504.0, 1.0e-5, 6.0e-8, 1.0e10, 3.4028234663852886e38, 1.0e300, 1.0e-300, 5.0e-324,
          0, 1, -7, 1 bsl 40, 1 bsl 64],
    [p({F, S, t(fun() -> <<(id(F)):(id(S))/float>> end), t(fun() -> <<F:S/float-little>> end), t(fun() -> <<1:3, F:S/float, 0:5>> end)})
     || F <- Fs, S <- [16, 32, 64]],
    [begin
         <<G/float>> = <<F/float>>,
         <<_:5, H/float-little>> = <<0:5, F/float-little>>,
         <<K:32/float>> = <<F:32/float>>,
         p({F, G, H, K, G == F})
     end || F <- Fs, abs(F) < 1.0e38],
    p([t(fun() -> <<1.0:(id(S))/float>> end) || S <- [0, 1, 8, 48, 65, -1, a, 128]]),
    p([t(fun() -> <<(id(X))/float>> end) || X <- [a, <<1>>, 1 bsl 1100]]),
    p(t(fun() -> <<(id(1.0e300)):32/float>> end)),
    p(t(fun() -> <<(id(1.0e10)):16/float>> end)),
    p([match(B) || B <- [<<127, 240, 0:48>>, <<127, 248, 0:48>>, <<255, 240, 0:48>>, <<63, 240, 0:48>>, <<1:64>>, <<>>, <<0:63>>]]),
    p([match32(B) || B <- [<<127, 128, 0, 0>>, <<127, 192, 0, 0>>, <<63, 128, 0, 0>>, <<0, 0, 0, 1>>]]),
    p([match16(B) || B <- [<<16#7C, 0>>, <<16#7E, 0>>, <<16#3C, 0>>, <<0, 1>>, <<16#7B, 16#FF>>, <<16#80, 0>>]]),
    p([F || <<F:32/float-little>> <= << <<X:32/float-little>> || X <- [1.0, 2.5, -3.0] >>]).

match(<<F/float>>) -> F;
match(<<N:64>>) -> {not_a_float, N};
match(_) -> none.

match32(<<F:32/float>>) -> F;
match32(B) -> {not_a_float, B}.

match16(<<F:16/float>>) -> F;
match16(B) -> {not_a_float, B}.

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).

id(X) -> X.
