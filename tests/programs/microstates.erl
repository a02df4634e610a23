%% Microstate accounting: what schedulers spend their time with. Of other threads nothing is compared.
-module(microstates).
-export([main/1]).

main(_) ->
    show(schedulers()),
    show([erlang:system_flag(microstate_accounting, Value) || Value <- [true, true, reset]]),
    show(catch erlang:system_flag(microstate_accounting, nothing)),
    work_until(fun(Spent) -> lists:sum(maps:values(Spent)) > 0 andalso maps:get(emulator, Spent) > 0 end),
    work_until(fun(Spent) -> maps:get(other, Spent) > 0 end),
    [garbage_collect() || _ <- lists:seq(1, 10)],
    work_until(fun(Spent) -> maps:get(gc, Spent) > 0 end),
    show(schedulers()),
    show(erlang:system_flag(microstate_accounting, false)),
    Sum = sum(all()),
    receive after 5 -> ok end,
    show(sum(all()) =:= Sum),
    show(erlang:system_flag(microstate_accounting, reset)),
    show(sum(all())),
    show(schedulers()).

all() -> [Counters || #{type := scheduler, counters := Counters} <- erlang:statistics(microstate_accounting)].

sum(All) -> lists:sum([lists:sum(maps:values(Counters)) || Counters <- All]).

%% Works until the sums of all schedulers fulfil this.
work_until(Done) ->
    Total = lists:foldl(fun(Counters, Sums) -> maps:map(fun(Key, Value) -> Value + maps:get(Key, Sums, 0) end, Counters) end,
                        #{}, all()),
    case Done(Total) of
        true -> ok;
        false -> lists:sort([erlang:phash2(N) || N <- lists:seq(1, 1000)]), garbage_collect(), work_until(Done)
    end.

%% The names of what is measured, and whether there is an account for each scheduler.
schedulers() ->
    Threads = [{Id, maps:keys(Counters)} || #{type := scheduler, id := Id, counters := Counters}
                                                <- erlang:statistics(microstate_accounting)],
    Ids = lists:sort([Id || {Id, _} <- Threads]),
    {Ids =:= lists:seq(1, erlang:system_info(schedulers)), lists:usort([Keys || {_, Keys} <- Threads])}.

show({'EXIT', {Reason, _}}) -> io:format("~p~n", [Reason]);
show(Term) -> io:format("~p~n", [Term]).
