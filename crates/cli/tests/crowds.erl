%% Three hundred thousand processes that end at once, a thousand at a time.
-module(crowds).
-export([main/1]).

main(_) ->
    crowds(300),
    io:format("done~n").

crowds(0) -> ok;
crowds(N) ->
    Ps = [spawn_monitor(fun() -> ok end) || _ <- lists:seq(1, 1000)],
    [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- Ps],
    crowds(N - 1).
