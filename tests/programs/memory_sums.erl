%% The figures of memory/0 are of one moment, although other processes allocate meanwhile: they add up.
-module(memory_sums).
-export([main/1]).

main(_) ->
    Others = [spawn(fun() -> allocate(0) end) || _ <- lists:seq(1, 4)],
    p(lists:usort([adds_up(erlang:memory()) || _ <- lists:seq(1, 2000)])),
    p(lists:usort([adds_up(erlang:memory([total, processes, system])) || _ <- lists:seq(1, 2000)])),
    [exit(Other, kill) || Other <- Others],
    Before = erlang:memory(ets),
    Table = ets:new(table, []),
    true = ets:insert(Table, [{N, lists:seq(1, 10)} || N <- lists:seq(1, 1000)]),
    After = erlang:memory(ets),
    p(After - Before > 1000 * 10 * erlang:system_info(wordsize)),
    true = ets:delete(Table),
    p(falls_below(After)).

%% A table's memory may be given back a while after the table is gone.
falls_below(Limit) -> erlang:memory(ets) < Limit orelse begin timer:sleep(1), falls_below(Limit) end.

allocate(N) ->
    Kept = [lists:seq(1, 100 + N rem 50) || _ <- lists:seq(1, 20)],
    _ = length(Kept),
    allocate(N + 1).

adds_up(Figures) ->
    [Total, Processes, System] = [proplists:get_value(Kind, Figures) || Kind <- [total, processes, system]],
    Parts = lists:sum([Bytes || {Kind, Bytes} <- Figures, lists:member(Kind, [atom, binary, code, ets])]),
    {Total =:= Processes + System, System >= Parts}.

p(X) -> io:format("~w~n", [X]).
