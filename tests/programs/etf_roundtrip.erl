%% term_to_binary and back: bytes of every type, options, sizes, bad input, safe and used.
-module(etf_roundtrip).
-export([main/1]).

main(_) ->
    Terms = [0, 1, 255, 256, -1, 2147483647, 2147483648, -2147483648, -2147483649, 1 bsl 64, -(1 bsl 64), 1 bsl 2039, 1 bsl 2040, 1 bsl 2048,
             0.0, -0.0, 1.5, 1.0e300, a, '', true, 'åäö', '日本', list_to_atom(lists:duplicate(255, $x)),
             {}, {1, 2}, list_to_tuple(lists:seq(1, 256)), [], [1], "abc", [256], [1 | 2], "", lists:duplicate(300, $z), [a, "b", <<"c">>],
             <<>>, <<"bin">>, <<1:1>>, <<5:13>>, #{}, #{a => 1}, #{1 => a, 2 => b, "k" => {v}}, fun lists:map/2,
             [{nested, #{k => [1.5, <<"x">>, {}]}}]],
    [begin
         B = term_to_binary(T),
         T = binary_to_term(B),
         {T, Used} = binary_to_term(<<B/binary, "rest">>, [used]),
         true = (Used =:= byte_size(B)),
         true = (erlang:external_size(T) >= byte_size(B)),
         T = binary_to_term(term_to_binary(T, [compressed])),
         T = binary_to_term(term_to_binary(T, [{minor_version, 1}])),
         T = binary_to_term(iolist_to_binary(erlang:term_to_iovec(T))),
         io:format("~W ~w ~w ~s~n", [T, 5, byte_size(B), erlang:external_size(T), hex(B)])
     end || T <- Terms],
    [io:format("~s~n", [hex(term_to_binary(T, [{minor_version, V}]))]) || T <- [1.5, atom, 'åäö', {a, 1.0}], V <- [0, 1, 2]],
    pieces(),
    Big = lists:duplicate(1000, {some, "repetitive text", 12345}),
    C = term_to_binary(Big, [compressed]),
    io:format("~w ~w~n", [byte_size(C) < byte_size(term_to_binary(Big)) div 10, binary_to_term(C) =:= Big]),
    <<131, 80, Size:32, _/binary>> = C,
    io:format("~w ~w~n", [Size, byte_size(term_to_binary(Big)) - 1]),
    [io:format("~w ~p~n", [L, byte_size(term_to_binary(lists:seq(1, 10000), [{compressed, L}])) < 60000]) || L <- [1, 6, 9]],
    bad(),
    old(),
    identities().

%% Every truncation and some corruptions.
bad() ->
    B = term_to_binary({ok, [1, 2.5, <<"xyz">>, #{a => "b"}, 1 bsl 70]}),
    io:format("~w~n", [lists:usort([t(fun() -> binary_to_term(binary:part(B, 0, N)) end) || N <- lists:seq(0, byte_size(B) - 1)])]),
    [io:format("~w ~w~n", [X, t(fun() -> binary_to_term(X) end)])
     || X <- [<<>>, <<131>>, <<130, 97, 1>>, <<131, 1>>, <<131, 107, 0, 5, 1>>, <<131, 108, 255, 255, 255, 255, 106>>,
              <<131, 104, 2, 97, 1>>, <<131, 109, 0, 0, 0, 9, 1>>, <<131, 77, 0, 0, 0, 1, 9, 1>>, <<131, 110, 255, 0, 1>>,
              <<131, 119, 2, 255, 255>>, <<131, 116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 1, 97, 3>>, <<131, 70, 127, 240, 0, 0, 0, 0, 0, 0>>,
              <<131, 80, 0, 0, 0, 5, 1, 2, 3>>, <<131, 97, 1, 2>>]],
    io:format("~w~n", [t(fun() -> binary_to_term(not_a_binary) end)]),
    io:format("~w~n", [t(fun() -> binary_to_term(<<131, 119, 20, "never_seen_before_xx">>, [safe]) end)]),
    io:format("~w~n", [t(fun() -> binary_to_term(<<131, 119, 2, "ok">>, [safe]) end)]),
    io:format("~w~n", [t(fun() -> binary_to_term(<<131, 97, 1>>, [bad_option]) end)]),
    io:format("~w~n", [t(fun() -> term_to_binary(a, [bad_option]) end)]).

%% Tags which are read though no longer written, and other spellings.
old() ->
    [io:format("~w~n", [binary_to_term(X)])
     || X <- [<<131, 99, "1.50000000000000000000e+00", 0:40>>, <<131, 100, 0, 3, "foo">>, <<131, 115, 3, "bar">>, <<131, 118, 0, 2, 195, 165>>,
              <<131, 110, 1, 0, 7>>, <<131, 110, 1, 1, 7>>, <<131, 110, 0, 0>>, <<131, 111, 0, 0, 0, 2, 0, 1, 2>>,
              <<131, 108, 0, 0, 0, 0, 106>>, <<131, 108, 0, 0, 0, 2, 97, 1, 97, 2, 106>>, <<131, 105, 0, 0, 0, 1, 97, 5>>,
              <<131, 98, 0, 0, 0, 5>>, <<131, 107, 0, 0>>, <<131, 77, 0, 0, 0, 1, 8, 7>>,
              <<131, 116, 0, 0, 0, 2, 97, 2, 97, 1, 97, 1, 97, 2>>,
              <<131, 113, 119, 5, "lists", 119, 3, "map", 97, 2>>]].

%% Pids, references and local funs come back as themselves.
identities() ->
    Ref = make_ref(),
    N = length(element(2, process_info(self(), links))),
    F = fun(X) -> X + N end,
    {P, R, G} = binary_to_term(term_to_binary({self(), Ref, F})),
    io:format("~w~n", [{P =:= self(), R =:= Ref, G =:= F, G(1) - F(0)}]),
    {P2, R2, _} = binary_to_term(term_to_binary({self(), Ref, F}, [compressed])),
    io:format("~w~n", [{P2 =:= self(), R2 =:= Ref}]),
    io:format("~w~n", [list_to_pid(pid_to_list(self())) =:= self()]),
    io:format("~w~n", [list_to_ref(ref_to_list(Ref)) =:= Ref]).

t(F) -> try F() catch C:R -> {C, R} end.

hex(B) when byte_size(B) > 80 -> io_lib:format("~.16b", [erlang:phash2(B)]);
hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].

%% The larger binaries of a term are elements of their own.
pieces() ->
    B = fun(N) -> binary:copy(<<7>>, N) end,
    Large = B(1000),
    <<_:3, Shifted:800/bitstring, _/bits>> = Large,
    <<_:8, Sub:100/binary, Sub64:64/binary, _/bits>> = Large,
    [begin
         Pieces = erlang:term_to_iovec(T, Options),
         Is = iolist_to_binary(Pieces) =:= term_to_binary(T, Options),
         io:format("~w ~w ~w~n", [Is, length(Pieces), lists:sublist([byte_size(P) || P <- Pieces], 9)])
     end || T <- [Large, B(64), B(65), Sub, Sub64, Shifted, {Large, Large}, [Large, 1, Large], [Large | Large], fun(X) -> {X, Large, Sub} end,
                  #{a => Large, b => {Sub}}, 1 bsl 8000, lists:duplicate(200, B(60)), lists:duplicate(2000, B(70)), {B(3 bsl 20), a}],
            Options <- [[], [{compressed, 0}], [deterministic], [{minor_version, 2}]]],
    ok.
