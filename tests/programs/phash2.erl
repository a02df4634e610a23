%% erlang:phash2/1,2, phash/2 and crc32, adler32, md5 of many terms.
-module(phash2).
-export([main/1]).
-compile(nowarn_deprecated_function).

main(_) ->
    Terms = [0, 1, -1, 255, 256, 1 bsl 27, -(1 bsl 27), 1 bsl 28, 1 bsl 31, 1 bsl 32, 1 bsl 59, -(1 bsl 59), 1 bsl 60,
             1 bsl 63, 1 bsl 64, -(1 bsl 64), 1 bsl 500, 0.0, 1.0, -1.5, 1.0e300, a, true, '', 'hello world', {}, {1}, {a, b}, {1, {2, {3}}},
             list_to_tuple(lists:seq(1, 300)), [], [1], [a, b], "hello", "", [1 | 2], lists:seq(1, 1000), [300, 400],
             lists:duplicate(300, $a), <<>>, <<1>>, <<"hello">>, <<"hello world, this is longer">>, <<1:3>>, <<5:17>>,
             binary:copy(<<"x">>, 1000), #{}, #{a => 1}, #{1 => 2, 3 => 4}, maps:from_list([{N, N} || N <- lists:seq(1, 50)]),
             fun lists:map/2, fun erlang:abs/1, [<<"bin">>, {a, [1.5, #{x => y}]}], "åäö", [1, 2, a, "xy" | <<"z">>]],
    [io:format("~W ~w ~w ~w~n", [T, 6, erlang:phash2(T), erlang:phash2(T, 1000), erlang:phash2(T, 1 bsl 32)]) || T <- Terms],
    [io:format("~W ~w~n", [T, 6, erlang:phash(T, 100000)]) || T <- Terms, not is_map(T), not is_function(T)],
    io:format("~w~n", [[try erlang:phash2(a, R) catch C:E -> {C, E} end || R <- [0, -1, a, (1 bsl 32) + 1, 1]]]),
    io:format("~w~n", [erlang:phash2(<<0:7, 1:1, "unaligned"/utf8>>)]),
    <<_:3, Sub/bitstring>> = <<5:3, "shifted">>,
    io:format("~w~n", [erlang:phash2(Sub) =:= erlang:phash2(<<"shifted">>)]),
    [io:format("~w ~w ~w~n", [erlang:crc32(B), erlang:adler32(B), erlang:md5(B)])
     || B <- [<<>>, "abc", ["a", <<"b">>, [[$c]]], binary:copy(<<1, 2, 3>>, 1000)]],
    io:format("~w~n", [erlang:crc32(erlang:crc32("abc"), "def") =:= erlang:crc32("abcdef")]),
    io:format("~w~n", [erlang:crc32_combine(erlang:crc32("abc"), erlang:crc32("def"), 3) =:= erlang:crc32("abcdef")]),
    io:format("~w~n", [erlang:adler32_combine(erlang:adler32("abc"), erlang:adler32("def"), 3) =:= erlang:adler32("abcdef")]),
    C0 = erlang:md5_init(),
    C2 = erlang:md5_update(erlang:md5_update(C0, "foo"), "bar"),
    io:format("~w~n", [erlang:md5_final(C2) =:= erlang:md5("foobar")]).
