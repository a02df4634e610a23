#!/usr/bin/env escript
%% Makes terms by a seed and writes records with what stock Erlang says of them:
%% oracle.escript Kind Seed Count File
-mode(compile).
-compile([nowarn_deprecated_function]).

main([Kind, Seed, Count, File]) ->
    logger:set_primary_config(level, none),
    erts_debug:set_internal_state(available_internal_state, true),
    rand:seed(exsss, list_to_integer(Seed)),
    Make = list_to_existing_atom(Kind),
    Records = [record(Make) || _ <- lists:seq(1, list_to_integer(Count))],
    ok = file:write_file(File, [[<<(byte_size(B)):32>>, B] || R <- Records, B <- [term_to_binary(R)]]).

record(order) ->
    %% OTP's arithmetic has been seen, once in millions of terms, to leave -(1 bsl 59) as a large integer, which then
    %% differs from the small one that it is. Reading the external format makes a small one.
    {A, B} = binary_to_term(term_to_binary(pair())),
    {A, B, sign(A, B), cmp(erts_internal:cmp_term(A, B)), A == B, A =:= B};
record(hash) ->
    T = term(4),
    R = pick([1, 2, 7, 1000, 1 bsl 27, 1 bsl 31, (1 bsl 32) - 1, 1 bsl 32]),
    {T, erlang:phash2(T), erlang:phash2(T, R), R, erlang:phash(T, R), internal(T)};
record(map) ->
    Pairs = [{plain(2), rand:uniform(1000)} || _ <- lists:seq(1, pick([0, 1, 5, 31, 32, 33, 33, 40, 100, 300]))],
    M = maps:from_list(Pairs),
    Steps = steps(Pairs, rand:uniform(60)),
    After = lists:foldl(fun step/2, M, Steps),
    Other = maps:from_list([{plain(3), rand:uniform(1000)} || _ <- lists:seq(1, pick([0, 1, 20, 33, 90]))]
                           ++ lists:sublist(Pairs, rand:uniform(50))),
    Merged = maps:merge(After, Other),
    {Pairs, maps:to_list(M), walked(M), maps:keys(M), maps:values(M), Steps, maps:to_list(After),
     maps:to_list(Other), maps:to_list(Merged)};
record(paths) ->
    %% Every path of a large map, as found by walking it in pieces of the size that reductions allow.
    Size = pick([33, 50, 300, 3000]),
    M = maps:from_list([{plain(2), I} || I <- lists:seq(1, Size)]),
    {maps:to_list(M), paths(erts_internal:map_next(0, M, iterator), 0, [])};
record(float) ->
    F = case number() of N when is_float(N) -> N; _ -> random_float() end,
    {F, float_to_binary(F, [short]), float_to_binary(F)};
record(text) ->
    T = printed(3),
    erlang:display(T),
    T.

sign(A, B) when A < B -> -1;
sign(A, B) when A > B -> 1;
sign(_, _) -> 0.

cmp(N) when N < 0 -> -1;
cmp(N) when N > 0 -> 1;
cmp(0) -> 0.

%% The hash of the keys of large maps, unless it depends on the numbers of atoms or addresses.
internal(T) ->
    case is_plain(T) of
        true -> erts_debug:get_internal_state({internal_hash, T});
        false -> none
    end.

is_plain(T) when is_number(T); is_bitstring(T); T =:= [] -> true;
is_plain([H | T]) -> is_plain(H) andalso is_plain(T);
is_plain(T) when is_tuple(T) -> lists:all(fun is_plain/1, tuple_to_list(T));
is_plain(T) when is_map(T) -> is_plain(maps:to_list(T));
is_plain(T) when is_reference(T) -> node(T) =:= node();
is_plain(_) -> false.

steps(Pairs, N) ->
    Keys = [K || {K, _} <- Pairs] ++ [plain(3)],
    [case rand:uniform(3) of
         1 -> {put, plain(2), rand:uniform(1000)};
         2 -> {put, pick(Keys), rand:uniform(1000)};
         3 -> {remove, pick(Keys)}
     end || _ <- lists:seq(1, N)].

step({put, K, V}, M) -> M#{K => V};
step({remove, K}, M) -> maps:remove(K, M).

walked(M) -> walk(maps:next(maps:iterator(M))).

walk(none) -> [];
walk({K, V, I}) -> [{K, V} | walk(maps:next(I))].

%% [{Key after which the piece ends, Path of the next piece, its first key}]
paths({K, _, [Path | M]}, _, Found) when is_integer(Path) ->
    Next = erts_internal:map_next(Path, M, iterator),
    paths(Next, Path, [{K, Path, element(1, Next)} | Found]);
paths({_, _, none}, _, Found) -> lists:reverse(Found);
paths({_, _, Next}, Path, Found) -> paths(Next, Path, Found).

pick(List) -> lists:nth(rand:uniform(length(List)), List).

%% Two terms that are often alike.
pair() ->
    A = term(4),
    case rand:uniform(6) of
        1 -> {A, A};
        2 -> {A, alter(A)};
        3 -> {alter(A), A};
        4 -> number_pair();
        5 -> B = alter(A), {B, alter(B)};
        6 -> {A, term(4)}
    end.

number_pair() ->
    A = number(),
    B = pick([A, -A, number(), near(A), near(near(A))]),
    pick([{A, B}, {B, A}, {[A, x], [B, y]}, {#{A => 1}, #{B => 1}}, {#{a => A, b => 1}, #{a => B, b => 2}}]).

near(N) when is_integer(N) ->
    pick([N + 1, N - 1, try float(N) catch error:_ -> N end, N + rand:uniform(2000), N bxor (1 bsl rand:uniform(70))]);
near(F) ->
    <<I:64>> = <<F/float>>,
    case <<(I + 1):64>> of
        <<G/float>> -> pick([G, trunc(F), trunc(F) + 1, trunc(F) - 1, F]);
        _ -> F
    end.

%% The same with a small change somewhere.
alter(N) when is_number(N) -> near(N);
alter([H | T]) -> pick([[alter(H) | T], [H | alter(T)], [H, H | T]]);
alter(T) when is_tuple(T), tuple_size(T) > 0 ->
    I = rand:uniform(tuple_size(T)),
    setelement(I, T, alter(element(I, T)));
alter(M) when is_map(M), map_size(M) > 0 ->
    K = pick(maps:keys(M)),
    V = map_get(K, M),
    case rand:uniform(4) of
        1 -> M#{K => alter(V)};
        2 -> (maps:remove(K, M))#{alter(K) => V};
        3 -> maps:remove(K, M);
        4 -> L = pick(maps:keys(M)), (M#{K => alter(V)})#{L => alter(map_get(L, M))}
    end;
alter(B) when is_bitstring(B), bit_size(B) > 0 ->
    P = rand:uniform(bit_size(B)) - 1,
    <<H:P/bits, Bit:1, T/bits>> = B,
    pick([<<H/bits, (1 - Bit):1, T/bits>>, H, <<B/bits, 0:1>>, <<B/bits, 255>>]);
alter(A) when is_atom(A) -> atom();
alter(T) -> pick([T, T, leaf()]).

term(0) -> leaf();
term(D) ->
    case rand:uniform(12) of
        1 -> [term(D - 1) || _ <- lists:seq(1, rand:uniform(6))];
        2 -> [term(D - 1) | term(D - 1)];
        3 -> list_to_tuple([term(D - 1) || _ <- lists:seq(1, rand:uniform(6) - 1)]);
        4 -> map(D, rand:uniform(8) - 1);
        5 -> case rand:uniform(4) of 1 -> map(min(D, 2), 30 + rand:uniform(10)); _ -> map(D, 3) end;
        6 -> string();
        7 -> X = term(D - 1), Y = term(D - 1), pick([fun() -> X end, fun(_) -> {X, Y} end]);
        _ -> leaf()
    end.

map(D, Size) -> maps:from_list([{term(D - 1), term(D - 1)} || _ <- lists:seq(1, Size)]).

leaf() ->
    case rand:uniform(9) of
        N when N < 4 -> number();
        4 -> atom();
        5 -> bits();
        6 -> identifier();
        7 -> pick([[], {}, #{}, <<>>]);
        8 -> pick([fun lists:map/2, fun lists:map/3, fun maps:get/2, fun erlang:'+'/2, fun() -> ok end, fun(X) -> X end]);
        9 -> rand:uniform(10)
    end.

%% Numbers around every limit of a representation.
number() ->
    case rand:uniform(8) of
        1 -> rand:uniform(20) - 10;
        2 -> pick([1, -1]) * (1 bsl pick([7, 8, 27, 28, 31, 32, 52, 53, 54, 58, 59, 60, 63, 64, 65, 127, 128, 1023, 1024]))
                 + rand:uniform(7) - 4;
        3 -> pick([1, -1]) * rand:uniform(1 bsl (1 + rand:uniform(300)));
        4 -> float(rand:uniform(20) - 10);
        5 -> (rand:uniform() - 0.5) * math:pow(10, rand:uniform(40) - 20);
        6 -> pick([1.0, -1.0]) * math:pow(2, pick([27, 52, 53, 58, 59, 60, 63, 64, 65, 128, 1000]));
        7 -> pick([0.0, -0.0, 0, 5.0e-324, -5.0e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1, 1.0e22]);
        8 -> random_float()
    end.

random_float() ->
    case <<(rand:uniform(1 bsl 64) - 1):64>> of
        <<F/float>> -> F;
        _ -> random_float()
    end.

atom() -> pick([a, b, ab, abc, abcd, abcde, abcdf, '', 'A', 'a b', true, false, nil, 'å', 'åb', 'ÿ', 'Ā', 'żółw', '日本',
                'node@host', nonode@nohost, 'a\nb', 'a\0', 'and', 'aÅ', '_x', 'x_Y9', '9x', lists, none]).

string() -> [rand:uniform(256) - 1 || _ <- lists:seq(1, rand:uniform(14))].

bits() ->
    N = pick([0, 1, 2, 3, 8, 11, 12, 13, 24, 63, 64, 65, 100]),
    B = rand:bytes(N),
    pick([B, <<B/binary, (rand:uniform(8)):(rand:uniform(7))>>]).

identifier() ->
    Node = pick([<<"nonode@nohost">>, <<"nonode@nohost">>, <<"foo@bar">>, <<"zoo@bar">>]),
    Creation = case Node of <<"nonode@nohost">> -> 0; _ -> pick([1, 2, 1 bsl 31]) end,
    N = <<119, (byte_size(Node)), Node/binary>>,
    Number = pick([1, 2, 255, 256, 32767, 32768, 262143]),
    binary_to_term(case rand:uniform(3) of
        1 -> <<131, 88, N/binary, (min(Number, 32767)):32, (pick([0, 1, 2, 8191])):32, Creation:32>>;
        2 -> <<131, 120, N/binary, (case Creation of 0 -> Number; _ -> pick([Number, (7 bsl 32) + Number]) end):64, Creation:32>>;
        3 -> <<131, 90, 3:16, N/binary, Creation:32, Number:32, (pick([0, 1, 1 bsl 31])):32, (pick([0, 1, 2])):32>>
    end).

%% Terms whose internal hash is the same in every emulator.
plain(0) ->
    case rand:uniform(5) of
        1 -> rand:uniform(100);
        2 -> number();
        3 -> bits();
        4 -> string();
        %% The last six have the same hashes two by two, so that the maps go deep.
        5 -> pick([rand:uniform(5000), 121236, 167527, 22575, 119693, 40660, 59671])
    end;
plain(D) ->
    case rand:uniform(9) of
        1 -> [plain(D - 1) || _ <- lists:seq(1, rand:uniform(4))];
        2 -> list_to_tuple([plain(D - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)]);
        3 -> [plain(D - 1) | plain(D - 1)];
        4 -> maps:from_list([{plain(D - 1), plain(D - 1)} || _ <- lists:seq(1, pick([0, 1, 3, 3, 3, 36]))]);
        _ -> plain(0)
    end.

%% Terms that are printed alike in every emulator: without the numbers of nodes, without large maps.
printed(0) ->
    case rand:uniform(9) of
        1 -> atom();
        2 -> bits();
        %% Strings above ASCII would be printed in Latin-1 amid atoms in UTF-8.
        3 -> [rand:uniform(128) - 1 || _ <- lists:seq(1, rand:uniform(14))];
        4 -> pick([fun lists:map/2, fun 'A':'b c'/0, {}, [], #{}]);
        5 -> [$a + rand:uniform(20) || _ <- lists:seq(1, rand:uniform(5))];
        6 -> list_to_binary([31 + rand:uniform(95) || _ <- lists:seq(1, rand:uniform(30))]);
        7 -> printed_identifier();
        _ -> printed_number()
    end;
printed(D) ->
    case rand:uniform(7) of
        1 -> [printed(D - 1) || _ <- lists:seq(1, rand:uniform(4))];
        2 -> list_to_tuple([printed(D - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)]);
        3 -> [printed(D - 1) | printed(D - 1)];
        4 -> maps:from_list([{printed(D - 1), printed(D - 1)} || _ <- lists:seq(1, rand:uniform(5) - 1)]);
        _ -> printed(0)
    end.

%% No characters above ASCII, see above.
printed_number() ->
    case number() of
        N when is_integer(N), N > 127, N < 256 -> printed_number();
        N -> N
    end.

printed_identifier() ->
    case identifier() of
        T when node(T) =:= node() -> T;
        _ -> printed_identifier()
    end.
