%% Functions of a native library that take long: who is told, and where the time is counted.
-module(native_long).
-export([main/1]).
-nifs([rest/1, rest_apart/1, work_apart/1]).

rest(_) -> erlang:nif_error(not_loaded).
rest_apart(_) -> erlang:nif_error(not_loaded).
work_apart(_) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "native_long"), 0),
    erlang:system_monitor(self(), [{long_schedule, 40}]),
    {Slow, _} = spawn_monitor(fun() -> rest(120) end),
    receive {monitor, Slow, long_schedule, Information} -> ok end,
    io:format("~p ~p~n", [[Key || {Key, _} <- Information], proplists:get_value(timeout, Information) >= 100]),
    erlang:system_monitor(undefined),
    erlang:system_flag(microstate_accounting, true),
    Counted = [begin work(Function), counted(Type) end
               || {Function, Type} <- [{fun work_apart/1, dirty_cpu_scheduler}, {fun rest_apart/1, dirty_io_scheduler}]],
    erlang:system_flag(microstate_accounting, false),
    io:format("~p~n", [Counted]),
    Types = lists:usort([maps:get(type, Row) || Row <- erlang:statistics(microstate_accounting)]),
    io:format("~p~n", [[lists:member(Type, Types) || Type <- [scheduler, dirty_cpu_scheduler, dirty_io_scheduler]]]),
    io:format("~p~n", [erlang:system_info(dirty_io_schedulers)]).

work(Function) ->
    {Pid, Monitor} = spawn_monitor(fun() -> Function(50) end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end.

%% Whether some thread of this type has worked.
counted(Type) ->
    Rows = erlang:statistics(microstate_accounting),
    lists:sum([maps:get(emulator, Counters) || #{type := Row, counters := Counters} <- Rows, Row =:= Type]) > 0.
