%% Speaks XMPP with servers of ejabberd, over plain TCP, and asks their nodes a few things: `-run xmpp_client main STEP
%% ARGUMENT...`. It prints figures, and ends with an error if a message is lost, comes twice or is out of order.
-module(xmpp_client).
-export([main/1]).

-define(WAIT, 60000).

main([Step | Arguments]) ->
    try step(Step, Arguments) of
        _ -> halt(0)
    catch
        Class:Reason:Stack ->
            io:format(standard_error, "~s: ~p ~0tp ~0tp~n", [Step, Class, Reason, Stack]),
            halt(1)
    end.

step("register", [Node]) ->
    [ok = ask(Node, ejabberd_auth, try_register, [User, <<"localhost">>, password(User)]) ||
        User <- [<<"alice">>, <<"bob">>]];
step("refuse", [Port]) ->
    {error, refused} = log_in(Port, <<"alice">>, <<"wrong">>);
step("exchange", [AlicePort, BobPort, Count]) ->
    exchange(AlicePort, BobPort, list_to_integer(Count));
step("leave", [Port, Count]) ->
    {Alice, Rest} = present(Port, <<"alice">>),
    [say(Alice, <<"bob">>, integer_to_binary(Number)) || Number <- lists:seq(1, list_to_integer(Count))],
    %% The server answers a later request when it has taken them all.
    gen_tcp:send(Alice, "<iq type='get' id='end' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>"),
    {_, _} = until(Alice, <<"id='end'">>, Rest);
step("collect", [Port, Count]) ->
    {Bob, Rest} = present(Port, <<"bob">>),
    hears(Bob, 1, list_to_integer(Count), Rest);
step("join", [Node, Other]) ->
    ok = ask(Node, ejabberd_cluster, join, [list_to_atom(Other)]),
    together(Node, Other, 200);
step("alone", [Node]) ->
    within(200, fun() -> ask(Node, ejabberd_cluster, get_nodes, []) =:= [list_to_atom(Node)] end).

%% Whether a node of a cluster knows the other, and both have the same tables.
together(Node, Other, Tries) ->
    Both = lists:sort([list_to_atom(Node), list_to_atom(Other)]),
    Knows = fun(One) -> lists:sort(ask(One, ejabberd_cluster, get_nodes, [])) =:= Both end,
    within(Tries, fun() -> Knows(Node) andalso Knows(Other) end),
    Both = lists:sort(ask(Node, mnesia, table_info, [passwd, active_replicas])).

within(0, _) -> error(too_late);
within(Tries, Is) ->
    case Is() of
        true -> ok;
        false -> timer:sleep(100), within(Tries - 1, Is)
    end.

ask(Node, Module, Function, Arguments) ->
    erpc:call(list_to_atom(Node), Module, Function, Arguments, ?WAIT).

%% Both say numbers to each other, all at once; then one number goes to and fro.
exchange(AlicePort, BobPort, Count) ->
    Both = [{Alice, _}, {Bob, _}] = [present(AlicePort, <<"alice">>), present(BobPort, <<"bob">>)],
    Start = now_in_us(),
    Self = self(),
    Listeners = [begin
                     %% What came before is not looked at: a server that was killed hands out once more what it had
                     %% handed out shortly before, as its table of messages is written later (on stock too).
                     Hear = fun() -> Self ! {self(), hears(Socket, 1, Count, <<>>)} end,
                     spawn_link(Hear)
                 end || {Socket, _} <- Both],
    %% Many at a time, so that the servers have more to do than this client.
    [begin
         say_all(Alice, <<"bob">>, Numbers),
         say_all(Bob, <<"alice">>, Numbers)
     end || Numbers <- parts(lists:seq(1, Count))],
    [BehindAlice, BehindBob] =
        [receive {Listener, Rest} -> Rest after ?WAIT * 3 -> error(lost) end || Listener <- Listeners],
    Took = now_in_us() - Start,
    {Times, _} = lists:mapfoldl(fun(Number, {OfAlice, OfBob}) ->
                                        Before = now_in_us(),
                                        say(Alice, <<"bob">>, integer_to_binary(Number)),
                                        NextOfBob = hears(Bob, Number, Number, OfBob),
                                        say(Bob, <<"alice">>, integer_to_binary(Number)),
                                        NextOfAlice = hears(Alice, Number, Number, OfAlice),
                                        {now_in_us() - Before, {NextOfAlice, NextOfBob}}
                                end, {BehindAlice, BehindBob}, lists:seq(1, 500)),
    Sorted = lists:sort(Times),
    io:format("~b ~b ~b~n", [2 * Count * 1000000 div Took, lists:nth(250, Sorted), lists:nth(495, Sorted)]).

now_in_us() -> erlang:monotonic_time(microsecond).

password(User) -> <<"word of ", User/binary>>.

%% A connection of a user who is there, and what has come through it.
present(Port, User) ->
    {ok, Socket} = log_in(Port, User, password(User)),
    ok = gen_tcp:send(Socket, "<presence><priority>1</priority></presence>"),
    {Socket, with(Socket, <<"</presence>">>, <<>>)}.

log_in(Port, User, Password) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, list_to_integer(Port), [binary, {active, false}, {nodelay, true}]),
    Open = "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' "
        "xmlns:stream='http://etherx.jabber.org/streams'>",
    ok = gen_tcp:send(Socket, Open),
    {_, Rest} = until(Socket, <<"</stream:features>">>, <<>>),
    Secret = base64:encode(<<0, User/binary, 0, Password/binary>>),
    ok = gen_tcp:send(Socket, ["<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>", Secret, "</auth>"]),
    case until(Socket, [<<"<success">>, <<"<failure">>], Rest) of
        {<<"<failure">>, _} ->
            gen_tcp:close(Socket),
            {error, refused};
        {<<"<success">>, _} ->
            ok = gen_tcp:send(Socket, Open),
            {_, Bound} = until(Socket, <<"</stream:features>">>, <<>>),
            Resource = integer_to_binary(erlang:unique_integer([positive])),
            ok = gen_tcp:send(Socket, ["<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>",
                                       "<resource>", Resource, "</resource></bind></iq>"]),
            {_, _} = until(Socket, <<"</iq>">>, Bound),
            {ok, Socket}
    end.

say(Socket, To, Body) -> ok = gen_tcp:send(Socket, message(To, Body)).

say_all(Socket, To, Numbers) -> ok = gen_tcp:send(Socket, [message(To, integer_to_binary(Number)) || Number <- Numbers]).

message(To, Body) -> ["<message type='chat' to='", To, "@localhost'><body>", Body, "</body></message>"].

parts(Numbers) when length(Numbers) =< 50 -> [Numbers];
parts(Numbers) ->
    {Part, Rest} = lists:split(50, Numbers),
    [Part | parts(Rest)].

%% Bodies come as these numbers, in this order.
hears(_, Number, Last, Rest) when Number > Last -> Rest;
hears(Socket, Number, Last, Rest) ->
    {_, Behind} = until(Socket, <<"<body>">>, Rest),
    {Body, Further} = until_end(Socket, Behind),
    {Number, _} = {binary_to_integer(Body), Number},
    hears(Socket, Number + 1, Last, Further).

until_end(Socket, Bytes) ->
    case binary:split(Bytes, <<"</body>">>) of
        [Body, Rest] -> {Body, Rest};
        [_] -> until_end(Socket, more(Socket, Bytes))
    end.

%% What was found, and what follows it.
until(Socket, What, Bytes) ->
    case binary:match(Bytes, What) of
        {At, Length} ->
            <<_:At/binary, Found:Length/binary, Rest/binary>> = Bytes,
            {Found, Rest};
        nomatch ->
            until(Socket, What, more(Socket, Bytes))
    end.

%% All that has come when this has; messages that were left for a user come before the answer to its presence.
with(Socket, What, Bytes) ->
    case binary:match(Bytes, What) of
        nomatch -> with(Socket, What, more(Socket, Bytes));
        _ -> Bytes
    end.

more(Socket, Bytes) ->
    {ok, More} = gen_tcp:recv(Socket, 0, ?WAIT),
    <<Bytes/binary, More/binary>>.
