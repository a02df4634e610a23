%% The binary module.
-module(binary_module).
-export([main/1, id/1]).

main(_) ->
    B = <<"abracadabra">>,
    p([binary:at(B, 0), binary:first(B), binary:last(B), binary:bin_to_list(B), binary:bin_to_list(B, 2, 3), binary:list_to_bin("xy"), binary:part(B, 3, 4), binary:part(B, {11, -4}), binary:copy(B), binary:copy(<<"ab">>, 3), binary:copy(<<>>, 100)]),
    p([binary:match(B, <<"abra">>), binary:match(B, [<<"cad">>, <<"dab">>]), binary:match(B, <<"zz">>), binary:matches(B, <<"a">>), binary:matches(B, [<<"ab">>, <<"abra">>, <<"b">>]), binary:match(B, <<"a">>, [{scope, {1, 5}}]), binary:matches(B, <<"a">>, [{scope, {11, -6}}])]),
    p([binary:split(B, <<"a">>), binary:split(B, <<"a">>, [global]), binary:split(B, [<<"br">>, <<"d">>], [global]), binary:split(B, <<"a">>, [global, trim]), binary:split(B, <<"a">>, [global, trim_all]), binary:split(<<>>, <<"a">>), binary:split(B, <<"q">>)]),
    p([binary:replace(B, <<"a">>, <<"[a]">>), binary:replace(B, <<"a">>, <<"[]">>, [global, {insert_replaced, 1}]), binary:replace(B, [<<"ab">>, <<"ra">>], <<"-">>, [global])]),
    p([binary:longest_common_prefix([<<"prefix">>, <<"pretty">>, <<"pre">>]), binary:longest_common_suffix([<<"testing">>, <<"ring">>]), binary:compile_pattern(<<"x">>) =/= [], binary:encode_unsigned(123456789), binary:encode_unsigned(16#0102, little), binary:decode_unsigned(<<1, 2, 3>>), binary:decode_unsigned(<<1, 2, 3>>, little), binary:decode_unsigned(<<>>), binary:encode_hex(<<1, 171, 255>>), binary:decode_hex(<<"01abFF">>), binary:encode_unsigned(1 bsl 100)]),
    P = binary:compile_pattern([<<"ra">>, <<"da">>]),
    p([binary:matches(B, P), binary:split(B, P, [global])]),
    Big = binary:copy(<<"the quick brown fox jumps over the lazy dog ">>, 500),
    p([length(binary:matches(Big, <<"fox">>)), length(binary:matches(Big, [<<"fox">>, <<"dog">>, <<"own fox j">>])), length(binary:split(Big, <<" ">>, [global])), erlang:phash2(binary:replace(Big, <<"o">>, <<"00">>, [global])), binary:match(Big, <<"dog the lazy">>), erlang:phash2(binary:bin_to_list(Big))]),
    p([{t(F)} || F <- [fun() -> binary:at(B, 11) end, fun() -> binary:at(B, -1) end, fun() -> binary:first(<<>>) end, fun() -> binary:part(B, 5, 20) end, fun() -> binary:part(B, -1, 2) end, fun() -> binary:match(B, <<>>) end, fun() -> binary:match(B, []) end,
                       fun() -> binary:match(a, <<"x">>) end, fun() -> binary:copy(B, -1) end, fun() -> binary:split(B, <<"a">>, [bad]) end, fun() -> binary:matches(B, <<"a">>, [{scope, {0, 100}}]) end, fun() -> binary:encode_unsigned(-1) end, fun() -> binary:decode_unsigned(a) end,
                       fun() -> binary:decode_hex(<<"0g">>) end, fun() -> binary:longest_common_prefix([]) end, fun() -> binary_part(id(B), 11, 1) end, fun() -> binary:bin_to_list(<<1:1>>) end, fun() -> split_binary(id(B), 12) end]]),
    p([split_binary(B, 4), split_binary(B, 0), binary_part(B, 2, 2), binary_part(B, {2, -2}), byte_size(B), bit_size(<<1:9>>), byte_size(<<1:9>>), binary_to_list(B, 2, 4), list_to_binary([B, 1]), binary_to_atom(B), binary_to_existing_atom(<<"ok">>), atom_to_binary(hello), bitstring_to_list(<<1, 2:2>>)]),
    p([binary_to_integer(<<"77">>), binary_to_float(<<"1.5">>), integer_to_binary(-5), float_to_binary(1.5, [{decimals, 2}]), iolist_to_binary([]), iolist_size(["ab", <<"c">>]), erlang:iolist_to_iovec([<<"a">>, [<<"b">>]]), is_binary(<<1:1>>), is_bitstring(<<1:1>>)]).

t(F) -> try F() catch C:R -> {C, R} end.

id(X) -> X.

p(X) -> io:format("~p~n", [X]).
