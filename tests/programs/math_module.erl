%% The math module: values, domain errors.
-module(math_module).
-export([main/1, id/1]).

main(_) ->
    Xs = [0, 0.0, 0.5, 1, -1, -0.5, 2.5, 10, 100.0, -7.25, 1.0e10],
    [p({F, X, t(fun() -> math:F(X) end)}) || F <- [sqrt, floor, ceil, exp, log, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc], X <- Xs],
    [p({F, X, Y, t(fun() -> math:F(X, Y) end)}) || F <- [pow, atan2, fmod], X <- [0, 1, 2, -2, 0.5, 10], Y <- [0, 1, -1, 0.5, 3, 400]],
    p(math:pi()),
    p([t(fun() -> math:sqrt(id(a)) end), t(fun() -> math:pow(1, id(a)) end), t(fun() -> math:exp(id(1000)) end), t(fun() -> math:log(id(1) bsl 2000) end), t(fun() -> math:no(1) end)]),
    p([math:sqrt(1 bsl 100), math:log2(1 bsl 1000), math:floor(2.7), math:ceil(2.1)]).

%% Rounded, so that it does not depend on the last digits of the C library.
t(F) ->
    try F() of V when is_float(V), abs(V) < 1.0e15 -> round(V * 1.0e9) / 1.0e9; V -> V
    catch C:R -> {C, R} end.

id(X) -> X.

p(X) -> io:format("~w~n", [X]).
