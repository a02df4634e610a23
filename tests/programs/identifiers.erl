%% Pids, ports and references from texts and bytes that are out of range, malformed or too long; pids count up.
-module(identifiers).
-export([main/1]).
main(_) ->
    Pids = ["<0.0.0>", "<0.1.2>", "<0.268435455.0>", "<0.268435456.0>", "<0.0.8191>", "<0.0.8192>", "<0.0.65535>", "<0.0.4294967295>",
             "<0.0.4294967296>", "<0.4294967296.0>", "<0.536870911.0>","<0.99999999999999999999.0>", "<0.1.99999999999999999999>", "<1.0.0>",
             "<0.0.0", "0.0.0>", "<0.0>", "<0.0.0.0>", "<00.01.02>", "<0.+1.2>", "<0.-1.2>", "< 0.1.2>", "<0.1.2> ", " <0.1.2>", "<.1.2>",
             "<0..2>", "<0.1.>", "", "<>", "<0.1.2>x", "<a.1.2>", "<0.1.2\0>", [$<, 0], a, [a], [$< | a], <<"<0.1.2>">>, 1,
             "<0.00000000000000000000000000000000000000000000000000001.2>", "<0." ++ lists:duplicate(1000, $0) ++ "1.2>",
             [-1], [256], [1 bsl 70], [1.0], "<4294967296.1.2>", "<00000000000.1.2>",
             "#Port<0.1>", "<0.32768.1>", "<0.262144.1>", "<0.1.268435456>", "<0.1.536870912>", "<0.134217728.0>"],
    Ports = ["#Port<0.0>", "#Port<0.1>", "#Port<0.268435455>", "#Port<0.268435456>", "#Port<0.4294967295>", "#Port<0.4294967296>",
             "#Port<0.18446744073709551615>", "#Port<0.999999999999999999999999>", "#Port<1.1>", "#Port<0.1", "Port<0.1>", "#Port<>",
             "#Port<0>", "#Port<0.>", "#Port<.1>", "#Port<0.01>", "#Port<00.1>", "#Port<0.1> ", "#port<0.1>", "", a, [a], "#Port<0.1.2>",
             "#Port<0.-1>", "#Port<0.+1>", "#Port<0.1152921504606846975>", "#Port<0.1152921504606846976>", "#Port<0.9223372036854775808>",
             "#Port", "#", "#Port<0." ++ lists:duplicate(1000, $0) ++ "1>"],
    Refs = ["#Ref<0.0.0.0>", "#Ref<0.1.2.3>", "#Ref<0.262143.2.3>", "#Ref<0.262144.2.3>", "#Ref<0.4294967295.4294967295.4294967295>",
             "#Ref<0.4294967296.0.0>", "#Ref<0.0.4294967296.0>", "#Ref<0.0.0.4294967296>", "#Ref<0.1.2>", "#Ref<0.1>", "#Ref<0>", "#Ref<>",
             "#Ref<0.1.2.3.4>", "#Ref<0.1.2.3.4.5>", "#Ref<0.1.2.3.4.5.6>", "#Ref<1.1.2.3>", "#Ref<0.1.2.3", "#Ref<0.1.2.>", "#Ref<0..2.3>",
             "Ref<0.1.2.3>", "#ref<0.1.2.3>", "", a, [a], "#Ref<0.1.2.3> ", "#Ref<0.01.2.3>", "#Ref<00.1.2.3>", "#Ref<0.-1.2.3>",
             "#Ref<0.99999999999999999999999.2.3>", "#Ref<0.1.2.3\0>", "#Ref<0." ++ lists:duplicate(1000, $0) ++ "1.2.3>"],
    [show(list_to_pid, I) || I <- Pids], [show(list_to_port, I) || I <- Ports], [show(list_to_ref, I) || I <- Refs],
    Edges = [0, 1, 16#3ffff, 16#40000, 16#0fffffff, 16#10000000, 16#7fffffff, 16#80000000, 16#ffffffff],
    Here = <<100, 0, 13, "nonode@nohost">>,
    Pids1 = [<<131, Tag, Here/binary, A:32, B:32, 0:Creation>> || {Tag, Creation} <- [{103, 8}, {88, 32}], A <- Edges, B <- [0, 1, 8191]],
    Ports1 = [<<131, Tag, Here/binary, A:32, 0:Creation>> || {Tag, Creation} <- [{102, 8}, {89, 32}], A <- Edges],
    Ports2 = [<<131, 120, Here/binary, A:64, 0:32>> || A <- Edges ++ [1 bsl 32, (1 bsl 60) - 1, 1 bsl 60, (1 bsl 64) - 1]],
    Refs1 = [<<131, 114, N:16, Here/binary, 0, (binary:copy(<<A:32>>, N))/binary>> || A <- Edges, N <- [1, 2, 3, 4, 5, 6]],
    Refs2 = [<<131, 90, N:16, Here/binary, 0:32, (binary:copy(<<A:32>>, N))/binary>> || A <- Edges, N <- [0, 1, 2, 3, 4, 5, 6]],
    [decoded(Bytes) || Bytes <- Pids1 ++ Ports1 ++ Ports2 ++ Refs1 ++ Refs2],
    % What has ended is not used again for long, and the serial of a young machine is 0.
    Made = [spawn(fun() -> ok end) || _ <- lists:seq(1, 200), wait()],
    Parts = [[list_to_integer(Part) || Part <- string:lexemes(pid_to_list(Pid), "<.>")] || Pid <- Made],
    io:format("~w~n", [[Serial || [_, _, Serial] <- Parts, Serial =/= 0]]),
    Numbers = [Number || [_, Number, _] <- Parts],
    io:format("~w ~w~n", [lists:usort(Numbers) =:= Numbers, lists:last(Numbers) - hd(Numbers) >= 398]),
    io:format("~w~n", [lists:sort(Made) =:= Made]),
    Some = [list_to_pid(Text) || Text <- ["<0.5.1>", "<0.6.0>", "<0.5.0>", "<0.32767.8191>", "<0.0.1>", "<0.32767.0>", "<0.7.300>"]],
    io:format("~w~n~w~n", [lists:sort(Some), [{erlang:phash2(Pid), term_to_binary(Pid)} || Pid <- Some]]).

wait() ->
    {Pid, Reference} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Reference, process, Pid, normal} -> true end.

decoded(Bytes) ->
    Result = try Term = binary_to_term(Bytes), {lists:flatten(io_lib:format("~0p", [Term])), node(Term), Term =:= binary_to_term(Bytes)} catch C:E -> {C, E} end,
    io:format("~0p ~0p~n", [Bytes, Result]).

show(F, Text) ->
    Result = try erlang:F(Text) catch C:E:S -> {C, E, [{M, N, length(As)} || {M, N, As, _} <- lists:sublist(S, 1)]} end,
    Kinds = [is_pid(Result), is_port(Result), is_reference(Result)],
    io:format("~s ~s ~p ~0p~n", [F, string:slice(io_lib:format("~0p", [Text]), 0, 60), Result, Kinds]).
