%% Twenty processes that send each other messages, write into a table and compute: what a simulated run costs beside a
%% real one.
-module(mixed).
-export([main/1]).

main([]) -> main(["40000"]);
main([Rounds]) ->
    Count = list_to_integer(Rounds),
    Table = ets:new(table, [public]),
    Self = self(),
    Pids = [spawn(fun() -> member(Self, Table, N, Count) end) || N <- lists:seq(1, 20)],
    Ring = lists:zip(Pids, tl(Pids) ++ [hd(Pids)]),
    [Pid ! {next, Next} || {Pid, Next} <- Ring],
    Sums = [receive {Pid, Sum} -> Sum end || Pid <- Pids],
    io:format("~p~n", [erlang:phash2(lists:sort(Sums))]).

member(Main, Table, N, Count) ->
    receive {next, Next} -> ok end,
    rounds(Main, Table, Next, N, Count, 0).

rounds(Main, _, _, _, 0, Sum) -> Main ! {self(), Sum};
rounds(Main, Table, Next, N, Left, Sum) ->
    Next ! {work, lists:seq(1, 20)},
    Work = receive {work, List} -> lists:foldl(fun(X, S) -> X * X + S end, 0, List) end,
    true = ets:insert(Table, {N, Work}),
    [{N, Work}] = ets:lookup(Table, N),
    rounds(Main, Table, Next, N, Left - 1, (Sum + Work) band 16#ffffff).
