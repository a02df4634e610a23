%% Maps that are built, searched and changed several times, and comparisons whose results are values: as an engine that
%% compiles hot code sees them. Small and large maps, keys that are immediates and that are not, and failures.
-module(map_lookups).
-export([main/1, built/3, twice/2, patterns/1, guards/2, changed/1, compared/2, exact/2, more/1, fetched/2, known/2]).

main(_) ->
    [io:format("~p~n", [repeat(3, Round, none)]) || Round <- rounds()],
    [io:format("~p~n", [Result]) || Result <- failures()].

rounds() ->
    [fun() -> built(1, two, "three") end,
     fun() -> twice(1, 2) end,
     fun() -> patterns(#{a => 1, b => 2, 3 => c, {k} => d}) end,
     fun() -> patterns(large(#{b => 2, 3 => c, {k} => d})) end,
     fun() -> patterns(#{}) end,
     fun() -> guards([#{a => 1}, #{}, [], #{b => #{a => 2}}, large(#{a => 4}), {a}, large(#{})], a) end,
     fun() -> guards([#{{1} => 1}, large(#{{1} => 2}), #{1.0 => 1}, 7], {1}) end,
     fun() -> changed(#{a => 0}) end,
     fun() -> changed(large(#{a => 0})) end,
     fun() -> [compared(A, B) || A <- values(), B <- values()] end].

repeat(1, Round, _) -> Round();
repeat(N, Round, _) -> repeat(N - 1, Round, Round()).

%% More pairs than a flat map has.
large(Map) -> maps:merge(maps:from_list([{{number, N}, N} || N <- lists:seq(1, 50)]), Map).

built(A, B, C) ->
    Small = #{zebra => A, apple => B, 7 => C, [] => {A, B}},
    Inner = #{small => Small, size => map_size(Small)},
    {Small, Inner, #{C => A, zebra => B}, #{}, #{1.5 => A}}.

%% The same key twice.
twice(A, B) -> {#{a => A, b => A, a => B}, (#{x => A})#{y => B, x => B, y => A}}.

patterns(#{a := A, b := B, 3 := C} = Map) -> {all, A, B, C, rest(Map)};
patterns(#{b := B} = Map) when is_map_key(3, Map) -> {b, B, rest(Map)};
patterns(#{}) -> none.

rest(#{{k} := D}) -> D;
rest(_) -> none.

guards(Terms, Key) ->
    [{if is_map_key(Key, T) -> has; true -> no end,
      if map_get(Key, T) =:= 1 -> one; map_get(a, T) > 3 -> more; true -> other end} || T <- Terms].

changed(Map) ->
    One = Map#{a := 1},
    Two = One#{b => 2, a => 3, {c, d} => 4},
    Three = Two#{b := 5, {c, d} := 6},
    {maps:get(a, One), maps:with([a, b, {c, d}], Two), maps:with([a, b, {c, d}], Three), map_size(Three),
     is_map_key(b, One), is_map_key({c, d}, Three)}.

values() -> [1, 1.0, 2, 1 bsl 70, -(1 bsl 70), 1.5, a, b, {1}, {1.0}, [1], [1 | 2], "text", <<"text">>, #{a => 1}, #{a => 1.0}, []].

compared(A, B) -> [A == B, A /= B, A =:= B, A =/= B, A < B, A =< B, A > B, A >= B].

failures() ->
    [catch_all(fun() -> exact(Term, missing) end) || Term <- [#{}, #{a => 1}, large(#{}), no_map, [], 1 bsl 70]]
        ++ [catch_all(fun() -> more(Term) end) || Term <- [no_map, {}, "list"]]
        ++ [catch_all(fun() -> fetched(Key, Term) end) || Key <- [a, {b}], Term <- [#{}, large(#{}), a, [1], {a}]]
        ++ [catch_all(fun() -> known(Key, Term) end) || Key <- [a, {b}], Term <- [a, [1], {a}, 1.5]].

exact(Map, Key) -> Map#{a := 1, Key := 2, {another, Key} := 3}.
more(Map) -> Map#{a => 1}.
fetched(Key, Map) -> [map_get(Key, Map)].
known(Key, Map) -> [is_map_key(Key, Map)].

catch_all(Fun) ->
    try Fun()
    catch Class:Reason:Trace -> {Class, Reason, [{Module, Name, arity(Arity)} || {Module, Name, Arity, _} <- lists:sublist(Trace, 2)]}
    end.

arity(Arguments) when is_list(Arguments) -> length(Arguments);
arity(Arity) -> Arity.
