%% What machine code does without a call, and what it has to leave to one: maps with other values, funs of an arity,
%% floats and other numbers compared, integers near the limits of small ones and of two limbs, keys of any kind, integers
%% that are added to binaries.
-module(fast_paths).
-export([main/1, change/2, two/3, put_any/3, key/2, arity/2, is_one/1, compare/2, complement/1, wide/2, external/1,
         byte/2, little/2, word/2, long/2, pair/3, odd/2, bit/2]).

main([]) -> main(["3"]);
main([Rounds]) ->
    [rounds() || _ <- lists:seq(1, list_to_integer(Rounds))],
    print(rounds()).

print(Results) -> [io:format("~p~n", [Result]) || Result <- Results].

rounds() -> [maps(), keys(), funs(), comparisons(), complements(), wides(), lists(), appends()].

maps() ->
    Flat = #{a => 1, b => 2, c => 3},
    Large = maps:from_list([{N, N} || N <- lists:seq(1, 40)] ++ [{a, 1}, {b, 2}]),
    [{change(Flat, 7), change(Flat, 1), catch_class(fun() -> change(#{b => 1}, 1) end),
      catch_class(fun() -> change(no_map, 1) end), catch_class(fun() -> change(#{}, 1) end)},
     maps:size(change(Large, {x})), change(Large, 1) =:= Large,
     two(Flat, x, y), two(Flat, 1, 2) =:= Flat, two(#{a => z}, 1, 2), two(#{}, 1, 2), maps:get(b, two(Large, 5, 6)),
     catch_class(fun() -> two([], 1, 2) end),
     put_any(Flat, a, 5), put_any(Flat, {k}, 5), put_any(Large, 40, 41) =:= Large#{40 := 41}].

change(Map, Value) -> Map#{a := Value}.

two(Map, A, B) -> Map#{b => B, a => A}.

put_any(Map, Key, Value) -> Map#{Key => Value}.

keys() ->
    Flat = #{1 => one, a => atom, "s" => string, <<"b">> => binary, 1.0 => float, {t, 1} => tuple, [] => nil},
    Large = maps:merge(Flat, maps:from_list([{{k, N}, N} || N <- lists:seq(1, 50)] ++ [{<<N:24>>, N} || N <- lists:seq(1, 50)])),
    Keys = [1, a, "s", <<"b">>, 1.0, {t, 1}, [], {k, 50}, {k, 51}, <<7:24>>, <<7:25>>, <<99:24>>, self(), 1 bsl 70, none],
    [[key(Map, Key) || Key <- Keys] || Map <- [Flat, Large]].

key(Map, Key) ->
    case Map of
        #{Key := Value} -> Value;
        #{} -> missing
    end.

funs() ->
    Free = length(keys()),
    Funs = [fun() -> Free end, fun(X) -> X + Free end, fun is_one/1, fun ?MODULE:arity/2, fun erlang:abs/1, no_fun, {f}, []],
    [{arity(Fun, 1), arity(Fun, 2), is_one(Fun), external(Fun)} || Fun <- Funs]
        ++ [catch_class(fun() -> arity(fun(X) -> X end, a) end), catch_class(fun() -> is_function(hd(Funs), -1) end)].

arity(Fun, Arity) -> is_function(Fun, Arity).

is_one(Fun) when is_function(Fun, 1) -> yes;
is_one(_) -> no.

external(Fun) when is_function(Fun, 2) -> two;
external(Fun) when is_function(Fun, 0) -> none;
external(Fun) when is_function(Fun) -> some;
external(_) -> no_fun.

comparisons() ->
    Values = [1, 2, 1.0, 1.5, -0.0, 0.0, 0, 1 bsl 59, (1 bsl 59) - 1, -(1 bsl 59), 1.0e18, 1 bsl 64, -(1 bsl 64), 1.0e300, a,
              {1, 2}, {1, 2.0}, {1.0, 2}, {1, 3}, {2}, <<"ab">>, <<"abc">>, <<"ab", 1:1>>, "ab", #{}],
    [erlang:phash2([compare(A, B) || A <- Values, B <- Values]), [compare(A, 1.5) || A <- Values]].

compare(A, B) -> {A < B, A =< B, A == B, A =:= B, A /= B, A > B}.

complements() -> [complement(X) || X <- [0, -1, 5, (1 bsl 59) - 1, -(1 bsl 59), 1 bsl 59, -(1 bsl 80)]]
    ++ [catch_class(fun() -> complement(1.0) end)].

complement(X) -> bnot X.

wides() ->
    Integers = [0, 1, -1, 3, 16#FFFFFFFF, (1 bsl 59) - 1, -(1 bsl 59), 1 bsl 59, (1 bsl 63) - 1, -(1 bsl 63), 1 bsl 63,
                (1 bsl 64) - 1, 1 bsl 64, -(1 bsl 64), (1 bsl 127) - 1, -(1 bsl 127), 1 bsl 127, (1 bsl 128) - 1,
                -(1 bsl 128), 1 bsl 200],
    Results = [wide(A, B) || A <- Integers, B <- Integers],
    Shifts = [{A bsl S, A bsr S, A bsl -S, A bsr -S} || A <- Integers, S <- [0, 1, 3, 58, 59, 60, 63, 64, 65, 126, 127, 128, 129]],
    [erlang:phash2(Results), erlang:phash2(Shifts), lists:sum([B || {_, B, _, _, _, _, _, _} <- Results]),
     lists:sum([B bxor C || {B, C, _, _} <- Shifts])].

wide(A, B) ->
    Quotient = case B of 0 -> none; _ -> {A div B, A rem B} end,
    {A + B, A - B, A * B, Quotient, A band B, A bor B, A bxor B, A < B}.

lists() ->
    Map = maps:from_list([{N, N * N} || N <- lists:seq(1, 1000)]),
    [erlang:phash2(maps:to_list(Map)), erlang:phash2(maps:keys(Map)), maps:fold(fun(_, V, Sum) -> Sum + V end, 0, Map),
     maps:to_list(#{}), maps:to_list(#{a => 1, b => 2}),
     [float_to_list(F, [{decimals, D}]) || F <- [0.0, -0.0, 1.5, -2.25, 123456.789, 0.999999, 9.0e15], D <- [0, 1, 4, 18]]].

appends() ->
    Adds = [fun byte/2, fun little/2, fun word/2, fun long/2, fun(B, N) -> pair(B, N, N + 1) end, fun odd/2, fun bit/2],
    Starts = [<<>>, <<1>>, <<1:3>>, binary:copy(<<7>>, 300), binary:part(binary:copy(<<8>>, 300), 100, 150)],
    %% Behind an older view, too, which must stay what it is.
    Older = lists:foldl(fun(N, B) -> byte(B, N) end, <<>>, lists:seq(1, 20)),
    Newer = [byte(Older, N) || N <- [100, 101, 102]],
    [[erlang:phash2(lists:foldl(fun(N, B) -> Add(B, N) end, Start, [0, 1, -1, 255, 256, 65535, 1 bsl 40, -(1 bsl 59)]))
      || Add <- Adds, is_binary(Start) orelse Add =:= hd(lists:reverse(Adds)), Start =/= none]
     || Start <- Starts] ++ [Older, Newer]
        ++ [<< <<(X + 1)>> || <<X>> <= binary:copy(<<1, 2, 3>>, 100) >>, << <<X:12>> || X <- lists:seq(1, 100) >>]
        ++ [catch_class(fun() -> byte(Start, a) end) || Start <- [<<>>, Older]]
        ++ [catch_class(fun() -> byte(Start, 1) end) || Start <- [[], 1, <<1:3>>]]
        ++ [byte(Older, 1 bsl 70)].

byte(Binary, N) -> <<Binary/binary, N>>.
little(Binary, N) -> <<Binary/binary, N:16/little>>.
word(Binary, N) -> <<Binary/binary, N:32>>.
long(Binary, N) -> <<Binary/binary, N:64>>.
pair(Binary, A, B) -> <<Binary/binary, A:4, B:12>>.
odd(Binary, N) -> <<Binary/binary, N:24>>.
bit(Bits, N) -> <<Bits/bitstring, N:8>>.

catch_class(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.
