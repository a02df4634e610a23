%% Messages of timers are on their way while another scheduler collects.
-module(timer_messages).
-export([main/1]).

main(_) ->
    Self = self(),
    {Churn, Monitor} = spawn_monitor(fun() -> churn(Self) end),
    Wrong = [Got || N <- lists:seq(1, 150), (Got = wait(N)) =/= {N, lists:seq(1, 20)}],
    Churn ! stop,
    receive {'DOWN', Monitor, process, Churn, Reason} -> ok end,
    io:format("~w ~w~n", [Wrong, Reason]).

%% This process sleeps, and its scheduler with it, until the timer comes.
wait(N) ->
    Reference = erlang:start_timer(1, self(), {N, lists:seq(1, 20)}),
    receive {timeout, Reference, Message} -> Message after 10000 -> lost end.

churn(Parent) ->
    _ = lists:seq(1, 30),
    erlang:garbage_collect(),
    receive stop -> ok after 0 -> churn(Parent) end.
