%% Settings of a process's heap, collections on request, sizes of terms.
-module(heap_options).
-export([main/1, idle/0]).

main(_) ->
    [begin process_flag(min_heap_size, N), io:format("~p ", [process_flag(min_heap_size, 233)]) end ||
        N <- [0, 233, 234, 500, 1000, 2000, 833026, 834000, 1300000, 2000000]],
    io:format("~n~p~n", [[process_flag(fullsweep_after, 5), process_flag(fullsweep_after, 0), process_flag(fullsweep_after, 65535)]]),
    io:format("~p~n", [[process_flag(message_queue_data, off_heap), process_flag(message_queue_data, on_heap)]]),
    io:format("~p~n", [process_flag(max_heap_size, 100000)]),
    io:format("~p~n", [process_flag(max_heap_size, #{size => 0})]),
    [io:format("~p ~p~n", [Bad, class(fun() -> process_flag(Flag, Value) end)]) ||
        {Flag, Value} = Bad <- [{min_heap_size, -1}, {fullsweep_after, a}, {message_queue_data, x}, {max_heap_size, 10},
                                {max_heap_size, #{kill => 1}}, {max_heap_size, #{size => 10000, kill => false}},
                                {max_heap_size, 0}]],
    P = spawn_opt(?MODULE, idle, [],
                  [{min_heap_size, 1000}, {fullsweep_after, 3}, {message_queue_data, off_heap},
                   {max_heap_size, #{size => 200000, kill => true, error_logger => false}}]),
    {garbage_collection, Settings} = process_info(P, garbage_collection),
    [io:format("~p ~p~n", [K, proplists:get_value(K, Settings)]) || K <- [min_heap_size, fullsweep_after, max_heap_size]],
    io:format("~p~n", [process_info(P, message_queue_data)]),
    collections(P),
    X = self(),
    Y = {1},
    B = list_to_binary(lists:duplicate(200, 7)),
    S = list_to_binary(lists:duplicate(40, 7)),
    <<_:3, Small:50/bits, _/bits>> = S,
    <<_:8, Bytes:9/binary, _/bits>> = S,
    <<_:8, Ten:10/bits, _/bits>> = S,
    Map = fun(N) -> maps:from_list([{I, [I]} || I <- lists:seq(1, N)]) end,
    io:format("~w~n", [[erts_debug:flat_size(T) ||
        T <- [1, [], {}, Y, "abc", 1.0, 1 bsl 70, make_ref(), self(), #{}, #{a => 1}, #{a => {1}, b => #{}}, [#{} | #{}],
              Map(32), Map(33), Map(400), fun() -> X end, fun() -> {X, Y} end, fun lists:map/2, <<>>, <<"abc">>, B, S,
              binary:part(B, 1, 100), binary:part(B, 1, 10), binary:part(S, 1, 10), Small, Bytes, Ten,
              <<1:1>>, <<B/binary, 1:1>>]]]).

collections(P) ->
    io:format("~p~n", [[erlang:garbage_collect(P), erlang:garbage_collect(P, []), erlang:garbage_collect(P, [{type, minor}]),
                        erlang:garbage_collect(P, [{type, major}]), erlang:garbage_collect()]]),
    async(P, one, []),
    async(P, {two, [3]}, [{type, minor}]),
    async(self(), me, []),
    M = erlang:monitor(process, P),
    exit(P, kill),
    receive {'DOWN', M, _, _, Reason} -> io:format("~p~n", [Reason]) end,
    io:format("~p~n", [erlang:garbage_collect(P)]),
    async(P, dead, []),
    [io:format("~p ~p~n", [O, class(fun() -> erlang:garbage_collect(self(), O) end)]) ||
        O <- [[{type, x}], [x], x, [{async, a} | b]]],
    io:format("~p~n", [class(fun() -> erlang:garbage_collect(a) end)]).

async(P, Id, Options) ->
    async = erlang:garbage_collect(P, [{async, Id} | Options]),
    receive {garbage_collect, Id, Result} -> io:format("~p ~p~n", [Id, Result]) end.

class(Function) ->
    try Function() catch Class:Reason -> {Class, Reason} end.

idle() -> receive stop -> ok end.
