%% Short binaries and small maps that built-in functions make: all lengths and places, all ways in which keys meet.
-module(small_parts).
-export([main/1, id/1]).

main(_) ->
    Whole = list_to_binary(lists:seq(200, 221)),
    <<_:3, Shifted/bitstring>> = <<5:3, Whole/binary>>,
    Parts = [part(Binary, From, Length) || Binary <- [Whole, Shifted, binary:copy(Whole, 5), <<>>],
                                           From <- [-1, 0, 1, 7, 8, 21, 22, 23], Length <- lists:seq(-18, 22)],
    io:format("~p ~p~n", [length(Parts), erlang:phash2(Parts)]),
    io:format("~p~n", [lists:sublist(Parts, 40, 60)]),
    io:format("~p~n", [[part(Whole, From, Length) || From <- [1 bsl 58, -(1 bsl 58), 1 bsl 70, a],
                                                     Length <- [0, 1 bsl 58, 1 bsl 70, b]]]),
    true = lists:all(fun(N) -> Made = list_to_binary(lists:duplicate(N, 255)), byte_size(Made) =:= N andalso
                                   Made =:= binary:part(<<Made/binary, 0>>, 0, N) end, lists:seq(0, 70)),
    Texts = [lists:join($,, [lists:duplicate(N, $x) || N <- lists:seq(0, Most)]) || Most <- [0, 1, 2, 15, 20]],
    Split = [binary:split(B, <<",">>, Options) || Text <- Texts, B <- [iolist_to_binary(Text), shifted(Text)],
                                                  Options <- [[], [global], [global, trim], [global, trim_all]]],
    io:format("~p~n~p~n", [erlang:phash2(Split), lists:sublist(Split, 17, 9)]),
    io:format("~p~n", [[integer(B) || T <- ["0", "-0", "+7", "999999999999999999", "-999999999999999999",
        "1000000000000000000", "99999999999999999999", "", "-", "+-1", "1a", " 1"], B <- [list_to_binary(T), shifted(T)]]]),
    io:format("~p~n", [[integer_to_binary(V * N) || V <- [1, -1], N <- [0, 9, 1234567, 12345678, 123456789012345678]]]),
    Keys = subsets([a, 0.0, {x, 1}]) ++ subsets([b, -0.0]),
    Maps = [maps:from_list([{K, {Name, K}} || K <- Chosen]) || Name <- [one, two], Chosen <- Keys],
    Merged = [maps:to_list(maps:merge(A, B)) || A <- Maps, B <- Maps],
    io:format("~p ~p~n", [length(Merged), erlang:phash2(Merged)]),
    io:format("~p~n", [lists:sublist(Merged, 30, 20)]),
    Sizes = [1, 16, 22, 32, 33],
    Ranges = [maps:from_list([{K, {Name, K}} || K <- lists:seq(From, From + Size - 1)])
              || Name <- [one, two], Size <- Sizes, From <- [0, 10]],
    Sums = [begin M = maps:merge(A, B), {maps:size(M), lists:sort(maps:to_list(M))} end || A <- Ranges, B <- Ranges],
    io:format("~p ~p~n", [length(Sums), erlang:phash2(Sums)]),
    Zeros = fun(Others) -> maps:from_list([{0.0, a}] ++ [{N, N} || N <- lists:seq(1, Others)] ++ [{-0.0, b}]) end,
    io:format("~p~n", [[[{K, V} || {K, V} <- maps:to_list(M), is_float(K)]
        || M <- [Zeros(0), Zeros(50), maps:put(-0.0, b, #{0.0 => a}), maps:put(0.0, c, Zeros(50)),
                 (Zeros(50))#{0.0 := c}, #{id(-0.0) => x, id(0.0) => y}]]]),
    A = #{a => 1, b => 2},
    true = A =:= maps:merge(A, A#{b := 2}),
    io:format("~p~n", [maps:merge(A, A#{a := 3})]).

id(Term) -> Term.

part(Binary, From, Length) ->
    try binary:part(Binary, From, Length) catch error:Reason -> Reason end.

%% The same binary, which begins within a byte.
shifted(Text) ->
    <<_:3, Binary/binary>> = <<5:3, (iolist_to_binary(Text))/binary>>,
    Binary.

integer(Binary) ->
    try binary_to_integer(Binary) catch error:Reason -> Reason end.

subsets([]) -> [[]];
subsets([First | Rest]) ->
    Others = subsets(Rest),
    Others ++ [[First | Other] || Other <- Others].
