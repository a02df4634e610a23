%% Long messages that are used once, that are sent on, and that their sender sends again.
-module(uses).
-export([main/1, echo/1, pass/1, list/1]).

main(["once"]) ->
    %% 12 million words, in messages of 604.
    Echo = spawn(?MODULE, echo, [self()]),
    once(20000, Echo);
main(["later"]) ->
    %% What builds the messages is hot, and not sent, for a start.
    lists:foreach(fun(_) -> ?MODULE:list(200) end, lists:seq(1, 30000)),
    main(["once"]);
main(["on"]) ->
    Last = lists:foldl(fun(_, Next) -> spawn(?MODULE, pass, [Next]) end, self(), lists:seq(1, 10)),
    on(1000, Last);
main(["kept"]) ->
    Self = self(),
    Keeper = spawn(fun() -> keep([], Self) end),
    [keep_some(Keeper, N) || N <- lists:seq(100, 12000, 100)],
    io:format("done~n");
main(["again"]) ->
    Echo = spawn(?MODULE, echo, [self()]),
    %% Messages of this kind are used once for a start.
    once(20000, Echo),
    again(10000, Echo, list(200)).

once(0, _) -> io:format("done~n");
once(N, Echo) ->
    Echo ! {take, N, ?MODULE:list(200)},
    receive N -> once(N - 1, Echo) end.

again(0, _, _) -> io:format("done~n");
again(N, Echo, List) ->
    Echo ! {take, N, List},
    receive N -> again(N - 1, Echo, List) end.

on(Times, First) ->
    First ! {pass, list(200)},
    on(Times, 0, First).

on(Times, Times, _) -> io:format("done~n");
on(Times, Count, First) ->
    receive {pass, List} -> First ! {pass, List} end,
    on(Times, Count + 1, First).

keep(Kept, To) ->
    receive
        {keep, List} -> keep([List | Kept], To);
        count -> To ! {kept, length(Kept)}, keep(Kept, To)
    end.

%% So many more that there are N then.
keep_some(Keeper, N) ->
    [Keeper ! {keep, ?MODULE:list(200)} || _ <- lists:seq(1, 100)],
    Keeper ! count,
    receive {kept, N} -> ok end.

echo(To) ->
    receive {take, N, [_ | _]} -> To ! N end,
    echo(To).

pass(Next) ->
    receive {pass, List} -> Next ! {pass, List} end,
    pass(Next).

list(Length) -> [{Number} || Number <- lists:seq(1, Length div 2)] ++ lists:seq(1, Length div 2).
