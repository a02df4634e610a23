%% A table of format strings: every control, with widths, precisions, padding, modifiers.
-module(format_table).
-export([main/1]).

main(_) ->
    [begin
         R = try lists:flatten(io_lib:format(F, A)) catch C:E -> {C, E} end,
         io:format("~p ~p: ~ts~n", [F, A, case R of {C2, E2} -> io_lib:format("~p", [{C2, E2}]); _ -> ["|", R, "|"] end])
     end || {F, A} <- table()],
    io:format("~s~n", [io_lib:write({a, [1, 2.5 | "x"], <<"b">>, #{k => "v"}})]),
    io:format("~s~n", [io_lib:write(lists:seq(1, 100), 10)]),
    io:format("~s~n", [io_lib:print([{long_atom_name, lists:seq(1, 30)}, "a string", {nested, [{x, y}, {z, "w"}]}], 5, 40, 8)]),
    io:format("~p~n", [[io_lib:printable_list("abc"), io_lib:printable_list([1, 2]), io_lib:printable_unicode_list([955]), io_lib:quote_atom('A', []), io_lib:write_string("q\"\n"), io_lib:write_char($\n), io_lib:char_list([1000]), io_lib:latin1_char_list("x"), io_lib:deep_char_list(["a", [$b]]), io_lib:nl(), io_lib:indentation("ab\ncd", 0)]]),
    io:format("~p~n", [[io_lib:fread(F, S) || {F, S} <- [{"~d", "42 rest"}, {"~f", "2.5"}, {"~s ~d", "word 7"}, {"~a", "atom"}, {"~c", "x"}, {"~16u", "ff"}, {"~#", "16#ff"}, {"~d", "x"}, {"~d ~d", "1"}, {"a~l", "a"}]]]),
    p(lists:seq(1, 200)),
    p([{key, N, #{name => "value" ++ integer_to_list(N), list => lists:seq(1, N)}} || N <- lists:seq(1, 12)]),
    p(nested(12)),
    p([atom, 'Quoted Atom', 'with\'quote', [], {}, #{}, "", <<>>, <<"bin">>, <<1, 2, 3>>, <<"bin", 0>>, <<5:3>>, 1.0, -0.0, 1.0e100, "a\tb", [0, 1], "åäö", [1000], $a, 'åä', '日']),
    p(#{a => #{b => #{c => lists:duplicate(30, "text")}}}),
    p({"a long string which does not fit on one line because it goes on and on and on until it is over eighty columns wide", <<"a long binary which does not fit on one line because it goes on and on and on until it is over eighty columns">>}).

table() ->
    [{"plain", []}, {"~~", []}, {"~n~n", []}, {"~c", [65]}, {"~3c", [65]}, {"~5.2c", [65]}, {"~tc", [955]}, {"~c", [a]}, {"~s", ["str"]}, {"~10s", ["str"]}, {"~-10s|", ["str"]}, {"~10.2s", ["str"]}, {"~.2s", ["string"]}, {"~3s", ["string"]},
     {"~s", [atom]}, {"~s", [<<"bin">>]}, {"~s", [["io", <<"list">>, $x]]}, {"~ts", ["åλ"]}, {"~s", ["λ"]}, {"~ts", [<<"åλ"/utf8>>]}, {"~s", [12]}, {"~w", ["str"]}, {"~w", [{a, 'B c', 1.5}]}, {"~10w", [abc]}, {"~-10w|", [abc]}, {"~2w", [abc]}, {"~5.5.*w", [$0, 42]}, {"~..0w", [5]}, {"~3..0w", [5]},
     {"~p", ["str"]}, {"~p", [[1, 2, 3]]}, {"~p", [{a, "b", <<"c">>}]}, {"~20p", [lists:seq(1, 10)]}, {"~-20p", [abc]}, {"~lp", ["abc"]}, {"~tp", ["λ"]}, {"~p", ["λ"]}, {"~tw", ['λ']}, {"~w", ['λ']}, {"~P", [lists:seq(1, 50), 9]}, {"~W", [lists:seq(1, 50), 9]}, {"~P", [{a, {b, {c, {d, e}}}}, 4]}, {"~W", ["abcdefgh", 3]},
     {"~f", [3.14159]}, {"~.2f", [3.14159]}, {"~10.3f", [3.14159]}, {"~-10.3f|", [3.14159]}, {"~f", [1]}, {"~.1f", [0.05]}, {"~.0f", [2.5]}, {"~f", [1.0e20]}, {"~5f", [123456.0]}, {"~.20f", [0.1]}, {"~e", [3.14159]}, {"~.3e", [31415.9]}, {"~12.4e", [0.000314]}, {"~e", [0.0]}, {"~g", [3.14159]}, {"~g", [1.0e10]}, {"~g", [1.0e-5]}, {"~.3g", [100.0]}, {"~g", [0.0]}, {"~f", [a]},
     {"~b", [42]}, {"~8b", [42]}, {"~8..0b", [42]}, {"~-8b|", [42]}, {"~.16b", [255]}, {"~.16B", [255]}, {"~.2b", [10]}, {"~.36B", [123456]}, {"~b", [-42]}, {"~.16B", [1 bsl 70]}, {"~b", [1.0]}, {"~.1b", [5]}, {"~x", [255, "0x"]}, {"~.16x", [255, "0x"]}, {"~.16X", [-255, "0x"]}, {"~10.16x", [255, "0x"]}, {"~#", [255]}, {"~.16#", [255]}, {"~.2#", [5]}, {"~.16+", [255]}, {"~+", [-5]},
     {"~i~w", [ignored, kept]}, {"~*s", [8, "x"]}, {"~*.*f", [10, 2, 3.14159]}, {"~*c", [3, $z]}, {"~5c", [$a]}, {"~w ~w", [1]}, {"~w", [1, 2]}, {"~q", [1]}, {"~", []}, {"~w", x}, {"~5", [1]}, {"\x{3bb}~w", [1]}, {"~kp", [#{b => 1, a => 2}]}, {"~ts~n", [[<<"a">>, "b" | <<"c">>]]}].

nested(0) -> [];
nested(N) -> {N, [nested(N - 1)], "text"}.

p(X) -> io:format("~p~n", [X]).
