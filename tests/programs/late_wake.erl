%% While processes are inside functions that take long, others go on although all of them are on one scheduler: one that
%% was woken, one whose timer is due, and one that talks to a program.
-module(late_wake).
-export([main/1]).

main(_) ->
    Large = binary:copy(<<"a">>, 100000000),
    Talks = spawn(fun talks/0),
    {Woken, Timers, Answers} = lists:unzip3([round_of(Large, Talks) || _ <- lists:seq(1, 6)]),
    io:format("woken in time: ~p~ntimers in time: ~p~nanswers in time: ~p~n",
              [in_time(Woken), in_time(Timers), in_time(Answers)]).

%% On a busy machine some are late for want of a processor; those that wait for the function are late as a rule.
in_time(Times) ->
    case length([Late || {Late, Long} <- Times, Late * 2 < Long]) of
        Count when Count * 3 >= length(Times) -> true;
        _ -> Times
    end.

round_of(Large, Talks) ->
    Self = self(),
    Woken = spawn(fun() -> receive {go, Since} -> Self ! {woken, now_us() - Since} end end),
    spawn(fun() ->
        Since = now_us(),
        receive after 5 -> ok end,
        Self ! {timer, now_us() - Since - 5000}
    end),
    receive after 1 -> ok end,
    Since = now_us(),
    %% What runs instead of this process has entered a long function, too.
    Other = spawn(fun() -> Self ! {other, is_binary(erlang:md5(Large))} end),
    Woken ! {go, Since},
    Talks ! {go, Self, Since},
    true = is_binary(erlang:md5(Large)),
    Long = now_us() - Since,
    receive {other, true} when is_pid(Other) -> ok end,
    {{late_by(woken), Long}, {late_by(timer), Long}, {late_by(answer), Long}}.

late_by(Which) -> receive {Which, Microseconds} -> Microseconds end.

talks() ->
    Port = open_port({spawn, "cat"}, [binary]),
    talks(Port).

talks(Port) ->
    receive {go, To, Since} -> Port ! {self(), {command, <<"question">>}}, answer(Port, To, Since) end.

answer(Port, To, Since) ->
    receive {Port, {data, _}} -> To ! {answer, now_us() - Since} end,
    talks(Port).

now_us() -> erlang:monotonic_time(microsecond).
