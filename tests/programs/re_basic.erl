%% Regular expressions: run, split, replace, options, groups, unicode.
-module(re_basic).
-export([main/1]).

main(_) ->
    p([re:run("hello world", "o w"), re:run("hello", "x"), re:run("ab12cd345", "[0-9]+", [global]), re:run("ab12cd345", "[0-9]+", [{capture, first, list}]), re:run("key=value", "(\\w+)=(\\w+)", [{capture, all_but_first, binary}]), re:run("2024-05-06", "(?<y>\\d+)-(?<m>\\d+)", [{capture, [y, m], list}])]),
    p([re:split("a, b;c", "[,;] ?"), re:split("a1b2c", "[0-9]", [{return, list}]), re:split("abc", "", [{return, list}]), re:split("a,b,,c,,", ",", [trim]), re:split("x(1)y", "(\\d)", [{return, list}, group])]),
    p([re:replace("hello", "l", "L"), re:replace("hello", "l", "L", [global, {return, list}]), re:replace("john smith", "(\\w+) (\\w+)", "\\2, \\1", [{return, binary}]), re:replace("abc", "b", "[&]", [{return, list}])]),
    {ok, MP} = re:compile("^(a|b)*c$", [caseless]),
    p([re:run(S, MP, [{capture, all, list}]) || S <- ["ababc", "ABC", "abd", "c"]]),
    p([re:run("åäö", "ä", [unicode, {capture, all, list}]), re:run("a\nb", "^b", [multiline]), re:run("a\nb", "a.b", [dotall]), re:run("aXb", "a x b", [extended, caseless]), re:run("aaa", "a{2}?", [ungreedy])]),
    p([b(fun() -> re:run("a", "(") end), element(1, re:compile("(")), b(fun() -> re:run(a, "x") end), re:run("foobar", "foo(?=bar)"), re:run("foobar", "(?<!x)bar"), re:run("aa bb", "(\\w)\\1", [global, {capture, all, list}])]),
    Text = lists:flatten([io_lib:format("line ~w: value ~w~n", [N, N * N]) || N <- lists:seq(1, 200)]),
    {match, L} = re:run(Text, "line (\\d+): value (\\d+)", [global, {capture, all_but_first, list}]),
    p({length(L), lists:sum([list_to_integer(V) || [_, V] <- L])}).

b(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~p~n", [X]).
