%% The timer module's server and helpers.
-module(timer_module).
-export([main/1, note/2]).

main(_) ->
    p([timer:seconds(2), timer:minutes(1), timer:hours(1), timer:hms(1, 2, 3)]),
    p(timer:sleep(1)),
    {ok, _} = timer:send_after(5, hello), p(get_one()),
    {ok, _} = timer:send_after(5, self(), to_pid), p(get_one()),
    {ok, _} = timer:apply_after(5, ?MODULE, note, [self(), applied]), p(get_one()),
    {ok, I} = timer:send_interval(5, tick),
    p([get_one(), get_one(), get_one()]),
    p(timer:cancel(I)),
    flush(),
    p(get_one(30)),
    {ok, T} = timer:send_after(10000, never), p(timer:cancel(T)),
    {Micros, V} = timer:tc(fun() -> lists:sum(lists:seq(1, 1000)) end), p({is_integer(Micros), V}),
    {_, V2} = timer:tc(lists, reverse, [[1, 2]]), p(V2),
    {ok, _} = timer:kill_after(5, P = spawn(fun() -> receive x -> ok end end)),
    R = monitor(process, P), p(receive {'DOWN', R, _, _, Why} -> Why end),
    p(timer:send_after(-5, x)), p(timer:cancel(bad)),
    {ok, _} = timer:apply_interval(4, ?MODULE, note, [self(), again]), p([get_one(), get_one()]).

note(To, X) -> To ! X.

flush() -> receive tick -> flush() after 0 -> ok end.
get_one() -> get_one(20000).
get_one(T) -> receive M -> M after T -> none end.

p(X) -> io:format("~p~n", [X]).
