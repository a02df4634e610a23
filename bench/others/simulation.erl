%% A queue of events with records: customers at counters, a random generator, an event list in a tree.
-module(simulation).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [60000, 20]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("simulation ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: simulation ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

-record(counter, {queue = queue:new(), busy = false, served = 0, waited = 0}).
-record(world, {events = gb_trees:empty(), counters, seed = 1, clock = 0, serial = 0}).

exercise(N) ->
    Counters = maps:from_list([{I, #counter{}} || I <- lists:seq(1, 5)]),
    World = run(schedule(1, {arrival, N}, #world{counters = Counters})),
    {World#world.clock, [{C#counter.served, C#counter.waited} || {_, C} <- lists:sort(maps:to_list(World#world.counters))]}.

run(#world{events = Events} = World) ->
    case gb_trees:is_empty(Events) of
        true -> World;
        false ->
            {{Time, _}, Event, Rest} = gb_trees:take_smallest(Events),
            run(handle(Event, World#world{events = Rest, clock = Time}))
    end.

handle({arrival, 0}, World) -> World;
handle({arrival, Left}, World) ->
    {Pause, World1} = random(4, World),
    {Which, World2} = random(5, World1),
    World3 = schedule(Pause, {arrival, Left - 1}, World2),
    #world{counters = #{Which := Counter} = Counters, clock = Now} = World3,
    case Counter of
        #counter{busy = true, queue = Queue} ->
            World3#world{counters = Counters#{Which := Counter#counter{queue = queue:in(Now, Queue)}}};
        #counter{} -> serve(Which, Counter#counter{busy = true}, World3)
    end;
handle({done, Which}, #world{counters = Counters, clock = Now} = World) ->
    #{Which := #counter{queue = Queue, waited = Waited} = Counter} = Counters,
    case queue:out(Queue) of
        {{value, Since}, Rest} -> serve(Which, Counter#counter{queue = Rest, waited = Waited + Now - Since}, World);
        {empty, _} -> World#world{counters = Counters#{Which := Counter#counter{busy = false}}}
    end.

serve(Which, #counter{served = Served} = Counter, #world{counters = Counters} = World) ->
    {Time, World1} = random(11, World),
    schedule(Time, {done, Which}, World1#world{counters = Counters#{Which := Counter#counter{served = Served + 1}}}).

schedule(In, Event, #world{events = Events, clock = Now, serial = Serial} = World) ->
    World#world{events = gb_trees:insert({Now + In, Serial}, Event, Events), serial = Serial + 1}.

random(Most, #world{seed = Seed} = World) ->
    Next = (Seed * 1103515245 + 12345) band 16#7FFFFFFF,
    {(Next bsr 8) rem Most + 1, World#world{seed = Next}}.

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
