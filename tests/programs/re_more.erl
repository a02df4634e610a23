%% Regular expressions: options, captures, limits, newline conventions, compiled patterns, errors.
-module(re_more).
-export([main/1]).

main(_) ->
    captures(),
    options(),
    newlines(),
    compiled(),
    unicode(),
    global(),
    split_and_replace(),
    latin1(),
    limits(),
    bad_patterns(),
    bad_arguments(),
    explanations().

captures() ->
    S = "xaybz",
    RE = "(?<one>a)|(?<two>b)|(?<three>q)",
    p([re:run(S, RE, [{capture, C, T}]) || T <- [index, list, binary],
        C <- [all, first, all_but_first, none, [], [0], [1, 2, 3], [3, 2, 9], [one, two], ["two", <<"one">>, nope],
            all_names]]),
    p([re:run("b", RE, [{capture, C, index}]) || C <- [all, all_but_first, [1, 2, 3], all_names]]),
    p(re:run("ab", "(?J)(?<n>x)|(?<n>b)", [dupnames, {capture, [n, "n", 1, 2], list}])),
    p(re:run("ab", "(?<n>a)|(?<n>b)", [dupnames, {capture, all_names, binary}])),
    p(re:run("abc", "b", [{capture, all_names}])),
    p(re:run("abc", "(x)?(b)?(y)?", [{capture, all, list}])),
    p(re:run("abc", "(x)?(b)?(y)?", [{offset, 1}])),
    p(re:run("foobar", "foo\\Kbar")),
    p(re:run(<<"0123456789012345678901234567890123456789012345678901234567890123456789abc">>, "(a)b(c)",
        [{capture, all, binary}])),
    p(re:run(["io", [<<"li">>, $s], "t"], "list")).

options() ->
    p([{O, re:run("a\nB c\n", R, O)} || {R, O} <- [
        {"b", [caseless]}, {"a.B", []}, {"a.B", [dotall]}, {"^B", []}, {"^B", [multiline]}, {"c$", []},
        {"c$", [dollar_endonly]}, {"B  c", [extended]}, {"B\\ c # end", [extended]}, {"B", [anchored]}, {"a", [anchored]},
        {"B", [firstline]}, {"a", [firstline]}, {"(B)(?<n>c| )", [no_auto_capture]}, {"[a-z\n]+", [ungreedy]},
        {"^a", [notbol]}, {"$", [noteol]}, {"c$", [noteol]}, {"x*", [notempty]}, {"x*", [notempty_atstart]},
        {"x*", []}, {"a", [{offset, 1}]}, {"^a", [{offset, 0}, anchored]}, {"\\AB", [{offset, 2}]}, {"\\GB", [{offset, 2}]},
        {"a", [no_start_optimize]}, {"\\w", [ucp]}, {"(?i)b", []}, {"(*ANYCRLF)^B", [multiline]}]]),
    p([re:run("aaa", R) || R <- ["a{2}", "a{2,}?", "a{,2}", "a++", "a*+a", "(?>a+)a", "(a)(?=a)", "(?<=a)a", "(?!b)a", "(?<!^)a"]]),
    p([re:run("((x)(y))", R, [{capture, all, list}]) || R <- ["\\((?:[^()]|(?R))*\\)", "(\\((?:[^()]++|(?1))*\\))", "(?|(x)|(y))"]]),
    p(re:run("abcabc", "(?<w>abc)\\k<w>")),
    p(re:run("aXbX", "(?:a|b(?=X))X?(*SKIP)(*F)|X")),
    p(re:run("j-y", "\\j-\\y")),
    p([re:run("x1_", R) || R <- ["[[:digit:]]", "[[:^alpha:]]", "\\D\\d\\W?\\w", "\\bx", "\\B1", "[^\\W_]+", "\\x31", "\\061", "\\Qx1\\E"]]).

newlines() ->
    S = "a\rb\nc\r\nd",
    p([re:run(S, "^[a-d]", [global, multiline, {newline, N}]) || N <- [cr, lf, crlf, anycrlf, any]]),
    p([re:run(S, "^[a-d]", [global, multiline, {newline, N}, {capture, all, list}]) || N <- [cr, lf, crlf, anycrlf, any]]),
    p([re:run("a\x0bb\r\nc", "\\R", [global, B]) || B <- [bsr_anycrlf, bsr_unicode]]),
    {ok, M} = re:compile("^b", [multiline]),
    p([re:run(S, M, [{newline, N}]) || N <- [cr, lf, any]]),
    p([re:split("a\r\nb\nc", "$", [{newline, N}, multiline]) || N <- [lf, crlf, anycrlf]]).

compiled() ->
    {ok, {re_pattern, 2, 0, 0, B} = M} = re:compile("(a)(b)?"),
    p(is_binary(B)),
    p([re:run("xab", M), re:run("xa", M, [{capture, all_but_first, binary}]), re:run("q", M)]),
    {ok, N} = re:compile(<<"(?<x>a)(?<y>b)">>, [caseless]),
    p([re:inspect(N, namelist), re:inspect(M, namelist)]),
    {ok, D} = re:compile("(?<x>a)|(?<x>b)|(?<a>c)", [dupnames]),
    p(re:inspect(D, namelist)),
    {ok, {re_pattern, G, U, C, _}} = re:compile("(*CRLF)(ä)(.)", [unicode]),
    p({G, U, C}),
    {ok, {re_pattern, _, _, C1, _}} = re:compile("a", [{newline, anycrlf}]),
    p(C1),
    Self = self(),
    spawn(fun() -> Self ! re:run("AB", N) end),
    p(receive X -> X end),
    p(re:run("ab", binary_to_term(term_to_binary(N)), [{capture, [y], list}])).

unicode() ->
    S = "naïve café — ok",
    p(re:run(S, "é", [unicode])),
    p(re:run(S, "[^\\x00-\\x7f]", [unicode, global, {capture, all, list}])),
    p(re:run(S, "\\w+", [unicode, global, {capture, all, list}])),
    p(re:run(S, "\\w+", [unicode, ucp, global, {capture, all, list}])),
    p(re:run(unicode:characters_to_binary(S), "(ï)(v)", [unicode, {capture, all, binary}])),
    p(re:run(unicode:characters_to_binary(S), <<"É"/utf8>>, [unicode, caseless])),
    p(re:run("\x{1F600}x", "^.x$", [unicode])),
    p(re:run("\x{1F600}x", "\\x{1f600}", [unicode])),
    p(re:run("αβγ", "\\p{Greek}+", [unicode])),
    p(re:run("ab1", "\\p{L}+\\p{Nd}", [unicode])),
    p(re:run("e\x{301}x", "\\X", [unicode])),
    p(re:split("añbñc", "ñ", [unicode, {return, list}])),
    p(re:split("añbñc", "", [unicode, {return, binary}])),
    p(re:replace("añb", "ñ", "ö&ö", [unicode, {return, list}])),
    {ok, M} = re:compile("(ñ)", [unicode]),
    p(re:run("xñy", M, [{capture, all, list}])),
    p(re:run(<<"xñy"/utf8>>, M, [{capture, all, binary}])),
    p(t(fun() -> re:run(<<255, 254>>, M) end)),
    p(t(fun() -> re:run(<<"ñ"/utf8>>, M, [{offset, 1}]) end)),
    p(t(fun() -> re:run([16#110000], "x", [unicode]) end)),
    p(re:compile(<<255>>, [unicode])).

global() ->
    p([re:run("abcabc", R, [global]) || R <- ["b", "", "x*", "b|$", "(b)|(c)", "z"]]),
    p([re:run("aXbX", R, [global, {capture, C, T}]) || R <- ["(.)X", "X|"], C <- [all, first, all_but_first, none, [1]], T <- [index, list, binary]]),
    p(re:run("a\r\nb", "$", [global, multiline, {newline, crlf}])),
    p(re:run("a\r\n\r\nb", "", [global, {newline, anycrlf}])),
    p(re:run("aaa", "a", [global, {offset, 1}])),
    p(re:run("caat", "a*?", [global])),
    {ok, M} = re:compile("(?<v>\\d+)"),
    p(re:run("1 22 333", M, [global, {capture, [v], list}])),
    p(re:run("one two", "\\b", [global])).

split_and_replace() ->
    p([re:split("Erlang", "[ln]", [{return, T}, {parts, N}]) || T <- [iodata, list, binary], N <- [1, 2, 3, infinity]]),
    p(re:split("Erlang", "([ln])(x)?", [{return, list}, group])),
    p([re:split(S, R, [{return, list}]) || {S, R} <- [{"", ","}, {",", ","}, {"a,,b", ","}, {"abc", "(b)"}, {"abc", "x?"}, {"a1b22", "\\d+$"}]]),
    p([re:split("a,b,,,", ",", [O, {return, list}]) || O <- [trim, {parts, 0}, {parts, 2}]]),
    p([re:replace("abcd", "c", R, [{return, list}]) || R <- ["[&]", "[\\&]", "\\0\\0", "\\g{0}", "", <<"bin">>, ["io", <<"list">>]]]),
    p(re:replace("2024-05-06", "(\\d+)-(\\d+)-(\\d+)", "\\3.\\2.\\1", [{return, binary}])),
    p(re:replace("abcabc", "(b)", "<\\1>", [global, {return, list}])),
    p(re:replace("abc", "x", "y")),
    p(re:replace("abc", "", "-", [global, {return, list}])),
    p(re:replace("aaa", "a", "b", [{return, list}, {offset, 1}])).

latin1() ->
    p([re:run(<<C>>, "^\\w$", [{capture, none}]) || C <- [16#aa, 16#b5, 16#c0, 16#d7, 16#df, 16#f7, 16#ff]]),
    p(re:run(<<16#c5>>, <<16#e5>>, [caseless])),
    p([[C || C <- lists:seq(0, 255), re:run(<<C>>, Cl, [{capture, none}]) =:= match]
        || Cl <- ["\\s", "[[:upper:]]", "[[:punct:]]", "[[:graph:]]", "[[:cntrl:]]", "\\h", "\\v"]]),
    p([length([D || D <- lists:seq(0, 255), re:run(<<D>>, <<"\\x", (integer_to_binary(C, 16))/binary>>, [caseless, {capture, none}]) =:= match])
        || C <- lists:seq(16, 255)]).

limits() ->
    S = lists:duplicate(25, $a),
    p(re:run(S, "(a+)*(?:b|c)", [{match_limit, 100}])),
    p(re:run(S, "(a+)*(?:b|c)", [{match_limit, 100}, report_errors])),
    p(re:run("abc", "(", [report_errors])),
    p(re:run("abc", "b", [report_errors, {match_limit, 1000}, {match_limit_recursion, 1000}])),
    p(re:run(lists:duplicate(100000, $a), "a*b|(a)*$", [{capture, first}])).

bad_patterns() ->
    p([{P, re:compile(P)} || P <- ["(", ")", "[", "a{2,1}", "*", "a**", "(?<n>a)(?<n>b)", "\\", "[b-a]", "[[:foo:]]", "(?(1)a|b|c)",
        "(?<=a*)b", "\\p{Foo}", "(?P<1a>x)", "\\2", "a)", "(?#abc", "\\x{110000}", "\\L", "(?C256)", "(?(DEFINE)a|b)"]]),
    p(re:compile("\\x{d800}", [unicode])).

bad_arguments() ->
    p([t(F) || F <- [
        fun() -> re:run("a", "(") end, fun() -> re:run("a", "a", [nope]) end, fun() -> re:run(a, "a") end,
        fun() -> re:run("a", a) end, fun() -> re:run("a", {re_pattern, 0, 0, 0, <<"junk">>}) end,
        fun() -> re:run("a", {re_pattern, 0, 0, 0}) end, fun() -> re:compile("a", [global]) end,
        fun() -> re:compile(a) end, fun() -> re:compile("a", [{newline, x}]) end, fun() -> re:compile("a", x) end,
        fun() -> re:run("abc", "a", [{offset, -1}]) end,
        fun() -> re:run("abc", "a", [{capture, x}]) end, fun() -> re:run("abc", "a", [{capture, all, x}]) end,
        fun() -> re:run("abc", "a", [{capture, [1.5]}]) end, fun() -> re:run([300], "a") end,
        fun() -> re:split("a", "(") end, fun() -> re:replace("a", "(", "b") end, fun() -> re:inspect(x, namelist) end,
        fun() -> {ok, M} = re:compile("a"), re:run("a", M, [caseless]) end,
        fun() -> {ok, M} = re:compile("a"), re:inspect(M, other) end,
        fun() -> re:run(<<1:3>>, "a") end, fun() -> re:compile("ä" ++ [400]) end,
        fun() -> re:run("a", "a", [global, {capture, x}]) end]]).

explanations() ->
    p([x(F) || F <- [fun() -> re:run("a", "(") end, fun() -> re:run("a", "a", [nope]) end, fun() -> re:compile(x, [y]) end,
        fun() -> re:compile("a", [nope]) end, fun() -> re:inspect(x, namelist) end, fun() -> re:run(a, "a", []) end]]).

%% What the error is, and what its module says of it.
x(F) ->
    try F()
    catch error:R:Stack ->
        [{M, _, _, Info} | _] = Stack,
        case proplists:get_value(error_info, Info) of
            #{module := E} -> {R, M, E:format_error(R, Stack)};
            Other -> {R, M, Other}
        end
    end.

t(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~0tp~n", [X]).
