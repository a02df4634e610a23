%% Why a node is said to be lost when the process that carries its connection ends. `main/1` gets the other node's name.
-module(carrier_ends).
-export([main/1]).

main(Other) ->
    ok = net_kernel:monitor_nodes(true, [nodedown_reason]),
    pong = net_adm:ping(Other),
    receive {nodeup, Other, _} -> ok after 0 -> ok end,
    [ends(Other, Reason) || Reason <- [over, {why, "text"}, {shutdown, over}, {shutdown, {why, "text"}},
                                       {shutdown, {shutdown, over}}, {shutdown, over, 3}, shutdown, normal, kill]],
    io:format("done: ok~n").

ends(Other, Reason) ->
    pong = net_adm:ping(Other),
    receive {nodeup, Other, _} -> ok after 100 -> ok end,
    [Carrier] = [Of || {Node, Of} <- erlang:system_info(dist_ctrl), Node =:= Other],
    exit(Carrier, Reason),
    receive {nodedown, Other, Info} -> io:format("~0p: ~0p~n", [Reason, Info])
    after 1000 -> io:format("~0p: lives~n", [Reason])
    end.
