%% Workers race with each other: for a row of a table, for a name, by messages to one process, and by timeouts of hours.
-module(simulated).
-export([main/1]).

-define(HOUR, 3600000).

main(_) ->
    Table = ets:new(races, [public]),
    true = ets:insert(Table, {counter, 0}),
    Self = self(),
    Began = erlang:monotonic_time(millisecond),
    Workers = [spawn_monitor(fun() -> work(Self, Table, Number, 6) end) || Number <- lists:seq(1, 5)],
    Story = collect(length(Workers), []),
    Hours = (erlang:monotonic_time(millisecond) - Began) div ?HOUR,
    io:format("~w~n~w~n", [Story, {Hours, ets:tab2list(Table), registered(), make_ref(), rand:uniform(1000000)}]),
    io:format(standard_error, "~w ~w~n", [erlang:system_time(), erlang:phash2(Workers)]).

collect(0, Story) ->
    lists:reverse(Story);
collect(Left, Story) ->
    receive
        {'DOWN', _, process, _, _} -> collect(Left - 1, Story);
        Step -> collect(Left, [Step | Story])
    end.

work(Parent, _, Number, 0) ->
    Parent ! {Number, catch register(winner, self())};
work(Parent, Table, Number, Round) ->
    [{counter, Counter}] = ets:lookup(Table, counter),
    Garbage = lists:seq(1, 300 * Number),
    true = ets:insert(Table, {counter, Counter + length(Garbage) div (300 * Number)}),
    receive after (Round rem 3) * ?HOUR -> ok end,
    Parent ! {Number, Round, Counter},
    work(Parent, Table, Number, Round - 1).
