%% Maps of which all keys stand in the file have their keys in common, whichever values they have, and are maps like any
%% others.
-module(new_maps).
-export([main/1, plain/2, texts/2, kept/1, numbers/1, replaced/1, mixed/2, nested/1, many/1, composite/1]).

plain(X, Y) -> #{b => Y, a => X}.

texts(X, Y) -> #{<<"name">> => X, <<"id">> => Y, z => 1, 1 => {literal, []}}.

%% The compiler adds to a literal map here.
kept(X) -> #{k => X, j => [1, 2], i => "text", h => 1 bsl 70}.

numbers(X) -> #{1.0 => X, 2 => X, -0.0 => zero}.

replaced(X) -> (plain(X, X))#{a => {X}, b := [X]}.

mixed(Key, X) -> #{Key => 1, b => X}.

nested(X) -> #{outer => #{inner => X, other => 1}, list => [plain(X, 1)]}.

many(X) ->
    #{1 => X, 2 => X, 3 => X, 4 => X, 5 => X, 6 => X, 7 => X, 8 => X, 9 => X, 10 => X, 11 => X, 12 => X, 13 => X,
      14 => X, 15 => X, 16 => X, 17 => X, 18 => X, 19 => X, 20 => X, 21 => X, 22 => X, 23 => X, 24 => X, 25 => X,
      26 => X, 27 => X, 28 => X, 29 => X, 30 => X, 31 => X, 32 => X, 33 => X}.

composite(X) -> #{{a, 1} => X, [b] => X, "c" => X}.

main(_) ->
    Values = [0, -1, 1 bsl 80, 2.5, atom, <<"text">>, [1 | 2], {t, u}, self(), fun main/1],
    [show(Value) || Value <- Values],
    true = plain(1, 2) =:= maps:from_list([{b, 2}, {a, 1}]),
    io:format("~0p~n", [maps:merge(plain(1, 2), maps:remove(a, plain(3, 4)))]),
    io:format("~0p~n", [[mixed(b, 5), mixed(q, 5)]]),
    io:format("~0p~n", [[maps:size(many(x)), lists:sort(maps:keys(many(x))) =:= lists:seq(1, 33)]]),
    true = texts(1, 2) =:= binary_to_term(term_to_binary(texts(1, 2))),
    %% One tuple of keys for both: three words and two maps of one word more than on this machine's own account.
    Two = {plain([], []), plain(x, y)},
    true = erts_debug:size(Two) < erts_debug:flat_size(Two),
    Many = [plain(N, [N]) || N <- lists:seq(1, 2000)],
    Self = self(),
    Child = spawn_link(fun() -> receive {Self, Maps} -> Self ! {maps, [Map#{c => 1} || Map <- Maps]} end end),
    Child ! {Self, Many},
    Changed = receive {maps, Maps} -> Maps end,
    erlang:garbage_collect(),
    io:format("~0p~n", [{length(Changed), lists:sum([N || #{a := N, b := [N], c := 1} <- Changed])}]),
    Table = ets:new(maps, []),
    true = ets:insert(Table, {key, texts(1, 2)}),
    io:format("~0p~n", [ets:lookup(Table, key)]).

show(Value) ->
    Shown = fun(Map) -> lists:sort(maps:to_list(Map)) end,
    Maps = [plain(Value, 1), texts(Value, Value), kept(Value), numbers(Value), replaced(Value), nested(Value),
            composite(Value)],
    case is_pid(Value) orelse is_function(Value) of
        true -> io:format("~0p~n", [[length(Shown(Map)) || Map <- Maps]]);
        false -> io:format("~0p~n", [[Shown(Map) || Map <- Maps]])
    end.
