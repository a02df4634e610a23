%% The string module over lists and binaries, with grapheme clusters.
-module(string_module).
-export([main/1]).

main(_) ->
    [each(S) || S <- ["Hello, World", <<"Hello, World">>, "åäö ÅÄÖ ß", <<"åäö ÅÄÖ ß"/utf8>>, [<<"mix">>, $e, "d ", [[<<"x"/utf8>>]]], "", "e\x{301}tude", "  padded\t\n"]],
    p(string:split("a,b,c", ",", all)), p(string:split("a,b,c", ",")), p(string:split(<<"a,b,c">>, ",", trailing)),
    p(string:replace("banana", "an", "AN")), p(string:replace("banana", "an", "AN", all)),
    p(string:lexemes("a, b;c", ",; ")), p(string:lexemes("a\r\nb", ["\r\n"])),
    p(string:join(["a", "b"], "-")), p(string:tokens("a.b.c", ".")), p(string:find("hello world", "o")), p(string:find("hello world", "o", trailing)),
    p(string:pad("x", 5)), p(string:pad("x", 5, leading, $0)), p(string:pad("x", 5, both, $-)),
    p(string:trim("  x  ", leading)), p(string:trim("xxaxx", both, "x")), p(string:chomp("line\r\n")),
    p(string:prefix("prefix", "pre")), p(string:prefix("prefix", "fix")), p(string:slice("abcdef", 2, 3)), p(string:nth_lexeme("a b c", 2, " ")),
    p(string:equal("abc", <<"abc">>)), p(string:equal("ABC", "abc", true)), p(string:to_integer("42x")), p(string:to_float("4.5x")),
    p(string:titlecase("ß is")), p(string:casefold("Straße")), p(string:take("abc123", "abc")), p(string:take("abc123", "abc", true)), p(string:take("abc123", "0123456789", false, trailing)),
    p([string:substr("hello", 2, 3), string:str("hello", "l"), string:rstr("hello", "l"), string:chr("hello", $l), string:rchr("hello", $l), string:span("aab", "a"), string:cspan("bca", "a"), string:copies("ab", 3), string:words("a b c"), string:centre("x", 5), string:left("abc", 5, $.), string:right("abc", 5, $.), string:strip("  x "), string:to_upper("abc"), string:to_lower("ABC"), string:concat("a", "b"), string:sub_word("a b c", 3), string:chars($x, 3)]),
    p([string:is_empty(""), string:is_empty(<<>>), string:is_empty("a")]).

each(S) ->
    p({string:length(S), string:reverse(S), string:uppercase(S), string:lowercase(S), string:trim(S), string:to_graphemes(S), string:next_grapheme(S), string:next_codepoint(S)}).

p(X) -> io:format("~tp~n", [X]).
