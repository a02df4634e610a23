%% Processes that race: for a counter that two of them may read before one writes, for a name, and with messages to one
%% receiver. Writes to a file, on a line of its own, what must be the same under any schedule, and then what depends on
%% the schedule.
-module(seeded).
-export([main/1]).

-define(WORKERS, 6).
-define(ROUNDS, 25).
-define(HOUR, 3600000).

main([File]) ->
    Table = ets:new(races, [public]),
    true = ets:insert(Table, {counter, 0}),
    Self = self(),
    Began = erlang:monotonic_time(millisecond),
    [spawn_link(fun() -> work(Self, Table, Number, 1) end) || Number <- lists:seq(1, ?WORKERS)],
    Story = collect(?WORKERS * (?ROUNDS + 1), []),
    [{counter, Counter}] = ets:lookup(Table, counter),
    receive after ?HOUR -> ok end,
    Hours = (erlang:monotonic_time(millisecond) - Began) div ?HOUR,
    Rounds = [[Round || {Worker, Round} <- Story, Worker =:= Number, is_integer(Round)]
              || Number <- lists:seq(1, ?WORKERS)],
    Same = {Rounds, length([won || {_, won} <- Story]), Hours},
    write(File, io_lib:format("~w~n~w~n", [Same, {Story, Counter, erlang:system_time(), make_ref(), self()}])).

collect(0, Story) ->
    lists:reverse(Story);
collect(Left, Story) ->
    receive {large, _} -> collect(Left, Story); {_, _} = Step -> collect(Left - 1, [Step | Story]) end.

work(Parent, Table, Number, Round) when Round =< ?ROUNDS ->
    [{counter, Counter}] = ets:lookup(Table, counter),
    210 = lists:sum(lists:seq(1, 20)),
    Parent ! {large, burn(100, lists:seq(1, 2000))},
    true = ets:insert(Table, {counter, Counter + 1}),
    receive after Round rem 3 -> ok end,
    Parent ! {Number, Round},
    work(Parent, Table, Number, Round + 1);
work(Parent, _, Number, _) ->
    Parent ! {Number, try register(winner, self()) of true -> won catch error:badarg -> lost end},
    receive stop -> ok end.

%% Makes garbage, by calls and by built-in functions. What it costs to collect and to copy is no part of the schedule.
burn(0, Large) -> Large;
burn(Left, Large) -> burn(Left - 1, tl(lists:reverse(Large, [Left]))).

%% By way of threads that are not the scheduler's.
write(Name, Text) ->
    {ok, File} = prim_file:open(Name, [write]),
    ok = prim_file:write(File, Text),
    ok = prim_file:close(File).
