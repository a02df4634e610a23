%% A process that was woken, and one whose timer is due, run soon although the process that woke the one, on the scheduler of
%% both, has entered a function that takes long: with a second scheduler that sleeps.
-module(late_wake).
-export([main/1]).

main(_) ->
    Large = binary:copy(<<"a">>, 100000000),
    Rounds = [round_of(Large) || _ <- lists:seq(1, 6)],
    Alone = erlang:system_info(schedulers_online) =:= 1,
    {Woken, Timers} = lists:unzip(Rounds),
    io:format("woken in time: ~p~ntimers in time: ~p~n", [Alone orelse in_time(Woken), Alone orelse in_time(Timers)]).

%% On a busy machine some are late for want of a processor; those that wait for the function are late as a rule.
in_time(Times) ->
    case length([Late || {Late, Long} <- Times, Late * 2 < Long]) of
        Count when Count * 3 >= length(Times) -> true;
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
    true = is_binary(erlang:md5(Large)),
    Long = now_us() - Since,
    {{late_by(woken), Long}, {late_by(timer), Long}}.

late_by(Which) -> receive {Which, Microseconds} -> Microseconds end.

now_us() -> erlang:monotonic_time(microsecond).
