%% Sizes of a process's heap: what it has from the start, messages, hibernation, minor collections between major ones.
-module(heap_sizes).
-export([main/1, idle/0, loop/1]).

main(_) ->
    M = spawn_opt(?MODULE, idle, [], [{min_heap_size, 1000}]),
    io:format("at least the minimum: ~p~n", [size_of(M, heap_size) >= 1000]),
    Big = lists:seq(1, 30000),
    Q = spawn_opt(?MODULE, idle, [], [{message_queue_data, on_heap}]),
    Q ! Big,
    io:format("on heap: ~p ~p~n", [size_of(Q, total_heap_size) > 60000, size_of(Q, memory) > 480000]),
    U = spawn_opt(?MODULE, idle, [], [{message_queue_data, off_heap}]),
    U ! Big,
    io:format("off heap: ~p ~p~n", [size_of(U, total_heap_size) > 60000, size_of(U, memory) > 480000]),
    Self = self(),
    B = spawn(fun() -> Self ! {self(), length(lists:seq(1, 100000))}, erlang:hibernate(?MODULE, idle, []) end),
    receive {B, Length} -> io:format("~p~n", [Length]) end,
    sleeping(B),
    io:format("hibernating: ~p~n", [size_of(B, total_heap_size) < 100]),
    Monitor = erlang:monitor(process, B),
    B ! Big,
    B ! stop,
    receive {'DOWN', Monitor, _, _, Reason} -> io:format("~p~n", [Reason]) end,
    F = spawn_opt(?MODULE, loop, [self()], [{fullsweep_after, 2}]),
    receive {F, Most} -> io:format("at most two minor collections in a row: ~p~n", [Most =< 2]) end.

size_of(Pid, Item) ->
    {Item, Size} = process_info(Pid, Item),
    Size.

sleeping(Pid) ->
    case process_info(Pid, current_function) of
        %% It goes to sleep a moment later.
        {current_function, {erlang, hibernate, 3}} -> receive after 100 -> ok end;
        _ -> erlang:yield(), sleeping(Pid)
    end.

idle() -> receive stop -> ok end.

loop(Parent) -> loop(Parent, 5000, 0, []).

loop(Parent, 0, Most, _) -> Parent ! {self(), Most};
loop(Parent, N, Most, Kept) ->
    {garbage_collection, Settings} = process_info(self(), garbage_collection),
    Minors = proplists:get_value(minor_gcs, Settings),
    loop(Parent, N - 1, max(Minors, Most), lists:sublist([lists:seq(1, 30) | Kept], 20)).
