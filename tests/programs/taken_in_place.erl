%% Messages of one object that are looked at where they lie: left, taken, kept, and collected at any place between.
-module(taken_in_place).
-export([main/1, keeper/2]).

main(_) ->
    Self = self(),
    io:format("~p~n", [[element_late(Self), element_behind(Self), element_early(Self), whole(Self), in_slot(Self), list(Self)]]),
    io:format("~p~n", [[guard(Self), guard_builds(Self), long_guard(Self)]]),
    io:format("~p~n", [[selective(Self, 50), after_others(Self), with_timer(Self), room_first(Self)]]),
    io:format("~p~n", [[raises(Self), literal(Self), wide(Self), nested(Self)]]),
    io:format("~p~n", [[many(Self, 2000), kept(Self)]]),
    io:format("~p~n", [process_info(self(), message_queue_len)]).

%% The element is taken out behind the end of the receive, past a place where the process may be collected.
element_late(Self) ->
    Self ! made({7, atom}),
    receive
        {N, What} -> {N + (1 bsl 70), What, garbage(20)}
    end.

%% As the compiler has it where all branches make a message of it.
element_behind(Self) ->
    Self ! made({2, [x]}),
    Self ! made({1, [y]}),
    Self ! made({0, none}),
    passed([]).

passed(All) ->
    receive
        {0, _} -> pair(0, All);
        {N, What} -> passed(pair(N - 1, [What | All]), garbage(9))
    end.

passed({_, All}, _) -> passed(All).

pair(N, What) -> {N, What}.

element_early(Self) ->
    Self ! made({token, 3}),
    receive
        {token, 0} -> none;
        {token, N} -> N - 1
    end.

whole(Self) ->
    Self ! made({1, 2, 3}),
    receive
        Message when tuple_size(Message) =:= 3 -> {garbage(50), Message}
    end.

in_slot(Self) ->
    Self ! made({left, right}),
    {Left, Right} = receive {A, B} -> {A, B} end,
    Sum = garbage(50),
    {Left, Sum, Right}.

list(Self) ->
    Self ! [made(a) | made(b)],
    Self ! [made(c)],
    First = receive [A | T] when is_atom(T), T =/= [] -> {A, T} end,
    Second = receive [B | []] -> B end,
    {First, Second}.

guard(Self) ->
    Self ! made({5, 6}),
    Self ! made({6, 5}),
    One = receive {A, B} when A > B -> {A, B} end,
    Other = receive {C, D} -> {D, C} end,
    {One, Other}.

%% The guard makes numbers that need room.
guard_builds(Self) ->
    Self ! made({1 bsl 59 - 1, 2}),
    Self ! made({1 bsl 59 - 1, 1}),
    One = receive {A, B} when A * B + A < 1 bsl 60 -> {A, B} end,
    Other = receive {C, D} -> {C, D} end,
    {One, Other}.

long_guard(Self) ->
    Self ! made({4, x}),
    receive
        {N, _} = Message when N * (1 bsl 64) + N > 0, element(2, Message) =:= x, is_tuple(Message) -> {N, Message}
    end.

%% All are looked at and left before the last one is taken.
selective(Self, Count) ->
    [Self ! {N, Count} || N <- lists:seq(1, Count)],
    [receive {N, M} -> N + M end || N <- lists:seq(Count, 1, -1)].

after_others(Self) ->
    Self ! made({left, 1}),
    Self ! made({taken, 2}),
    Taken = receive {taken, N} -> N end,
    garbage(100),
    Left = receive {left, M} -> M end,
    {Taken, Left}.

%% A timer runs while the message comes.
with_timer(Self) ->
    spawn(fun() -> receive after 20 -> Self ! made({late, 1, now}) end end),
    receive
        {late, N, When} -> {N, When}
    after 60000 -> timeout
    end.

%% The room for what is built is asked for in front of the end.
room_first(Self) ->
    Self ! made({made, self, 3}),
    Mine = {self, 3},
    Built = receive {made, A, N} when A =:= element(1, Mine) -> {Mine, {A, N}, [N]} end,
    garbage(100),
    Built.

raises(Self) ->
    Self ! made({1, 0}),
    Result =
        try
            receive {A, B} -> A div B end
        catch
            error:badarith -> bad
        end,
    {Result, garbage(30)}.

literal(Self) ->
    Self ! made({constant, [1, 2, 3], "text"}),
    {constant, List, Text} = receive {constant, L, T} -> {constant, L, T} end,
    garbage(100),
    {List, Text}.

%% Larger than those that are looked at most.
wide(Self) ->
    Self ! list_to_tuple(lists:seq(1, 40)),
    receive
        Wide when tuple_size(Wide) =:= 40 -> garbage(40), element(40, Wide) + element(1, Wide)
    end.

nested(Self) ->
    Self ! made({[1, {2}], #{3 => [4]}}),
    Inner = receive {[_ | Rest], Map} -> {Rest, Map} end,
    garbage(100),
    Inner.

%% A few processes hand messages round.
many(Self, Count) ->
    Last = lists:foldl(fun(N, Next) -> spawn(?MODULE, keeper, [Next, N]) end, Self, lists:seq(1, 5)),
    [Last ! {N, hop} || N <- lists:seq(1, Count)],
    Last ! {stop, 0},
    sum(0).

sum(Sum) ->
    receive
        {stop, Extra} -> {Sum, Extra};
        {N, hop} -> sum(Sum + N)
    end.

keeper(Next, Mine) ->
    receive
        {stop, Sum} ->
            Next ! {stop, Sum + Mine};
        {N, What} ->
            Next ! {N + 1, What},
            keeper(Next, Mine)
    end.

%% Messages that are kept as they came.
kept(Self) ->
    [Self ! {keep, N} || N <- lists:seq(1, 200)],
    All = [receive {keep, _} = Message -> Message end || _ <- lists:seq(1, 200)],
    garbage(300),
    lists:sum([N || {keep, N} <- All]).

garbage(N) -> length([{I, [I]} || I <- lists:seq(1, N)]).

%% The same, and no constant of the file.
made(Tuple) when is_tuple(Tuple) -> list_to_tuple(tuple_to_list(Tuple));
made(Atom) -> list_to_atom(atom_to_list(Atom)).
