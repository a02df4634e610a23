%% Three hundred thousand processes that end, a thousand at a time, long before their timers are due.
-module(timers_left).
-export([main/1]).

main(_) ->
    crowds(300),
    io:format("done~n").

crowds(0) -> ok;
crowds(N) ->
    Ps = [spawn_monitor(fun() -> erlang:send_after(1000000, self(), x) end) || _ <- lists:seq(1, 1000)],
    [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- Ps],
    crowds(N - 1).
