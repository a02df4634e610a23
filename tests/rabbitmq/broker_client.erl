%% What scripts/rabbitmq asks of a broker, with RabbitMQ's own client: `-run broker_client main STEP PORT QUEUE
%% NUMBER...`. A queue is durable and has the type that it is named after. Each step prints one line, and ends with an
%% error if the broker does not do what it says.
-module(broker_client).
-include_lib("amqp_client/include/amqp_client.hrl").
-export([main/1]).

%% Messages whose confirms a publisher awaits together, and that a consumer may have before it acknowledges them.
-define(WINDOW, 500).
-define(PATIENCE, 60000).

main([Step, Port, Queue | Numbers]) ->
    {ok, Connection} = amqp_connection:start(#amqp_params_network{host = "127.0.0.1", port = list_to_integer(Port)}),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Said = step(list_to_atom(Step), Channel, list_to_binary(Queue), [list_to_integer(Number) || Number <- Numbers]),
    io:format("~s~n", [Said]),
    amqp_connection:close(Connection),
    halt().

step(publish, Channel, Queue, [Count, Bytes]) ->
    _ = waiting(Channel, Queue),
    #'confirm.select_ok'{} = amqp_channel:call(Channel, #'confirm.select'{}),
    rate(Count, time(fun() -> publish(Channel, Queue, 1, Count, Bytes) end));
step(consume, Channel, Queue, [Count]) ->
    #'basic.qos_ok'{} = amqp_channel:call(Channel, #'basic.qos'{prefetch_count = ?WINDOW}),
    Microseconds = time(fun() -> subscribe(Channel, #'basic.consume'{queue = Queue}), consume(Channel, 1, Count) end),
    #'basic.get_empty'{} = amqp_channel:call(Channel, #'basic.get'{queue = Queue}),
    rate(Count, Microseconds);
step(latency, Channel, _, [Count]) ->
    #'queue.declare_ok'{queue = Queue} = amqp_channel:call(Channel, #'queue.declare'{exclusive = true}),
    subscribe(Channel, #'basic.consume'{queue = Queue, no_ack = true}),
    Times = lists:sort([time(fun() -> there_and_back(Channel, Queue) end) || _ <- lists:seq(1, Count)]),
    io_lib:format("~b ~b", [lists:nth(ceil(Count * Part), Times) || Part <- [0.5, 0.99]]);
step(count, Channel, Queue, []) ->
    integer_to_list(waiting(Channel, Queue)).

%% How many messages the queue has, which is made if it is not there. (That of a quorum queue is some seconds old.)
waiting(Channel, Queue) ->
    Declare = #'queue.declare'{queue = Queue, durable = true, arguments = [{<<"x-queue-type">>, longstr, Queue}]},
    #'queue.declare_ok'{message_count = Count} = amqp_channel:call(Channel, Declare),
    Count.

time(Act) ->
    {Microseconds, _} = timer:tc(Act),
    Microseconds.

rate(Count, Microseconds) ->
    integer_to_list(Count * 1000000 div Microseconds).

%% Messages with their numbers, all of which the broker has said to keep.
publish(_, _, Number, Count, _) when Number > Count ->
    ok;
publish(Channel, Queue, Number, Count, Bytes) ->
    Payload = <<Number:64, 0:(Bytes - 8)/unit:8>>,
    Message = #amqp_msg{props = #'P_basic'{delivery_mode = 2}, payload = Payload},
    ok = amqp_channel:cast(Channel, #'basic.publish'{routing_key = Queue}, Message),
    [true = amqp_channel:wait_for_confirms(Channel, ?PATIENCE) || Number rem ?WINDOW =:= 0 orelse Number =:= Count],
    publish(Channel, Queue, Number + 1, Count, Bytes).

subscribe(Channel, Consume) ->
    #'basic.consume_ok'{} = amqp_channel:subscribe(Channel, Consume, self()),
    receive #'basic.consume_ok'{} -> ok end.

%% All of them, in order.
consume(_, Number, Count) when Number > Count ->
    ok;
consume(Channel, Number, Count) ->
    receive
        {#'basic.deliver'{delivery_tag = Tag}, #amqp_msg{payload = <<Number:64, _/binary>>}} ->
            amqp_channel:cast(Channel, #'basic.ack'{delivery_tag = Tag}),
            consume(Channel, Number + 1, Count);
        {#'basic.deliver'{}, #amqp_msg{payload = <<Other:64, _/binary>>}} ->
            exit({expected, Number, got, Other})
    after ?PATIENCE -> exit({not_delivered, Number})
    end.

there_and_back(Channel, Queue) ->
    ok = amqp_channel:cast(Channel, #'basic.publish'{routing_key = Queue}, #amqp_msg{payload = <<0:800>>}),
    receive {#'basic.deliver'{}, _} -> ok after ?PATIENCE -> exit(not_delivered) end.
