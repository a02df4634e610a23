%% Numbers, atoms, lists and binaries converted into each other, with wrong arguments too.
-module(bif_convert).
-export([main/1]).

show(Function, Arguments) -> show(erlang, Function, Arguments).

show(Module, Function, Arguments) ->
    Result =
        try apply(Module, Function, Arguments)
        catch Class:Reason:Stack -> {Class, Reason, top(Stack)}
        end,
    erlang:display({Function, Result}).

top([{M, F, _, Info} | _]) -> {M, F, lists:keyfind(error_info, 1, Info)};
top(Other) -> Other.

each(Functions, Values) ->
    [show(Function, [Value]) || Function <- Functions, Value <- Values],
    ok.

main(_) ->
    Integers = [0, 1, -1, 42, 1 bsl 59, -(1 bsl 59), 1 bsl 60, -(1 bsl 64), 1 bsl 200, 1.0, a],
    each([integer_to_list, integer_to_binary], Integers),
    [show(F, [V, B]) || F <- [integer_to_list, integer_to_binary], V <- [255, -255, 1 bsl 100, a],
                        B <- [2, 8, 16, 36, 1, 37, 0, -1, a, 1 bsl 70]],
    Texts = ["0", "-0", "+7", "", "-", "+", "12a", " 1", "1 ", "123456789012345678901234567890",
             "-99999999999999999999", "1_000", [256], [$1 | $2], [a], a, 1],
    each([list_to_integer, list_to_float, list_to_binary, list_to_atom, list_to_existing_atom], Texts),
    [show(list_to_integer, [T, B]) || T <- ["zz", "ZZ", "ff", "-FF", "8", "1011"], B <- [2, 8, 16, 36, 37, 1, a]],
    [show(binary_to_integer, [T, B]) || T <- [<<"zz">>, <<"-FF">>, <<>>, <<1:3>>, a], B <- [16, 36, 37]],
    each([binary_to_integer, binary_to_float, binary_to_list, bitstring_to_list, binary_to_atom, byte_size],
         [<<>>, <<"12">>, <<"-12">>, <<"1.5">>, <<"1.5e3">>, <<"1.5e400">>, <<"1.">>, <<"1e3">>, <<"x">>, <<1:3>>,
          <<7, 1:3>>, <<128>>, <<194, 128>>, a, []]),
    each([list_to_float], ["1.5", "-1.5", "+1.5", "1.5e-3", "1.5E+3", ".5", "5.", "1.0e", "1.0e309", "1,5", "1.0 "]),
    Floats = [0.0, -0.0, 1.0, 0.1, -1.5e-300, 1.7976931348623157e308, 123456789.123, 1],
    each([float_to_list, float_to_binary], Floats),
    [show(F, [V, O]) || F <- [float_to_list, float_to_binary], V <- Floats,
                        O <- [[], [short], [{decimals, 3}], [{decimals, 3}, compact], [compact, {decimals, 0}],
                              [{scientific, 3}], [{scientific, 0}], [{scientific, 249}], [{scientific, 250}],
                              [{decimals, 253}], [{decimals, 254}], [{decimals, -1}], [foo], [compact], foo,
                              [short | foo], [{decimals, 2}, {scientific, 2}], [short, {decimals, 2}],
                              [{decimals, 2}, short]]],
    Long = lists:duplicate(255, $a),
    each([list_to_atom], [Long, [$a | Long], [16#10ffff], [16#d800], [16#110000], [-1], [a | Long], "å", [1024]]),
    each([list_to_existing_atom], [[$a | Long], "there is no such atom in any program", "true"]),
    each([atom_to_list, atom_to_binary], [a, '', 'Ж', 1, "a"]),
    [show(atom_to_binary, [A, E]) || A <- [a, 'å', 'Ж', 1], E <- [latin1, utf8, unicode, foo, 1]],
    [show(F, [B, E]) || F <- [binary_to_atom, binary_to_existing_atom],
                        B <- [<<"a">>, <<"å"/utf8>>, <<229>>, <<255, 255>>, list_to_binary([$a | Long]), <<1:3>>, 1],
                        E <- [latin1, utf8, unicode, foo]],
    each([tuple_to_list, list_to_tuple, iolist_size, iolist_to_binary, list_to_bitstring],
         [{}, {1}, [], [1, 2], [1 | 2], [<<1>>, [2 | <<3>>]], [<<1:3>>], [[<<1:3>>, 1] | <<2:2>>], [256], [-1], [a],
          <<1>>, <<1:1>>, a, 1, #{}]),
    [show(binary_to_list, [<<1, 2, 3>>, S, E]) || S <- [0, 1, 3, 4], E <- [0, 1, 3, 4]],
    [show(split_binary, [B, P]) || B <- [<<1, 2, 3>>, <<1, 2:4>>, <<>>, a], P <- [0, 1, 2, 3, 4, -1, a, 1 bsl 70]],
    [show(erlang, iolist_to_iovec, [L]) || L <- [[], <<>>, <<1>>, [1, [2, <<3>>] | <<4>>], [1 | 2], a, [<<1:1>>], [256]]],
    [show(F, [P, {a, b, c}, x]) || F <- [setelement, insert_element], P <- [0, 1, 3, 4, 5, -1, a, 1 bsl 70]],
    [show(delete_element, [P, {a, b, c}]) || P <- [0, 1, 3, 4]],
    [show(append_element, [T, x]) || T <- [{}, {a}, a]],
    [show(make_tuple, [N, x, L]) || N <- [0, 2, -1, a], L <- [[], [{1, a}], [{2, a}, {2, b}], [{3, a}], [{0, a}], [a], a]],
    [show(string, F, [S]) || F <- [list_to_integer, list_to_float],
                             S <- ["12", "12x", "-1.5", "+1.5e3x", "1.5e", "", "x", [$1, a], [$1 | a], a, "1,5", "-",
                                   [$1, 1024], "99999999999999999999 ", "1.0e999"]],
    [show(maps, F, [a, M]) || F <- [find, get, is_key, remove, take],
                              M <- [#{}, #{a => 1}, #{a => 1, b => 2}, a, []]],
    [show(maps, F, [a, 2, M]) || F <- [put, update], M <- [#{}, #{a => 1}, a]],
    [show(maps, F, [M]) || F <- [keys, values, from_list, to_list, size],
                           M <- [#{}, #{b => 1, a => 2, 1 => 3, 1.0 => 4}, [], [{a, 1}, {a, 2}], [{a, 1} | b], [a], a]],
    [show(maps, merge, [A, B]) || A <- [#{}, #{a => 1}, a], B <- [#{}, #{a => 2, b => 3}, b]],
    [show(maps, from_keys, [L, x]) || L <- [[], [a, b, a], [a | b], c]],
    [show(lists, F, [b, 1, L]) || F <- [keyfind, keymember, keysearch],
                                  L <- [[], [{a, 1}, {b, 2}], [a, {}, {b}], [{a} | b], [{b} | c], c]],
    [show(lists, keyfind, [b, N, [{b}]]) || N <- [0, 1, 2, -1, a, 1 bsl 70, 1.0]],
    [show(lists, F, [A, B]) || F <- [member, reverse], A <- [1, [], [1, 2], [1 | 2]], B <- [[], [1, 1.0], [2 | 3], 4]],
    [show(F, [A, B]) || F <- ['++', '--', append, subtract], A <- [[], [1, 2, 1], [1 | 2], a], B <- [[], [1], [1 | 2], b]],
    ok.
