%% A process that was woken, and one whose timer is due, run soon although the process that woke the one, on the scheduler of
%% both, has entered a function that takes long: with a second scheduler that sleeps.
-module(late_wake).
-export([main/1]).

main(_) ->
    Large = lists:seq(1, 4000000),
    Rounds = [round_of(Large) || _ <- lists:seq(1, 4)],
    Alone = erlang:system_info(schedulers_online) =:= 1,
    {Woken, Timers} = lists:unzip(Rounds),
    io:format("woken late: ~p~ntimers late: ~p~n", [Alone orelse late(Woken), Alone orelse late(Timers)]).

%% One that is late now and then is not: the machine has other things to do.
late(Times) ->
    case length([Late || {Late, Long} <- Times, Late * 2 > Long]) of
        Count when Count =< 1 -> true;
        _ -> Times
    end.

round_of(Large) ->
    Self = self(),
    Woken = spawn(fun() -> receive {go, Since} -> Self ! {woken, now_us() - Since} end end),
    spawn(fun() ->
        Since = now_us(),
        receive after 5 -> ok end,
        Self ! {timer, now_us() - Since - 5000}
    end),
    receive after 1 -> ok end,
    Since = now_us(),
    Woken ! {go, Since},
    true = is_binary(term_to_binary(Large)),
    Long = now_us() - Since,
    {{late_by(woken), Long}, {late_by(timer), Long}}.

late_by(Which) -> receive {Which, Microseconds} -> Microseconds end.

now_us() -> erlang:monotonic_time(microsecond).
