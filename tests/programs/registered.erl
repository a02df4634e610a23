%% Names: register, unregister, whereis, sending by name, errors, release at exit.
-module(registered).
-export([main/1]).

main(_) ->
    true = register(me, self()),
    p(whereis(me) =:= self()),
    me ! to_me,
    p(receive M -> M after 0 -> none end),
    {me, node()} ! by_node,
    p(receive M2 -> M2 after 50 -> none end),
    p(erlang:send(me, x)),
    p(erlang:send(me, y, [noconnect, nosuspend])),
    p([receive A -> A end || _ <- [1, 2]]),
    p(lists:member(me, registered())),
    p(process_info(self(), registered_name)),
    p([bad(F) || F <- [fun() -> register(me, self()) end, fun() -> register(other, self()) end, fun() -> register(undefined, self()) end,
                       fun() -> register("str", self()) end, fun() -> register(x, 1) end, fun() -> unregister(nobody) end, fun() -> nobody ! x end,
                       fun() -> whereis(1) end, fun() -> register(dead, dead()) end, fun() -> erlang:send(nobody, x) end]]),
    p(whereis(nobody)),
    p(unregister(me)),
    p(whereis(me)),
    p(process_info(self(), registered_name)),
    P = spawn(fun() -> receive stop -> ok end end),
    register(temp, P),
    R = monitor(process, P),
    temp ! stop,
    receive {'DOWN', R, _, _, _} -> ok end,
    p(whereis(temp)),
    p({nobody, node()} ! lost),
    p(lists:usort([is_atom(N) || N <- registered()])).

dead() -> {P, R} = spawn_monitor(fun() -> ok end), receive {'DOWN', R, _, _, _} -> P end.

bad(F) -> try F() catch C:R -> {C, R} end.

p(X) -> io:format("~w~n", [X]).
