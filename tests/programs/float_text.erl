%% Floats to text (shortest, decimals, scientific, compact) and back.
-module(float_text).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, -0.0, 1.0, 0.1, 0.3, 1.5e300, 1.0e21, 1.0e22, 1.0e23, 123456.789, 1.0e15, 1.0e16, 1.0e17, 9.99e15,
          5.0e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 3.141592653589793, 1.0e-3, 1.0e-4, 1.0e-5,
          0.00012345, 100.0, 1.0e5, 299792458.0, 4.35, 2.675, 9007199254740993.0, -123.0e-7],
    [begin
         F = list_to_float(float_to_list(F)),
         F = binary_to_float(float_to_binary(F)),
         F = list_to_float(float_to_list(F, [short])),
         io:format("~w ~p ~s ~s~n", [F, F, float_to_list(F), float_to_binary(F, [short])])
     end || F <- Fs],
    [io:format("~s ~s ~s~n", [t(fun() -> float_to_list(F, [{decimals, 3}]) end),
                              t(fun() -> float_to_list(F, [{decimals, 10}, compact]) end),
                              t(fun() -> float_to_list(F, [{scientific, 5}]) end)])
     || F <- Fs, abs(F) < 1.0e250],
    io:format("~p~n", [[t(fun() -> list_to_float(id(S)) end)
                        || S <- ["1", "1.", ".5", "1.0", "-1.0e5", "1.0E-5", "+2.5", "1.0e400", "1.0e", "1.0e+3",
                                 "1e5", "nan", "inf", " 1.0", "1.0 ", "", "1.7976931348623157e308", "1.0e-400"]]]),
    io:format("~p~n", [[t(fun() -> binary_to_float(id(S)) end)
                        || S <- [<<"1">>, <<"1.0">>, <<"x">>, <<"1.5e3">>, <<"-0.0">>]]]),
    io:format("~p~n", [[t(fun() -> float_to_list(id(X), O) end)
                        || {X, O} <- [{a, []}, {1, []}, {1.0, [{decimals, -1}]}, {1.0, [{decimals, 254}]},
                                      {1.0, [foo]}, {1.0, [{scientific, 250}]}]]]),
    io:format("~p~n", [[string:to_float(S) || S <- ["1.5abc", "2", "-2.5e3x", "", "1.0e"]]]).

t(F) -> try F() catch C:R -> io_lib:format("~w", [{C, R}]) end.

id(X) -> X.
