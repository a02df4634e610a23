%% Process aliases, explicit and through monitors.
-module(alias).
-export([main/1]).

main(_) ->
    A = alias(),
    A ! hello,
    p(receive M -> M after 100 -> none end),
    p(unalias(A)),
    p(unalias(A)),
    A ! lost,
    p(receive M2 -> M2 after 20 -> none end),
    Reply = alias([reply]),
    Reply ! first, Reply ! second,
    p(receive M3 -> M3 after 100 -> none end),
    p(receive M4 -> M4 after 20 -> none end),
    Server = spawn(fun server/0),
    p([call(Server, N) || N <- [1, 2, 3]]),
    p(call(Server, slow)),
    receive after 60 -> ok end,
    p(receive M5 -> {late, M5} after 0 -> nothing_late end),
    Mon = monitor(process, Server, [{alias, demonitor}]),
    Server ! {Mon, 7},
    p(receive {Mon, X} -> X after 100 -> none end),
    demonitor(Mon, [flush]),
    Server ! {Mon, 8},
    p(receive {Mon, Y} -> Y after 30 -> none end),
    Mon2 = monitor(process, Server, [{alias, explicit_unalias}]),
    demonitor(Mon2),
    Server ! {Mon2, 9},
    p(receive {Mon2, Z} -> Z after 100 -> none end),
    p(unalias(Mon2)),
    exit(Server, kill),
    p(call(Server, 1)),
    p(try alias([bad]) catch error:badarg -> badarg end),
    p(make_ref() ! nobody).

call(Server, Request) ->
    Mon = monitor(process, Server, [{alias, reply_demonitor}]),
    Server ! {Mon, Request},
    receive
        {Mon, Answer} -> Answer;
        {'DOWN', Mon, process, _, Reason} -> {down, Reason}
    after 30 ->
            demonitor(Mon, [flush]),
            timeout
    end.

server() ->
    receive
        {To, slow} -> receive after 50 -> To ! {To, slow} end, server();
        {To, N} -> To ! {To, N * N}, server()
    end.

p(X) when is_reference(X) -> io:format("a reference~n");
p(X) -> io:format("~w~n", [X]).
