%% A mixed load for a long run: processes that come, exchange large messages and go, rows of tables, code that is loaded again and again, exits
%% of every kind. Each message says what must be in it, so a collector's mistake shows as a wrong sum, or to --verify-heap.
%% Arguments: seconds, workers. With the word "wrong" behind them the load gives wrong sums, which must make it fail.
-module(soak).
-export([main/1, worker/2, keeper/2, run/2]).

main(Args) ->
    {Numbers, Words} = lists:partition(fun([C | _]) -> C >= $0 andalso C =< $9 end, Args),
    [Seconds, Workers] = numbers(Numbers, [600, 16]),
    persistent_term:put(is_wrong, Words =:= ["wrong"]),
    logger:set_primary_config(level, none),
    Table = ets:new(rows, [public, set]),
    ets:new(ordered, [public, named_table, ordered_set]),
    End = erlang:monotonic_time(millisecond) + 1000 * Seconds,
    Keepers = list_to_tuple([spawn(?MODULE, keeper, [[], 0]) || _ <- lists:seq(1, Workers)]),
    Loops = [spawn_monitor(?MODULE, run, [End, {Table, Keepers, N}]) || N <- lists:seq(1, Workers)],
    Loader = spawn_monitor(fun() -> load(End, 1) end),
    Rounds = lists:sum([element(2, {rounds, _} = ended(Loop)) || Loop <- Loops]),
    {versions, Versions} = ended(Loader),
    Kept = lists:sum([kept(K) || K <- tuple_to_list(Keepers)]),
    true = Kept > 0 andalso Rounds > 0 andalso Versions > 0,
    io:format(standard_error, "~w rounds, ~w versions of code, ~w messages to keepers~n", [Rounds, Versions, Kept]),
    io:format("soak: all sums are right~n").

%% Why a process has ended.
ended({P, R}) ->
    receive {'DOWN', R, _, P, Reason} -> Reason end.

%% How many messages a keeper was given, if it has not found one of those that it has wrong.
kept(Keeper) ->
    R = monitor(process, Keeper),
    Keeper ! {check, self()},
    receive
        {Keeper, N} -> N;
        {'DOWN', R, _, _, Reason} -> exit(Reason)
    end.

%% A round of each kind, however slow the machine is, and then by chance.
run(End, {_, _, N} = Where) ->
    rand:seed(exsss, {N, N, N}),
    Kinds = [1, 2, 3, 4, 5],
    [round(Kind, Where) || Kind <- Kinds],
    rounds(End, Where, length(Kinds)).

rounds(End, Where, Rounds) ->
    case erlang:monotonic_time(millisecond) < End of
        true ->
            round(rand:uniform(5), Where),
            rounds(End, Where, Rounds + 1);
        false ->
            exit({rounds, Rounds})
    end.

%% A worker is given a large term, gives it back, and ends in one of several ways.
round(1, _) ->
    Data = data(rand:uniform(2000)),
    {P, R} = spawn_monitor(?MODULE, worker, [self(), Data]),
    receive
        {P, Back} -> check(Back);
        {'DOWN', R, _, P, Reason} -> exit({worker, Reason})
    end,
    P ! lists:nth(rand:uniform(4), [normal, {exit, data(50)}, error, kill]),
    receive {'DOWN', R, _, P, _} -> ok end;
%% Rows that share a term, replaced and deleted while others read them.
round(2, {Table, _, _}) ->
    Data = data(rand:uniform(300)),
    [ets:insert(Table, {rand:uniform(500), Data, N}) || N <- lists:seq(1, 20)],
    [check(D) || {_, D, _} <- ets:lookup(Table, rand:uniform(500))],
    ets:delete(Table, rand:uniform(500)),
    ets:insert(ordered, {rand:uniform(100), Data}),
    case ets:next(ordered, rand:uniform(100)) of
        '$end_of_table' -> ok;
        Key -> [check(D) || {_, D} <- ets:lookup(ordered, Key)]
    end;
%% What a keeper has, handed on to another one.
round(3, {_, Keepers, _}) ->
    From = element(rand:uniform(tuple_size(Keepers)), Keepers),
    To = element(rand:uniform(tuple_size(Keepers)), Keepers),
    To ! {keep, data(rand:uniform(400))},
    From ! {hand, To};
%% A crowd of small processes, some linked to one that fails.
round(4, _) ->
    Self = self(),
    Data = data(100),
    Pids = [spawn(fun() -> receive go -> Self ! {self(), sum(Data)} end end) || _ <- lists:seq(1, 100)],
    [P ! go || P <- Pids],
    Sum = sum(Data),
    [receive {P, S} when S =:= Sum -> ok end || P <- Pids],
    {Q, R} = spawn_monitor(fun() -> [spawn_link(fun() -> receive after infinity -> ok end end) || _ <- Pids], exit(Data) end),
    receive {'DOWN', R, _, Q, Reason} -> check(Reason) end;
%% A message that waits in a timer, private garbage, and code of another version.
round(5, _) ->
    erlang:send_after(rand:uniform(20), self(), {late, data(rand:uniform(500))}),
    sum(data(2000)),
    try version:check(data(20)) of N when is_integer(N) -> ok catch error:_ -> ok end,
    receive {late, Data} -> check(Data) end.

worker(Parent, Data) ->
    check(Data),
    Parent ! {self(), Data},
    receive
        normal -> ok;
        {exit, Reason} -> exit(Reason);
        error -> try error({bad, Data}) catch error:Reason -> exit(Reason) end;
        kill -> exit(self(), kill)
    end.

keeper(Kept, Given) ->
    receive
        {keep, Data} -> keeper(lists:sublist([Data | Kept], 100), Given + 1);
        {hand, To} when Kept =/= [] ->
            To ! {keep, lists:last(Kept)},
            check(hd(Kept)),
            keeper(lists:droplast(Kept), Given);
        {hand, _} -> keeper(Kept, Given);
        {check, From} ->
            [check(Data) || Data <- Kept],
            From ! {self(), Given}
    end.

%% A term that carries its own sum.
data(Size) ->
    Elements = [element(1 + N rem 4, {N, {N, [N]}, #{n => N}, <<N:32, 0:800>>}) || N <- lists:seq(1, Size)],
    {data, sum_of(Elements) + error_of(persistent_term:get(is_wrong)), Elements}.

error_of(false) -> 0;
error_of(true) -> 1.

sum({data, Sum, _}) -> Sum.

check({data, Sum, Elements}) -> Sum = sum_of(Elements).

sum_of(Elements) -> lists:sum([value(E) || E <- Elements]).

value({N, [N]}) -> N;
value(#{n := N}) -> N;
value(<<N:32, 0:800>>) -> N;
value(N) when is_integer(N) -> N.

%% At least one version.
load(End, Version) ->
    Source = ["-module(version).", "-export([check/1]).",
              "check({data, S, _}) -> S * 0 + length([a, {b, \"literal\"}]) + " ++ integer_to_list(Version) ++ "."],
    Forms = [begin {ok, T, _} = erl_scan:string(S), {ok, F} = erl_parse:parse_form(T), F end || S <- Source],
    {ok, version, Binary} = compile:forms(Forms, []),
    code:purge(version),
    {module, version} = code:load_binary(version, "version.beam", Binary),
    receive after 50 -> ok end,
    case erlang:monotonic_time(millisecond) < End of
        true -> load(End, Version + 1);
        false -> exit({versions, Version})
    end.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
