%% Processes that another ends by a signal while they look for messages, in the middle of their time slices; what they
%% have used is counted once.
-module(killed_in_receive).
-export([main/1]).

main(_) ->
    {Before, _} = statistics(reductions),
    [end_one(Reason, Used) || Used <- lists:seq(0, 5000, 100), Reason <- [kill, shutdown]],
    {After, _} = statistics(reductions),
    io:format("~p~n", [After > Before andalso After - Before < 1000000000000]).

end_one(Reason, Used) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> use(Used), Self ! ready, look() end),
    receive ready -> ok end,
    use(Used * 3),
    exit(Pid, Reason),
    receive {'DOWN', Monitor, process, Pid, Why} -> Why end.

look() ->
    receive never -> ok after 0 -> look() end.

use(0) -> ok;
use(N) -> use(N - 1).
