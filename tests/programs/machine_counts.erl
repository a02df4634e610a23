%% What the machine counts of itself, and limits of what functions take.
-module(machine_counts).
-export([main/1]).

main(_) ->
    io:format("~w~n", [carried()]),
    io:format("~w~n", [reclaimed()]),
    io:format("~w~n", [reductions()]),
    io:format("~w~n", [queues()]),
    io:format("~w~n", [shared_sizes()]),
    io:format("~w~n", [paths()]),
    io:format("~w~n", [years()]),
    io:format("~w~n", [tell_of_allocators()]),
    io:format("~w~n", [allocator_sizes()]).

%% Bytes that ports have carried.
carried() ->
    {{input, In}, {output, Out}} = statistics(io),
    Port = open_port({spawn, "cat"}, [binary]),
    port_command(Port, <<"hello">>),
    receive {Port, {data, <<"hello">>}} -> ok end,
    {{input, LaterIn}, {output, LaterOut}} = statistics(io),
    {LaterIn - In >= 5, LaterOut - Out >= 5}.

%% Words that collections have freed, where there are any. (On one heap for all, a collection may come later.)
reclaimed() ->
    {_, Before, 0} = statistics(garbage_collection),
    case erlang:system_info(heap_type) of
        nogc -> freed;
        _ -> freed(Before, 1000)
    end.

freed(_, 0) -> never;
freed(Before, Left) ->
    _ = lists:sum(lists:seq(1, 50_000)),
    erlang:garbage_collect(),
    {_, Words, 0} = statistics(garbage_collection),
    case Words - Before > 1_000_000 of
        true -> freed;
        false -> freed(Before, Left - 1)
    end.

%% They never become fewer, and the difference is that of two calls.
reductions() ->
    {First, _} = statistics(reductions),
    {reductions, Own} = process_info(self(), reductions),
    reductions(First, Own, 2000).

reductions(_, _, 0) -> ok;
reductions(Last, Own, Left) ->
    _ = lists:seq(1, 200),
    {Now, Since} = statistics(reductions),
    {reductions, OwnNow} = process_info(self(), reductions),
    case Now =:= Last + Since andalso Since >= 0 andalso OwnNow >= Own of
        true -> reductions(Now, OwnNow, Left - 1);
        false -> {Last, Now, Since, Own, OwnNow}
    end.

%% The queues of threads for long work come after those of schedulers.
queues() ->
    Schedulers = erlang:system_info(schedulers),
    [length(statistics(Item)) - Schedulers
     || Item <- [run_queue_lengths, run_queue_lengths_all, active_tasks, active_tasks_all]].

%% Sizes of lists that contain the same parts many times.
shared_sizes() ->
    Twice = fun Twice(List, 0) -> List; Twice(List, Times) -> Twice([List, List], Times - 1) end,
    Part = binary:copy(<<1>>, 1 bsl 40 bsr 12),
    [iolist_size(Twice(Part, 16)), caught(fun() -> iolist_size([Twice(Part, 16) | foo]) end)].

%% Iterators that no map gives.
paths() ->
    Large = maps:from_list([{N, N} || N <- lists:seq(1, 100)]),
    [case caught(fun() -> erts_internal:map_next(Path, Map, iterator) end) of
         badarg -> badarg;
         none -> none;
         {_, _, _} -> pair
     end || Map <- [#{}, #{a => 1, b => 2}], Path <- [0, 1, 2, 3, -1, 1 bsl 59 - 1, 1 bsl 64, a]]
        ++ [caught(fun() -> erts_internal:map_next(Path, Large, iterator) end) || Path <- [-1, a, 1 bsl 64 - 1]].

years() ->
    [caught(fun() -> erlang:Convert({{Year, 12, 31}, {23, 0, 0}}) end) =:= badarg
     || Convert <- [localtime_to_universaltime, universaltime_to_localtime], Year <- [0, 1900, 1901, 1902, 1969]].

%% Each scheduler answers.
tell_of_allocators() ->
    Refused = [caught(fun() -> erlang:system_info({memory_internal, make_ref(), Names}) end)
               || Names <- [[], [no_allocator], fix_alloc]],
    Reference = make_ref(),
    true = erlang:system_info({memory_internal, Reference, [fix_alloc]}),
    Answers = [receive {Reference, Number, List} when is_list(List) -> Number end
               || _ <- lists:seq(1, erlang:system_info(schedulers))],
    {Refused, lists:sort(Answers) =:= lists:seq(1, erlang:system_info(schedulers))}.

caught(Fun) ->
    try Fun() catch error:Reason -> Reason end.

%% As observer adds them up: each that holds something has room for that.
allocator_sizes() ->
    Names = erlang:system_info(alloc_util_allocators),
    Sizes = erlang:system_info({allocator_sizes, Names}),
    true = Names =:= [Name || {Name, _} <- Sizes],
    Held = [{Name, held(Instances)} || {Name, Instances} <- Sizes],
    {{Blocks, Carriers}, Heaps} = {total(Held), proplists:get_value(eheap_alloc, Held)},
    [Blocks > 1000000, Carriers >= Blocks, element(1, Heaps) > 10000,
     [held(erlang:system_info({Item, eheap_alloc})) =/= {0, 0} || Item <- [allocator, allocator_sizes]],
     [caught(fun() -> erlang:system_info({Item, Which}) end)
      || Item <- [allocator, allocator_sizes], Which <- [foo, [], [foo], [eheap_alloc, 1]]]].

total(Held) -> lists:foldl(fun({_, {B, C}}, {Bs, Cs}) -> {Bs + B, Cs + C} end, {0, 0}, Held).

held(false) -> {0, 0};
held(Instances) ->
    All = [{blocks(Blocks), element(2, lists:keyfind(carriers_size, 1, More))}
           || {instance, _, Parts} <- Instances, {_, [{blocks, Blocks} | More]} <- Parts],
    total([{all, One} || One <- All]).

blocks(Blocks) -> lists:sum([element(2, lists:keyfind(size, 1, About)) || {_, About} <- Blocks]).
