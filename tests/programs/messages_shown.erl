%% Messages of the machine that wait unread are shown to another process, which keeps them when their owner has ended.
-module(messages_shown).
-export([main/1]).

main(_) ->
    Shown = [shown() || _ <- lists:seq(1, 30)],
    erlang:garbage_collect(),
    Waste = [{N, [N | N]} || N <- lists:seq(1, 20000)],
    20000 = length(Waste),
    erlang:garbage_collect(),
    [Same] = lists:usort([[{What, lists:sort([{Key, is_integer(Value)} || {Key, Value} <- Info])} || {trace, _, What, Info} <- Each]
                          || Each <- Shown]),
    io:format("~p~n", [Same]).

shown() ->
    {Owner, Monitor} = spawn_monitor(fun() -> receive never -> ok end end),
    1 = erlang:trace(self(), true, [garbage_collection, {tracer, Owner}]),
    erlang:garbage_collect(),
    1 = erlang:trace(self(), false, [garbage_collection]),
    Delivered = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Delivered} -> ok end,
    {messages, Messages} = process_info(Owner, messages),
    exit(Owner, kill),
    receive {'DOWN', Monitor, process, Owner, killed} -> ok end,
    [lists:keyfind(What, 3, Messages) || What <- [gc_major_start, gc_major_end]].
