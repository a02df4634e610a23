%% Keys that vary: immediates and others in maps of all sizes, keys whose hashes agree, and binaries that differ in one
%% byte or in their length alone.
-module(map_keys).
-export([main/1, found/2, both/3, set/3, change/3, change_two/5, has/2]).

main(_) ->
    Sets = [{N, lists:sublist(keys(), N)} || N <- [0, 1, 3, 8, 31, 32, 33, 60, length(keys())]],
    [io:format("~w ~w~n", [N, check(Keys)]) || {N, Keys} <- Sets],
    [io:format("~w~n", [agreeing(Pair)]) || Pair <- pairs()],
    io:format("~w~n", [binaries()]),
    io:format("~w~n", [two()]).

keys() ->
    [a, b, 'a b', [], {}, 0, 1, -1, 1 bsl 58, self(), 1.0, 0.5, "text", "texu", <<"key">>, <<"kez">>, <<"ke">>, <<>>,
     <<1:1>>, <<1:2>>, {a, 1}, {a, 2}, {a, {1}}, [a | b], 1 bsl 70, -(1 bsl 70), #{a => 1}, #{a => 2}, fun lists:map/2,
     binary:part(<<"some key">>, 5, 3), <<0:800>>, <<1:800>>] ++ lists:seq(100, 130) ++ [{n, I} || I <- lists:seq(1, 20)]
     ++ [integer_to_binary(I) || I <- lists:seq(1, 20)] ++ [integer_to_list(I) || I <- lists:seq(1, 20)].

check(Keys) ->
    Map = lists:foldl(fun(K, M) -> set(K, {is, size_of(K)}, M) end, #{}, Keys),
    Others = [c, -2, 99, 131, {n, 21}, <<"21">>, "21", <<"kf">>, 2.0, <<1:3>>, {b, 1}, 1 bsl 71, make_ref()],
    Here = [K || K <- Keys, found(K, Map) =/= {is, size_of(K)}],
    There = [K || K <- Others ++ (keys() -- Keys), found(K, Map) =/= none],
    Changed = lists:foldl(fun(K, M) -> change(K, new, M) end, Map, Keys),
    Same = lists:foldl(fun(K, M) -> change(K, found(K, M), M) end, Map, Keys),
    NotFailed = [K || K <- Others, failure(fun() -> change(K, x, Map) end) =/= {badkey, K}],
    {map_size(Map), Here, There, lists:usort(maps:values(Changed)), Same =:= Map,
     [K || K <- Keys ++ Others, has(K, Map) =/= maps:is_key(K, Map)],
     [{K, L} || K <- lists:sublist(Keys, 3), L <- Others, both(K, L, Map) =/= {found(K, Map), found(L, Map)}],
     NotFailed}.

failure(F) ->
    try F() catch error:Reason -> Reason end.

size_of(K) -> erts_debug:flat_size(K).

found(K, M) -> case M of #{K := V} -> V; #{} -> none end.

both(K, L, M) ->
    case M of
        #{K := V, L := W} -> {V, W};
        #{K := V} -> {V, none};
        #{L := W} -> {none, W};
        #{} -> {none, none}
    end.

set(K, V, M) -> M#{K => V}.

change(K, V, M) -> M#{K := V}.

change_two(K, L, V, W, M) -> M#{K := V, L := W}.

has(K, M) when is_map_key(K, M) -> true;
has(_, _) -> false.

%% Integers whose hashes agree in all 32 bits: the trie goes on with another hash.
pairs() -> [{227569, 399454}, {171977, 387944}, {29879, 217607}, {40660, 59671}, {5, 6}].

agreeing({A, B}) ->
    Map = maps:from_list([{K, K} || K <- lists:seq(1, 40)]),
    One = set(A, one, Map),
    Two = set(B, two, One),
    Three = change(A, three, Two),
    {found(A, Map), found(B, One), found(A, Two), found(B, Two), found(A, Three), found(B, maps:remove(A, Three)),
     found(A, maps:remove(A, Three)), map_size(Two), has(B, One), has(B, Two)}.

%% Lengths about those of the hash's steps and of a word.
binaries() ->
    Lengths = lists:seq(0, 40) ++ [63, 64, 65, 72, 100],
    Base = list_to_binary([I * 37 band 255 || I <- lists:seq(1, 100)]),
    Keys = [binary:part(Base, 0, L) || L <- Lengths] ++ [changed(binary:part(Base, 0, L)) || L <- Lengths, L > 0],
    Large = maps:from_list([{K, byte_size(K)} || K <- Keys]),
    %% The same keys as parts of a longer binary, which begin at any bit.
    Views = [begin <<_:3, View:(byte_size(K))/binary, _/bitstring>> = <<5:3, K/binary, 0:700>>, View end || K <- Keys],
    Small = [maps:from_list([{K, x} || K <- lists:sublist(Keys, At, 4)]) || At <- lists:seq(1, length(Keys) - 4)],
    {map_size(Large), lists:all(fun(K) -> found(K, Large) =:= byte_size(K) end, Keys ++ Views),
     erlang:phash2(maps:to_list(Large)),
     lists:sum([length([K || K <- Keys ++ Views, found(K, M) =:= x]) || M <- Small])}.

changed(<<First, Rest/binary>>) -> <<(First bxor 128), Rest/binary>>.

two() ->
    Map = #{1 => a, b => 2, [] => c},
    [change_two(K, L, V, W, Map) || K <- [1, b, []], L <- [1, b, []], V <- [a, 2, x], W <- [a, 2, y]]
        ++ [failure(fun() -> change_two(K, L, x, y, Map) end) || {K, L} <- [{1, {}}, {{}, 1}, {7, 1}, {1, 7}, {1.0, b}]].
