%% Literals of every type, shared, compared, sent, kept across collections, and in patterns.
-module(literals).
-export([main/1, id/1]).

-define(BIG, {literal, [1, 2, {three, "four", <<"five">>}], #{six => 7.0, 8 => [nine | ten]}, 12345678901234567890, -98765432109876543210, 1.0e100, <<1:3>>, 'a b'}).

main(_) ->
    L = ?BIG,
    p(L),
    p(id(L) =:= ?BIG),
    p([match(X) || X <- [?BIG, {literal}, "string", [a, {b}], 12345678901234567890, 1.5, <<"bin">>, #{k => v}]]),
    Self = self(),
    Pid = spawn(fun() -> receive {From, T} -> From ! {T, ?BIG, T =:= ?BIG} end end),
    Pid ! {Self, L},
    receive {A, B, C} -> p({A =:= B, C}) end,
    X = [L, {L, L}],
    erlang:garbage_collect(),
    p(erlang:phash2(X)),
    p(update(?BIG)),
    p(lists:nth(3, table())),
    p(erlang:phash2(table())),
    p([erts_debug:flat_size(T) > 0 || T <- [L, table()]]),
    put(lit, L),
    erlang:garbage_collect(),
    p(get(lit) =:= L),
    p(tuple_size(element(2, {ok, ?BIG}))),
    p((id(#{a => 1, b => [1, 2, 3]}))#{a := ?BIG} =:= #{a => L, b => [1, 2, 3]}),
    p("a long literal string which is " ++ id("appended to")),
    p(<<"literal binary ", (id(<<"and more">>))/binary>>).

match(X) when X =:= ?BIG -> big;
match("string") -> string;
match([a, {b}]) -> list;
match(12345678901234567890) -> bignum;
match(1.5) -> 'float';
match(<<"bin">>) -> binary;
match(#{k := v}) -> map;
match(_) -> none.

update(T) -> setelement(1, T, changed).

table() ->
    [{1, "one", <<"en">>}, {2, "two", <<"två"/utf8>>}, {3, "three", #{roman => 'III'}}, {4, "four", 4.0}, {5, "five", [5, [5, [5]]]}].

p(X) -> io:format("~p~n", [X]).

id(X) -> X.
