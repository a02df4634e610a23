%% proc_lib, gen_event, timer and sys on processes of their own.
-module(proc_lib_basic).
-behaviour(gen_event).
-export([main/1, child/2, init/1, handle_event/2, handle_call/2, handle_info/2, terminate/2]).

main(_) ->
    logger:set_primary_config(level, none),
    {ok, P} = proc_lib:start_link(?MODULE, child, [self(), fine]),
    p(receive M -> M end),
    p(proc_lib:initial_call(P)),
    {dictionary, D} = process_info(P, dictionary),
    p(lists:sort([K || {K, _} <- D])),
    p(proplists:get_value('$ancestors', D) =:= [self()]),
    unlink(P),
    P ! stop,
    p(proc_lib:start(?MODULE, child, [self(), refuse])),
    p(proc_lib:start(?MODULE, child, [self(), silent], 20)),
    process_flag(trap_exit, true),
    Q = proc_lib:spawn_link(fun() -> exit(shutdown) end),
    p(receive {'EXIT', Q, R} -> R end),
    {ok, E} = gen_event:start_link(),
    p(gen_event:add_handler(E, {?MODULE, a}, {self(), a})), p(gen_event:add_handler(E, {?MODULE, b}, {self(), b})),
    p(gen_event:which_handlers(E)),
    gen_event:sync_notify(E, ev1),
    p(lists:sort([receive X -> X end, receive Y -> Y end])),
    p(gen_event:call(E, {?MODULE, a}, count)),
    p(gen_event:delete_handler(E, {?MODULE, a}, bye)),
    gen_event:notify(E, ev2),
    p(receive Z -> Z end),
    p(gen_event:call(E, {?MODULE, a}, count)),
    gen_event:sync_notify(E, crash),
    p(gen_event:which_handlers(E)),
    p(gen_event:stop(E)).

child(To, fine) -> proc_lib:init_ack(To, {ok, self()}), To ! up, receive stop -> ok end;
child(To, refuse) -> proc_lib:init_ack(To, {error, refused});
child(_, silent) -> receive after 20000 -> ok end.

init({To, Id}) -> {ok, {To, Id, 0}}.
handle_event(crash, _) -> error(handler_crash);
handle_event(E, {To, Id, N}) -> To ! {Id, E}, {ok, {To, Id, N + 1}}.
handle_call(count, {_, _, N} = S) -> {ok, N, S}.
handle_info(_, S) -> {ok, S}.
terminate(R, {_, Id, N}) -> {terminated, Id, N, case R of {stop, _} -> R; bye -> bye; _ -> other end}.

p(X) -> io:format("~p~n", [X]).
