%% Who watches the system, and what it is told of a heap that grows. Of a heap that belongs to all, nothing is told.
-module(system_monitor).
-export([main/1]).

main(_) ->
    show(erlang:system_monitor()),
    show(erlang:system_monitor(self(), [{long_gc, 0}, {large_heap, 1000}, busy_port, {long_schedule, 1}])),
    show(erlang:system_monitor()),
    [show(catch erlang:system_monitor(Pid, Options))
     || {Pid, Options} <- [{self(), [{long_gc, -1}]}, {self(), [nothing]}, {x, [busy_port]}, {self(), busy_port}]],
    show(erlang:system_monitor(undefined)),
    show(erlang:system_monitor()),
    Watcher = spawn(fun() -> receive stop -> ok end end),
    erlang:system_monitor(Watcher, [busy_port]),
    Ref = monitor(process, Watcher),
    Watcher ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end,
    show(erlang:system_monitor()),
    show(erlang:system_monitor({self(), [busy_dist_port, {large_heap, 20000}]})),
    show(erlang:system_monitor(self(), [])),
    show(erlang:system_monitor()),
    grown().

%% Only a process that has a heap of its own is told of.
grown() ->
    erlang:system_monitor(self(), [{large_heap, 20000}]),
    Pid = spawn(fun() -> put(list, lists:seq(1, 150000)), erlang:garbage_collect() end),
    Keys = [old_heap_block_size, heap_block_size, mbuf_size, stack_size, old_heap_size, heap_size],
    show(receive
             {monitor, Pid, large_heap, Info} -> [Key || {Key, Size} <- Info, is_integer(Size)] =:= Keys
         after 3000 -> nothing
         end).

show({'EXIT', {Reason, _}}) -> io:format("~p~n", [Reason]);
show({Pid, Options}) when Pid =:= self() -> io:format("~p~n", [Options]);
show(Term) -> io:format("~p~n", [Term]).
