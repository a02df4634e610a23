%% Rows whose elements change where they lie must not change for processes that hold them, for other tables, or for
%% what was sent.
-module(ets_in_place).
-export([main/1]).

main(_) ->
    [type(Type) || Type <- [set, ordered_set]],
    long(),
    traced_values(),
    racing(),
    ok.

%% Every way by which a row gets out of a table, and what it is afterwards.
type(Type) ->
    Ways = [
        {lookup, fun(T) -> ets:lookup(T, c) end},
        {select, fun(T) -> ets:select(T, [{'_', [], ['$_']}]) end},
        {in_a_tuple, fun(T) -> ets:select(T, [{{'$1', '_', '_'}, [], [{{'$1', '$_'}}]}]) end},
        {match_object, fun(T) -> ets:match_object(T, {c, '_', '_'}) end},
        {tab2list, fun(T) -> ets:tab2list(T) end},
        {foldl, fun(T) -> ets:foldl(fun(Row, All) -> [Row | All] end, [], T) end},
        {slot, fun(T) -> ets:info(T, type) =:= ordered_set andalso ets:slot(T, 0) end},
        {element, fun(T) -> ets:lookup_element(T, c, 3) end},
        {portion, fun(T) -> element(1, ets:select(T, [{'_', [], ['$_']}], 1)) end},
        {reversed, fun(T) -> ets:select_reverse(T, [{'_', [], ['$_']}]) end},
        {sent, fun(T) -> self() ! hd(ets:lookup(T, c)), receive {c, _, _} = Row -> Row end end},
        {answered, fun(T) -> asked(fun() -> ets:lookup(T, c) end) end}
    ],
    [way(Type, Name, Way) || {Name, Way} <- Ways],
    T = ets:new(t, [Type]),
    Own = {c, 0, list_to_tuple([x])},
    ets:insert(T, Own),
    ets:update_counter(T, c, 3),
    io:format("~p own ~p table ~p~n", [Type, Own, ets:lookup(T, c)]),
    Other = ets:new(t, [Type]),
    ets:insert(Other, ets:lookup(T, c)),
    ets:insert(Other, {d, hd(ets:lookup(T, c))}),
    ets:update_counter(T, c, 3),
    ets:update_counter(Other, c, 100),
    io:format("~p two tables ~p ~p~n", [Type, ets:lookup(T, c), lists:sort(ets:tab2list(Other))]),
    [Taken] = ets:take(T, c),
    ets:insert(T, Taken),
    ets:update_element(T, c, {2, gone}),
    io:format("~p taken ~p ~p~n", [Type, Taken, ets:lookup(T, c)]),
    Default = {c, 5, six},
    ets:delete(T, c),
    ets:update_counter(T, c, {2, 1}, Default),
    ets:update_counter(T, c, {2, 1}, Default),
    io:format("~p default ~p ~p~n", [Type, Default, ets:lookup(T, c)]),
    persistent_term:put(?MODULE, hd(ets:lookup(T, c))),
    ets:update_counter(T, c, 10),
    io:format("~p persistent ~p ~p~n", [Type, persistent_term:get(?MODULE), ets:lookup(T, c)]).

way(Type, Name, Way) ->
    T = ets:new(t, [Type, public]),
    ets:insert(T, {c, 0, {inner, self()}}),
    ets:update_counter(T, c, 1),
    ets:update_counter(T, c, 1),
    First = Way(T),
    ets:update_counter(T, c, 1),
    ets:update_element(T, c, {2, 10}),
    Second = Way(T),
    garbage_collect(),
    ets:update_element(T, c, [{2, atom}, {3, <<"words">>}]),
    ets:update_element(T, c, {2, 1 bsl 70}),
    Third = Way(T),
    ets:update_element(T, c, {2, 7}),
    shown(Type, Name, [First, Second, Third, Way(T)]),
    ets:delete(T).

shown(Type, Name, Results) ->
    io:format("~p ~p ~p~n", [Type, Name, [without_pid(Result) || Result <- Results]]).

without_pid(Pid) when is_pid(Pid) -> pid;
without_pid(Tuple) when is_tuple(Tuple) -> list_to_tuple(without_pid(tuple_to_list(Tuple)));
without_pid([Head | Tail]) -> [without_pid(Head) | without_pid(Tail)];
without_pid(Other) -> Other.

asked(Question) ->
    Self = self(),
    Pid = spawn_link(fun() -> Self ! {self(), Question()} end),
    receive {Pid, Answer} -> Answer end.

%% Rows that are long enough for their copies to be found again.
long() ->
    T = ets:new(t, []),
    Row = list_to_tuple([c, 0 | lists:seq(1, 100)]),
    Self = self(),
    Receiver = spawn_link(fun() -> received(Self, []) end),
    [begin
         ets:insert(T, Row),
         Receiver ! Row,
         ets:update_counter(T, c, N),
         Receiver ! hd(ets:lookup(T, c)),
         ets:update_counter(T, c, N),
         Receiver ! Row
     end || N <- lists:seq(1, 5)],
    Receiver ! stop,
    receive {all, All} -> io:format("long ~w~n", [All]) end,
    io:format("row ~p table ~p~n", [element(2, Row), ets:lookup_element(T, c, 2)]).

received(To, All) ->
    receive
        stop -> To ! {all, lists:reverse(All)};
        Row -> received(To, [element(2, Row) | All])
    end.

%% What match specifications bind of a row that changes.
traced_values() ->
    T = ets:new(t, []),
    [ets:insert(T, {N, 0, N * N}) || N <- lists:seq(1, 50)],
    Before = lists:sort(ets:select(T, [{{'$1', '$2', '$3'}, [{'<', '$1', 4}], [['$1', '$2', '$3'], '$_']}])),
    [ets:update_counter(T, N, {2, N}) || N <- lists:seq(1, 50), _ <- lists:seq(1, 3)],
    After = lists:sort(ets:select(T, [{{'$1', '$2', '$3'}, [{'<', '$1', 4}], ['$_']}])),
    io:format("~w~n~w~n", [Before, After]),
    ets:select_replace(T, [{{'$1', '$2', '$3'}, [], [{{'$1', '$3', '$2'}}]}]),
    [ets:update_counter(T, N, 1) || N <- lists:seq(1, 50)],
    io:format("~w ~w~n", [After, lists:sum([V || {_, V, _} <- ets:tab2list(T)])]).

%% Readers keep rows while others count; what a reader holds stays.
racing() ->
    T = ets:new(t, [public, {write_concurrency, true}, {read_concurrency, true}]),
    ets:insert(T, [{K, 0, 0} || K <- lists:seq(1, 5)]),
    Self = self(),
    Writers = [spawn_link(fun() ->
        [ets:update_counter(T, K, [{2, 1}, {3, 1}]) || _ <- lists:seq(1, 500), K <- lists:seq(1, 5)],
        Self ! {done, self()}
    end) || _ <- lists:seq(1, 2)],
    Readers = [spawn_link(fun() -> Self ! {self(), reader(T, 300, [])} end) || _ <- lists:seq(1, 2)],
    [receive {done, Pid} -> ok end || Pid <- Writers],
    io:format("readers ~p~n", [[receive {Pid, Result} -> Result end || Pid <- Readers]]),
    io:format("~p~n", [lists:sort(ets:tab2list(T))]).

%% Both counters of a row are always the same.
reader(_, 0, Held) ->
    lists:all(fun({Row, Copy}) -> Row =:= binary_to_term(Copy) andalso element(2, Row) =:= element(3, Row) end, Held);
reader(T, N, Held) ->
    [Row] = ets:lookup(T, N rem 5 + 1),
    reader(T, N - 1, [{Row, term_to_binary(Row)} | Held]).
