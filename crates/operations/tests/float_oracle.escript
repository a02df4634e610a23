%% Prints floats as stock Erlang writes them, one line each: bits, format, digits, text ("badarg" where it refuses).
%% Then texts that it reads: "read", the text in hex, bits or "badarg".
-mode(compile).

main([Seed]) ->
    rand:seed(exsss, list_to_integer(Seed)),
    [write(F) || F <- values()],
    [read(T) || T <- texts()].

values() ->
    Powers = [bits(E bsl 52) || E <- lists:seq(0, 2046)],
    Near = [bits((E bsl 52) + D) || E <- lists:seq(1, 2046, 7), D <- [-1, 1]],
    Tens = [list_to_float("1.0e" ++ integer_to_list(E)) || E <- lists:seq(-323, 308)],
    Any = [bits(rand:uniform(16#7ff0000000000000) - 1) || _ <- lists:seq(1, 3000)],
    Plain = [rand:uniform(1000000) / pow10(rand:uniform(9)) || _ <- lists:seq(1, 3000)],
    Ties = [rand:uniform(100000) / (1 bsl rand:uniform(12)) || _ <- lists:seq(1, 3000)],
    Wide = [(rand:uniform(1 bsl 53) - 1) * math:pow(2, rand:uniform(120) - 100) || _ <- lists:seq(1, 3000)],
    [0.0, -0.0, 0.49999999999999994, 9007199254740991.5 | Powers ++ Near ++ Tens ++ Any ++ Plain ++ Ties ++ Wide].

pow10(N) -> trunc(math:pow(10, N)).

bits(B) -> <<F/float>> = <<B:64>>, F.

write(F0) ->
    F = case rand:uniform(4) of 1 -> -F0; _ -> F0 end,
    D1 = rand:uniform(22) - 1,
    D2 = rand:uniform(260) - 1,
    S = rand:uniform(252) - 1,
    show(F, short, 0, [short]),
    show(F, scientific, 20, []),
    show(F, scientific, S, [{scientific, S}]),
    show(F, scientific, D1, [{scientific, D1}]),
    show(F, decimals, D1, [{decimals, D1}]),
    show(F, compact, D1, [{decimals, D1}, compact]),
    show(F, decimals, D2, [{decimals, D2}]),
    show(F, compact, D2, [{decimals, D2}, compact]).

show(F, Kind, Digits, Options) ->
    Text = try float_to_list(F, Options) catch error:badarg -> "badarg" end,
    <<B:64>> = <<F/float>>,
    io:put_chars([integer_to_list(B), $\s, atom_to_list(Kind), $\s, integer_to_list(Digits), $\s, Text, $\n]).

texts() ->
    [text() || _ <- lists:seq(1, 20000)].

text() ->
    case rand:uniform(3) of
        1 -> [lists:nth(rand:uniform(16), "0123456789..,eE+-") || _ <- lists:seq(1, rand:uniform(8))];
        2 -> digits(20) ++ "." ++ digits(30) ++ "e" ++ integer_to_list(rand:uniform(660) - 330);
        3 -> float_to_list(bits(rand:uniform(16#7ff0000000000000) - 1), [{scientific, rand:uniform(20)}])
    end.

digits(N) -> [$0 + rand:uniform(10) - 1 || _ <- lists:seq(1, rand:uniform(N))].

read(T) ->
    Result = try <<B:64>> = <<(list_to_float(T))/float>>, integer_to_list(B) catch error:badarg -> "badarg" end,
    {Value, Rest} = case string:to_float(T) of {error, _} -> {"none", 0}; {F, R} -> <<P:64>> = <<F/float>>, {integer_to_list(P), length(T) - length(R)} end,
    io:put_chars(["read ", T, $\s, Result, $\s, Value, $\s, integer_to_list(Rest), $\n]).
