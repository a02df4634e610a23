%% erlang:hibernate/3: the stack is dropped, the mailbox is not, catches do not survive.
-module(hibernate).
-export([main/1, woken/2, loop/1]).

main(_) ->
    Self = self(),
    P = spawn(fun() -> catch erlang:hibernate(?MODULE, woken, [Self, lists:seq(1, 10)]), Self ! never end),
    receive after 10 -> ok end,
    p(process_info(P, current_function)),
    p(process_info(P, status)),
    P ! first,
    p(receive M -> M end),
    P2 = spawn(fun() -> self() ! early, erlang:hibernate(?MODULE, woken, [Self, x]) end),
    p(receive {_, _, P2} = M2 -> setelement(3, M2, p2) end),
    P3 = spawn(?MODULE, loop, [0]),
    p([begin P3 ! {add, N, Self}, receive {sum, S} -> S end end || N <- lists:seq(1, 50)]),
    {P4, R4} = spawn_monitor(fun() -> try erlang:hibernate(?MODULE, loop, [throwing]) catch _:_ -> caught end end),
    P4 ! {add, 1, Self},
    p(receive {'DOWN', R4, _, _, {X, _}} -> X; {'DOWN', R4, _, _, X} -> X after 20000 -> none end),
    [p(try erlang:hibernate(M5, F5, A5) catch C:R -> {C, R} end) || {M5, F5, A5} <- [{1, f, []}, {m, f, x}, {m, "f", []}]],
    p(receive never -> never after 0 -> no_return end).

woken(To, X) ->
    receive
        early -> To ! {woken, X, self()};
        M -> To ! {woken, X, M}
    end.

loop(throwing) -> receive {add, _, _} -> exit(through_hibernate) end;
loop(Sum) ->
    receive {add, N, From} -> From ! {sum, Sum + N} end,
    erlang:hibernate(?MODULE, loop, [Sum + N]).

p(X) -> io:format("~w~n", [X]).
