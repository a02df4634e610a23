%% Deep iolists: flattening, sizes, output, binaries of every size among them.
-module(iolists).
-export([main/1]).

main(_) ->
    L = build(12),
    p([iolist_size(L), erlang:phash2(iolist_to_binary(L)), iolist_to_binary(lists:flatten([[]])), length(binary_to_list(iolist_to_binary(L)))]),
    p(iolist_to_binary([1, [2, <<3, 4>> | <<5>>], [[[[6]]]] | <<>>])),
    io:put_chars(["put ", [<<"chars">>, $\n]]),
    io:format("~s~n", [[$a, <<"b">>, ["c", [[<<"d">>]]]]]),
    Deep = lists:foldl(fun(N, A) -> [A, N rem 256] end, [], lists:seq(1, 50000)),
    p([iolist_size(Deep), erlang:phash2(iolist_to_binary(Deep))]),
    Right = lists:foldl(fun(N, A) -> [N rem 256 | [A]] end, <<"end">>, lists:seq(1, 50000)),
    p([iolist_size(Right), erlang:phash2(iolist_to_binary(Right)), erlang:phash2(erlang:md5(Right)), erlang:crc32(Right)]),
    p([t(fun() -> iolist_size(X) end) || X <- [a, [a], [1 | 2], [256], [-1], [1.0], [<<1:1>>], {}, [[[b]]]]]),
    p([t(fun() -> list_to_binary(X) end) || X <- [[], [1, 2], [<<>>, "x"], <<"b">>, [[] | <<"t">>], [a]]]),
    V = erlang:iolist_to_iovec([<<"a">>, "b", binary:copy(<<"c">>, 100), [1, 2, [binary:copy(<<"d">>, 3000)]]]),
    p({is_list(V), iolist_size(V), erlang:phash2(iolist_to_binary(V))}),
    p(unicode:characters_to_binary(["å", <<"ä"/utf8>>, [246, [8364]]])),
    p(lists:flatten(io_lib:format("~s-~w", ["x", [1]]))).

build(0) -> <<"leaf">>;
build(N) -> [build(N - 1), N, "s" | build(N - 1)].

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
