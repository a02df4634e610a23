%% Trapping exits: messages in place of death, kill, exit/2 with every reason, to oneself.
-module(trap_exit).
-export([main/1]).

main(_) ->
    p(process_flag(trap_exit, true)),
    p(process_flag(trap_exit, true)),
    Self = self(),
    exit(Self, hello),
    p(receive {'EXIT', Self, R} -> R end),
    exit(Self, normal),
    p(receive {'EXIT', Self, R2} -> R2 end),
    [p({Reason, Trap, reaction(Reason, Trap)}) || Reason <- [normal, kill, killed, shutdown, {a, b}], Trap <- [true, false]],
    [p({link, Reason, Trap, by_link(Reason, Trap)}) || Reason <- [normal, kill, killed, shutdown, {a, b}], Trap <- [true, false]],
    p(process_flag(trap_exit, false)),
    p(exit_self(normal)), p(exit_self(other)), p(exit_self(kill)),
    p(catch exit(inner)),
    p(is_badarg(fun() -> exit(not_a_pid, x) end)),
    p(is_badarg(fun() -> process_flag(trap_exit, maybe) end)),
    p(is_badarg(fun() -> process_flag(no_flag, true) end)),
    p(exit(dead(), whatever)).

dead() -> {P, R} = spawn_monitor(fun() -> ok end), receive {'DOWN', R, _, _, _} -> P end.

%% Sent from here with exit/2.
reaction(Reason, Trap) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> process_flag(trap_exit, Trap), Self ! ready, receive {'EXIT', Self, X} -> exit({got, X}); finish -> exit(finished) end end),
    receive ready -> ok end,
    exit(P, Reason),
    P ! finish,
    receive {'DOWN', Ref, process, P, R} -> R end.

%% Sent by the end of a linked process.
by_link(Reason, Trap) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() ->
                                     process_flag(trap_exit, Trap),
                                     L = spawn_link(fun() -> receive go -> exit(Reason) end end),
                                     Self ! ready,
                                     {_, LR} = {L, monitor(process, L)},
                                     L ! go,
                                     receive {'EXIT', L, X} -> exit({got, X}) after 50 -> ok end,
                                     receive {'DOWN', LR, _, _, _} -> exit(unharmed) end
                             end),
    receive ready -> ok end,
    receive {'DOWN', Ref, process, P, R} -> R end.

exit_self(Reason) ->
    {_, Ref} = spawn_monitor(fun() -> exit(self(), Reason), receive after 20 -> exit(survived) end end),
    receive {'DOWN', Ref, _, _, R} -> R end.

is_badarg(F) -> try F() catch error:badarg -> badarg end.

p(X) -> io:format("~w~n", [X]).
