%% Tasks for other processes, environment, calendar, unique numbers, and what the system says of itself.
-module(proc_system).
-export([main/1, loop/0]).

main(_) ->
    P = spawn(?MODULE, loop, []),
    p(erlang:garbage_collect(P)),
    p(erlang:garbage_collect(P, [{type, minor}])),
    p(erlang:garbage_collect(P, [{async, request}])),
    p(receive {garbage_collect, request, R} -> R after 20000 -> none end),
    p(erlang:garbage_collect(self(), [{type, minor}])),
    p(erlang:check_process_code(P, lists)),
    p(erlang:check_process_code(self(), lists)),
    exit(P, kill),
    p({is_process_alive(P), erlang:garbage_collect(P), process_info(P, status)}),
    p([os:getenv("NO_SUCH_NAME_X"), os:putenv("A_NAME_X", "value"), os:getenv("A_NAME_X"), os:unsetenv("A_NAME_X"),
       os:getenv("A_NAME_X"), os:getenv("A_NAME_X", "default")]),
    p(lists:all(fun is_list/1, os:getenv())),
    p(erlang:posixtime_to_universaltime(0)),
    p(erlang:posixtime_to_universaltime(-1)),
    p(erlang:posixtime_to_universaltime(1700000000)),
    p(erlang:universaltime_to_posixtime({{2024, 2, 29}, {12, 0, 1}})),
    p(erlang:localtime_to_universaltime(erlang:universaltime_to_localtime({{2020, 6, 1}, {10, 20, 30}}))),
    p(calendar:valid_date(date())),
    p(abs(calendar:datetime_to_gregorian_seconds(erlang:universaltime()) - 62167219200 - erlang:system_time(second)) =< 1),
    p(erlang:convert_time_unit(erlang:time_offset(), native, second) =:= erlang:time_offset(second)),
    T = erlang:monotonic_time(),
    p([is_integer(T), erlang:monotonic_time() >= T]),
    Numbers = [erlang:unique_integer() || _ <- lists:seq(1, 1000)],
    p(length(lists:usort(Numbers))),
    Rising = [erlang:unique_integer([monotonic, positive]) || _ <- lists:seq(1, 1000)],
    p({Rising =:= lists:usort(Rising), hd(Rising) > 0}),
    N1 = erlang:now(), N2 = erlang:now(),
    p(N1 < N2),
    p([erlang:function_exported(M, F, A) || {M, F, A} <- [{lists, map, 2}, {erlang, self, 0}, {erlang, foo, 0}, {foo, a, 1}]]),
    p(lists:sort(?MODULE:module_info(exports))),
    p([?MODULE:module_info(module), erlang:module_loaded(?MODULE), erlang:check_old_code(?MODULE)]),
    p([is_integer(erlang:system_info(I)) || I <- [schedulers, process_count, process_limit, atom_count, wordsize, scheduler_id]]),
    p([erlang:system_info(I) || I <- [wordsize, machine, os_type, smp_support, threads, time_warp_mode, fullsweep_after,
                                      {wordsize, external}, emu_type, multi_scheduling, taints]]),
    p([K || {K, V} <- erlang:memory(), is_integer(V), V >= 0]),
    {W, _} = erlang:statistics(wall_clock), {C, 0} = erlang:statistics(context_switches), {Reds, _} = erlang:statistics(reductions),
    p([is_integer(X) andalso X >= 0 || X <- [W, C, Reds, erlang:statistics(run_queue)]]),
    p({node(), nodes(), nodes(this), is_alive()}),
    p([process_flag(save_calls, 5), process_flag(save_calls, 0), process_info(self(), last_calls)]),
    Old = process_flag(priority, high),
    p({Old, process_flag(priority, Old)}),
    p([length(lists:usort([self() | processes()])) =:= length(processes()), lists:member(P, processes())]).

loop() -> receive stop -> ok end.

p(X) -> io:format("~w~n", [X]).
