%% What two connected nodes do with each other. `main/1` runs on one node and gets the name of the other; it prints the
%% same whichever machines the two run on.
-module(pair).
-export([main/1, echo/0, register_echo/2, ends/1, monitored/2, linked/2, trapping/2, leader/1, apply_it/1, flood/2,
         collect/3, hold/1, counter/2, answers/1, token_of_each/1]).

main(Other) ->
    process_flag(trap_exit, true),
    say(ping, net_adm:ping(Other)),
    [ok = rpc:call(Node, logger, set_primary_config, [level, none]) || Node <- [node(), Other]],
    Steps = [fun names/1, fun texts/1, fun terms/1, fun sends/1, fun order/1, fun large/1, fun links/1, fun monitors/1, fun exits/1,
             fun spawns/1, fun requests/1, fun calls/1, fun aliases/1, fun leaders/1, fun globals/1, fun groups/1,
             fun described/1, fun nodes_and_news/1, fun many/1, fun tokens/1, fun receives/1, fun away/1],
    [begin
         Before = sort(erlang:nodes(connected)),
         try Step(Other)
         catch Class:Reason:Trace -> say(failed, {Class, Reason, Trace})
         end,
         (Before =:= sort(erlang:nodes(connected))) orelse say(changed, length(Before))
     end || Step <- Steps],
    drain(),
    say(done, ok).

say(What, Result) -> io:format("~p: ~p~n", [What, Result]).

sort(List) -> lists:sort(List).

%% Pids, ports and references of the other node as text and back, and of nodes that nobody knows.
texts(Other) ->
    Pid = rpc:call(Other, erlang, whereis, [init]),
    Reference = rpc:call(Other, erlang, make_ref, []),
    [Port | _] = rpc:call(Other, erlang, ports, []),
    say(texts, [list_to_pid(pid_to_list(Pid)) =:= Pid, list_to_ref(ref_to_list(Reference)) =:= Reference,
                list_to_port(port_to_list(Port)) =:= Port]),
    Node = fun(Text) -> hd(string:lexemes(Text, "<>.")) end,
    Name = Node(pid_to_list(Pid)),
    Errors = [try F(Text) of Identifier -> node(Identifier) =:= Other
              catch error:Reason -> Reason
              end || {F, Text} <- [
                  {fun list_to_pid/1, "<999999.1.2>"}, {fun list_to_port/1, "#Port<999999.1>"},
                  {fun list_to_ref/1, "#Ref<999999.1.2.3>"}, {fun list_to_pid/1, "<99999999999999999999.1.2>"},
                  {fun list_to_pid/1, "<" ++ Name ++ ".5.6>"}, {fun list_to_pid/1, "<" ++ Name ++ ".5>"},
                  {fun list_to_port/1, "#Port<" ++ Name ++ ".7>"}, {fun list_to_pid/1, "<" ++ Name ++ ".5.6.7>"}]],
    say(identifiers_of_text, Errors).

drain() ->
    receive Message -> say(left, Message), drain()
    after 0 -> ok
    end.

take() -> receive Message -> Message after 5000 -> timeout end.

%% Patterns for received messages see the node of a sender elsewhere, and the pid of one here.
receives(Other) ->
    Self = self(),
    Echo = spawn_link(?MODULE, echo, []),
    register(traced_echo, Echo),
    1 = erlang:trace(Echo, true, ['receive']),
    ToPid = fun() -> rpc:call(Other, erlang, send, [Echo, {Self, hello}]) end,
    ToName = fun() -> rpc:call(Other, erlang, send, [{traced_echo, node()}, {Self, hello}]) end,
    Here = fun() -> Echo ! {Self, hello} end,
    Told = fun(Pattern, Send) ->
        erlang:trace_pattern('receive', Pattern, []),
        Send(),
        receive {Echo, hello} -> ok after 5000 -> timeout end,
        Reference = erlang:trace_delivered(Echo),
        receive {trace_delivered, Echo, Reference} -> ok end,
        length([told || {trace, Pid, 'receive', {From, hello}} <- received(), Pid =:= Echo, From =:= Self])
    end,
    say(receives, [{[Told([{['$1', undefined, '_'], [{'==', '$1', Node}], []}], Send) || Node <- [{node}, Other]],
                    Told([{[node(), Self, '_'], [], []}], Send), Told(true, Send), Told(false, Send)}
                   || Send <- [ToPid, ToName, Here]]),
    erlang:trace_pattern('receive', true, []),
    erlang:trace(Echo, false, ['receive']),
    unlink(Echo),
    exit(Echo, kill).

received() -> receive Message -> [Message | received()] after 0 -> [] end.

%% --- on the other node

%% Tells the token that each message brings, and ends with a token of its own.
token_of_each(From) ->
    receive
        stop -> exit(over);
        Message ->
            {Flags, Label, Serial, Before, Last} = seq_trace:get_token(),
            From ! {Message, Flags, Label, Serial, Before =:= From, Last},
            token_of_each(From)
    end.

echo() ->
    receive
        {From, stop} -> From ! {self(), stopped};
        {From, Message} -> From ! {self(), Message}, echo()
    end.

register_echo(Name, From) ->
    register(Name, self()),
    From ! {self(), ready},
    named_echo().

named_echo() ->
    receive
        {From, stop} -> From ! stopped;
        {From, Message} -> From ! {named, Message}, named_echo()
    end.

ends(Reason) -> exit(Reason).

monitored(From, Pid) ->
    Reference = monitor(process, Pid),
    From ! {self(), watching},
    receive {'DOWN', Reference, process, Down, Reason} -> From ! {self(), Down =:= Pid, Reason} end.

linked(From, Pid) ->
    link(Pid),
    From ! {self(), linked},
    receive Never -> From ! Never end.

trapping(From, Pid) ->
    process_flag(trap_exit, true),
    link(Pid),
    From ! {self(), linked},
    receive {'EXIT', Exited, Reason} -> From ! {self(), Exited =:= Pid, Reason} end.

leader(From) -> From ! {self(), group_leader()}.

apply_it(From) -> receive {F, X} -> From ! {self(), F(X)} end.

flood(To, Count) -> [To ! {self(), N} || N <- lists:seq(1, Count)], ok.

collect(From, 0, Sum) -> From ! {self(), Sum};
collect(From, Count, Sum) -> receive N -> collect(From, Count - 1, Sum + N) end.

hold(From) -> From ! {self(), holding}, receive stop -> ok end.

counter(From, Count) -> receive {From, done} -> From ! {self(), Count}; _ -> counter(From, Count + 1) end.

answers(Value) -> {answer, Value}.

%% --- on this one

names(Other) ->
    say(nodes, nodes() =:= [Other]),
    say(theirs, rpc:call(Other, erlang, nodes, []) =:= [node()]),
    say(alive, {is_alive(), rpc:call(Other, erlang, is_alive, [])}),
    Pid = spawn(Other, ?MODULE, echo, []),
    say(node_of_pid, node(Pid) =:= Other),
    say(local, {is_pid(Pid), catch_reason(fun() -> is_process_alive(Pid) end)}),
    Pid ! {self(), stop},
    say(stopped, take() =:= {Pid, stopped}).

terms(Other) ->
    Pid = spawn(Other, ?MODULE, echo, []),
    Large = maps:from_list([{N, {N, integer_to_binary(N)}} || N <- lists:seq(1, 200)]),
    Atoms = [list_to_atom("an_atom_" ++ integer_to_list(N)) || N <- lists:seq(1, 400)],
    Terms = [1, -1, 255, 256, 1 bsl 40, -(1 bsl 70), 1 bsl 3000, 1.5, -0.0, atom, '', 'ä', '日本', [], "text",
             [1 | 2], lists:seq(1, 1000), [[[]]], {}, {1, {2}}, #{}, #{a => 1, b => [2]}, Large, <<>>, <<1, 2, 3>>,
             <<1:3>>, <<5:13>>, binary:copy(<<"x">>, 1000), self(), make_ref(), hd(erlang:ports()), fun lists:map/2,
             fun erlang:node/0, Atoms, list_to_tuple(lists:seq(1, 300)), Pid, [Pid, Pid]],
    Same = [begin Pid ! {self(), Term}, {Pid, Back} = take(), Back =:= Term end || Term <- Terms],
    say(terms, {length(Same), lists:usort(Same)}),
    N = 5,
    F = fun(X) -> X + N end,
    Worker = spawn(Other, ?MODULE, apply_it, [self()]),
    Worker ! {F, 4},
    say(fun_applied, take() =:= {Worker, 9}),
    Pid ! {self(), F},
    {Pid, G} = take(),
    say(fun_back, {G =:= F, G(1)}),
    Pid ! {self(), stop},
    {Pid, stopped} = take(),
    ok.

sends(Other) ->
    Pid = spawn(Other, ?MODULE, register_echo, [pair_echo, self()]),
    {Pid, ready} = take(),
    {pair_echo, Other} ! {self(), hello},
    say(named, take()),
    say(send, erlang:send({pair_echo, Other}, {self(), again}, [noconnect, nosuspend])),
    say(named, take()),
    say(unknown, {pair_nobody, Other} ! lost),
    say(no_node, erlang:send({pair_echo, 'nobody@127.0.0.1'}, lost, [noconnect])),
    register(pair_here, self()),
    rpc:call(Other, erlang, send, [{pair_here, node()}, from_there]),
    say(here, take()),
    unregister(pair_here),
    {pair_echo, Other} ! {self(), stop},
    say(stopped, take()).

order(Other) ->
    Pid = spawn(Other, ?MODULE, flood, [self(), 2000]),
    Got = [receive {Pid, N} -> N after 5000 -> timeout end || _ <- lists:seq(1, 2000)],
    say(order, Got =:= lists:seq(1, 2000)),
    Sum = spawn(Other, ?MODULE, collect, [self(), 1000, 0]),
    [Sum ! N || N <- lists:seq(1, 1000)],
    say(sum, receive {Sum, Total} -> Total after 5000 -> timeout end).

%% Long messages go in fragments, and what one process sends stays in order.
large(Other) ->
    Pid = spawn(Other, ?MODULE, echo, []),
    Sizes = [60000, 65535, 65536, 65537, 131072, 1000000, 5000000],
    [Pid ! {self(), binary:copy(<<(N rem 251)>>, N)} || N <- Sizes],
    Pid ! {self(), behind},
    Back = [receive {Pid, Binary} when is_binary(Binary) -> byte_size(Binary) after 10000 -> timeout end || _ <- Sizes],
    say(large, Back =:= Sizes),
    say(behind, take() =:= {Pid, behind}),
    List = lists:seq(1, 100000),
    Pid ! {self(), List},
    say(long_list, receive {Pid, Long} -> Long =:= List after 10000 -> timeout end),
    Reason = binary:copy(<<"r">>, 200000),
    {_, Reference} = spawn_monitor(Other, ?MODULE, ends, [Reason]),
    say(large_reason, receive {'DOWN', Reference, process, _, Why} -> Why =:= Reason after 5000 -> timeout end),
    Pid ! {self(), stop},
    {Pid, stopped} = take(),
    ok.

links(Other) ->
    One = spawn_link(Other, ?MODULE, ends, [bye]),
    say(spawn_link, take() =:= {'EXIT', One, bye}),
    Two = spawn(Other, ?MODULE, hold, [self()]),
    {Two, holding} = take(),
    true = link(Two),
    true = link(Two),
    say(has_link, lists:member(Two, element(2, process_info(self(), links)))),
    exit(Two, stop_it),
    say(linked_exit, take() =:= {'EXIT', Two, stop_it}),
    Three = spawn(Other, ?MODULE, hold, [self()]),
    {Three, holding} = take(),
    true = link(Three),
    true = unlink(Three),
    exit(Three, kill),
    say(unlinked, receive {'EXIT', Three, _} -> told after 200 -> quiet end),
    true = link(Three),
    say(dead, take() =:= {'EXIT', Three, noproc}),
    Local = spawn(fun() -> receive stop -> exit(local_end) end end),
    Four = spawn(Other, ?MODULE, trapping, [self(), Local]),
    {Four, linked} = take(),
    Local ! stop,
    say(their_exit, take() =:= {Four, true, local_end}),
    Victim = spawn(Other, ?MODULE, linked, [self(), Middle = spawn(fun() -> receive stop -> ok end end)]),
    Watch = monitor(process, Victim),
    {Victim, linked} = take(),
    exit(Middle, with_me),
    say(taken_along, receive {'DOWN', Watch, process, Victim, Why} -> Why after 5000 -> timeout end),
    Again = spawn(Other, ?MODULE, hold, [self()]),
    {Again, holding} = take(),
    [begin link(Again), unlink(Again) end || _ <- lists:seq(1, 100)],
    link(Again),
    Again ! stop,
    say(linked_at_last, take() =:= {'EXIT', Again, normal}).

monitors(Other) ->
    {Pid, Reference} = spawn_monitor(Other, ?MODULE, ends, [over]),
    say(spawn_monitor, take() =:= {'DOWN', Reference, process, Pid, over}),
    Dead = monitor(process, Pid),
    say(noproc, take() =:= {'DOWN', Dead, process, Pid, noproc}),
    Named = monitor(process, {pair_nobody, Other}),
    say(no_name, take() =:= {'DOWN', Named, process, {pair_nobody, Other}, noproc}),
    Echo = spawn(Other, ?MODULE, register_echo, [pair_watched, self()]),
    {Echo, ready} = take(),
    ByName = monitor(process, {pair_watched, Other}),
    ByPid = monitor(process, Echo),
    Tagged = monitor(process, Echo, [{tag, {my, tag}}]),
    say(monitors, length(element(2, process_info(self(), monitors)))),
    true = demonitor(ByPid),
    {pair_watched, Other} ! {self(), stop},
    say(stopped, take()),
    Two = sort([case take() of
                    {'DOWN', ByName, process, Object, Why} -> {by_name, Object =:= {pair_watched, Other}, Why};
                    {{my, tag}, Tagged, process, Echo, Why} -> {tagged, Why}
                end || _ <- [1, 2]]),
    say(both, Two),
    Local = spawn(fun() -> receive stop -> exit(local_over) end end),
    Watcher = spawn(Other, ?MODULE, monitored, [self(), Local]),
    {Watcher, watching} = take(),
    say(monitored_by, length(element(2, process_info(Local, monitored_by)))),
    Local ! stop,
    say(their_down, take() =:= {Watcher, true, local_over}),
    Held = spawn(Other, ?MODULE, hold, [self()]),
    {Held, holding} = take(),
    Gone = monitor(process, Held),
    true = demonitor(Gone, [flush]),
    Held ! stop,
    say(demonitored, receive {'DOWN', Gone, _, _, _} -> told after 100 -> quiet end).

exits(Other) ->
    Pids = [spawn(Other, ?MODULE, hold, [self()]) || _ <- [1, 2, 3]],
    [receive {Pid, holding} -> ok end || Pid <- Pids],
    [A, B, C] = Pids,
    [monitor(process, Pid) || Pid <- Pids],
    exit(A, kill),
    say(kill, receive {'DOWN', _, process, A, Why1} -> Why1 after 5000 -> timeout end),
    exit(B, normal),
    exit(B, {some, [reason]}),
    say(reason, receive {'DOWN', _, process, B, Why2} -> Why2 after 5000 -> timeout end),
    C ! stop,
    say(normal, receive {'DOWN', _, process, C, Why3} -> Why3 after 5000 -> timeout end).

spawns(Other) ->
    Me = self(),
    Pid = spawn(Other, fun() -> Me ! {self(), node()} end),
    say(spawn_fun, take() =:= {Pid, Other}),
    {P, R} = spawn_opt(Other, fun() -> exit(opt) end, [monitor, link]),
    Two = sort([take(), take()]),
    say(spawn_opt, Two =:= sort([{'EXIT', P, opt}, {'DOWN', R, process, P, opt}])),
    say(undefined, begin
                       {Q, S} = spawn_monitor(Other, pair, no_such_function, []),
                       receive {'DOWN', S, process, Q, {undef, [{M, F, A, _} | _]}} -> {M, F, A} after 5000 -> timeout end
                   end),
    say(badopt, catch_reason(fun() -> spawn_opt(Other, ?MODULE, ends, [normal], [no_such_option]) end)),
    say(badarg, catch_reason(fun() -> spawn(Other, ?MODULE, ends, not_a_list) end)),
    Leader = rpc:call(Other, erlang, whereis, [init]),
    say(remote_init, {is_pid(Leader), node(Leader) =:= Other}),
    Parent = spawn(Other, fun() -> Me ! {self(), group_leader() =:= Me} end),
    say(leader, receive {Parent, Is} -> Is after 5000 -> timeout end).

catch_reason(F) ->
    try F() of _ -> no_error
    catch error:Reason -> Reason
    end.

requests(Other) ->
    One = spawn_request(Other, ?MODULE, ends, [normal]),
    say(reply, case take() of {spawn_reply, One, ok, Pid} -> node(Pid) =:= Other end),
    Two = spawn_request(Other, ?MODULE, ends, [requested], [monitor, {reply_tag, my_tag}]),
    P2 = case take() of {my_tag, Two, ok, Made} -> Made end,
    say(down, take() =:= {'DOWN', Two, process, P2, requested}),
    spawn_request(Other, ?MODULE, ends, [normal], [{reply, no}]),
    say(no_reply, receive Any -> Any after 200 -> quiet end),
    Bad = spawn_request(Other, ?MODULE, ends, [normal], [bad_option]),
    say(bad, take() =:= {spawn_reply, Bad, error, badopt}),
    Nowhere = spawn_request('nobody@127.0.0.1', ?MODULE, ends, [normal], []),
    say(nowhere, take() =:= {spawn_reply, Nowhere, error, noconnection}).

calls(Other) ->
    say(rpc, rpc:call(Other, ?MODULE, answers, [7])),
    say(rpc_exit, rpc:call(Other, erlang, exit, [reason])),
    say(rpc_badrpc, element(1, rpc:call(Other, ?MODULE, no_such_function, []))),
    say(erpc, erpc:call(Other, ?MODULE, answers, [8])),
    say(erpc_error, try erpc:call(Other, erlang, error, [oops]) catch error:{exception, oops, _} -> caught end),
    say(erpc_throw, try erpc:call(Other, erlang, throw, [ball]) catch throw:ball -> caught end),
    say(erpc_timeout, try erpc:call(Other, timer, sleep, [1000], 20) catch error:{erpc, timeout} -> caught end),
    say(multicall, rpc:multicall([node(), Other], ?MODULE, answers, [9])),
    say(erpc_multicall, erpc:multicall([node(), Other], ?MODULE, answers, [10])),
    Key = rpc:async_call(Other, ?MODULE, answers, [11]),
    say(yield, rpc:yield(Key)),
    say(cast, rpc:cast(Other, erlang, send, [self(), cast_came])),
    say(cast, take()),
    say(block_call, rpc:block_call(Other, ?MODULE, answers, [12])),
    say(server, gen_server:call({kernel_safe_sup, Other}, which_children)  =/= error),
    say(pmap, rpc:pmap({?MODULE, answers}, [], [1, 2, 3])).

aliases(Other) ->
    Pid = spawn(Other, ?MODULE, echo, []),
    Alias = alias([reply]),
    Pid ! {Alias, one},
    say(alias, take() =:= {Pid, one}),
    Pid ! {Alias, two},
    say(alias_over, receive Any -> Any after 200 -> quiet end),
    Explicit = alias(),
    [Pid ! {Explicit, N} || N <- [1, 2]],
    say(explicit, [take() =:= {Pid, N} || N <- [1, 2]]),
    say(unalias, unalias(Explicit)),
    Pid ! {Explicit, 3},
    say(unaliased, receive More -> More after 200 -> quiet end),
    Watch = monitor(process, Pid, [{alias, reply_demonitor}]),
    Pid ! {Watch, four},
    say(with_monitor, take() =:= {Pid, four}),
    Pid ! {self(), stop},
    say(stopped, take() =:= {Pid, stopped}),
    say(no_down, receive Down -> Down after 200 -> quiet end).

leaders(Other) ->
    Pid = spawn(Other, ?MODULE, leader, [self()]),
    say(inherited, take() =:= {Pid, group_leader()}),
    Me = self(),
    Fake = spawn(fun() -> Me ! {self(), io(Me)} end),
    Writer = spawn(Other, fun() ->
                                  group_leader(Fake, self()),
                                  Me ! {self(), io:format("text ~p", [1])}
                          end),
    say(written, sort([element(2, receive {Fake, A} -> {Fake, A} end), element(2, receive {Writer, B} -> {Writer, B} end)])),
    Held = spawn(Other, ?MODULE, hold, [self()]),
    {Held, holding} = take(),
    true = group_leader(self(), Held),
    timer:sleep(100),
    say(set, rpc:call(Other, erlang, process_info, [Held, group_leader]) =:= {group_leader, self()}),
    Held ! stop.

io(_) ->
    receive
        {io_request, From, As, {put_chars, unicode, M, F, A}} ->
            From ! {io_reply, As, ok},
            lists:flatten(apply(M, F, A));
        {io_request, From, As, Request} ->
            From ! {io_reply, As, ok},
            Request
    after 5000 -> timeout
    end.

globals(Other) ->
    say(sync, global:sync()),
    Pid = spawn(Other, ?MODULE, hold, [self()]),
    {Pid, holding} = take(),
    say(global, global:register_name(pair_global, Pid)),
    say(whereis, global:whereis_name(pair_global) =:= Pid),
    say(theirs, rpc:call(Other, global, whereis_name, [pair_global]) =:= Pid),
    say(trans, global:trans({pair_lock, self()}, fun() -> locked end)),
    Pid ! stop,
    timer:sleep(200),
    say(gone, {global:whereis_name(pair_global), rpc:call(Other, global, whereis_name, [pair_global])}).

groups(Other) ->
    {ok, _} = pg:start(pair_scope),
    {ok, _} = rpc:call(Other, pg, start, [pair_scope]),
    Pid = spawn(Other, ?MODULE, hold, [self()]),
    {Pid, holding} = take(),
    ok = pg:join(pair_scope, group, self()),
    ok = rpc:call(Other, pg, join, [pair_scope, group, Pid]),
    timer:sleep(200),
    say(members, sort(pg:get_members(pair_scope, group)) =:= sort([self(), Pid])),
    Pid ! stop,
    timer:sleep(200),
    say(members, pg:get_members(pair_scope, group) =:= [self()]),
    ok = pg:leave(pair_scope, group, self()).

%% What a crash dump would say of links and monitors.
described(Other) ->
    Pid = spawn(Other, ?MODULE, hold, [self()]),
    {Pid, holding} = take(),
    Watcher = spawn(Other, ?MODULE, monitored, [self(), self()]),
    {Watcher, watching} = take(),
    link(Pid),
    Watches = [monitor(process, One) || One <- [Pid, {kernel_sup, Other}]],
    Text = erlang:system_info(dist),
    Lines = [["Remote link: ", [pid_to_list(One) || One <- [Pid, self()]]],
             ["Remote monitoring: ", [pid_to_list(One) || One <- [self(), Pid]]],
             ["Remote monitoring: ", [pid_to_list(self()), io_lib:format("{kernel_sup, ~p}", [Other])]],
             ["Remotely monitored by: ", [pid_to_list(One) || One <- [self(), Watcher]]]],
    say(described, [string:find(Text, [Kind, lists:join($ , Two), $\n]) =/= nomatch || [Kind, Two] <- Lines]),
    unlink(Pid),
    [demonitor(Watch, [flush]) || Watch <- Watches],
    exit(Watcher, kill),
    Pid ! stop.

nodes_and_news(Other) ->
    say(kinds, {erlang:nodes(hidden), erlang:nodes(visible) =:= [Other], sort(erlang:nodes([this, connected])) =:= sort([node(), Other])}),
    [{Other, Info}] = erlang:nodes(visible, #{connection_id => true, node_type => true}),
    say(info, {maps:get(node_type, Info), is_integer(maps:get(connection_id, Info))}),
    ok = net_kernel:monitor_nodes(true),
    ok = net_kernel:monitor_nodes(true, [nodedown_reason, {node_type, all}]),
    ok = net_kernel:monitor_nodes(true, #{node_type => visible, nodedown_reason => true}),
    true = erlang:monitor_node(Other, true),
    Pid = spawn(Other, ?MODULE, hold, [self()]),
    {Pid, holding} = take(),
    Watch = monitor(process, Pid),
    link(Pid),
    say(disconnect, erlang:disconnect_node(Other)),
    say(after_it, nodes()),
    News = sort([case take() of
                     {nodedown, Other} -> nodedown;
                     {nodedown, Other, List} when is_list(List) -> {nodedown, sort(List)};
                     {nodedown, Other, Map} -> {nodedown, map, sort(maps:to_list(Map))};
                     {'DOWN', Watch, process, Pid, Why} -> {down, Why};
                     {'EXIT', Pid, Why} -> {exit, Why};
                     Else -> Else
                 end || _ <- lists:seq(1, 6)]),
    say(news, News),
    say(ping, net_adm:ping(Other)),
    Up = sort([case take() of
                   {nodeup, Other} -> nodeup;
                   {nodeup, Other, List} when is_list(List) -> {nodeup, sort(List)};
                   {nodeup, Other, Map} -> {nodeup, map, sort(maps:to_list(Map))};
                   Else -> Else
               end || _ <- [1, 2, 3]]),
    say(up, Up),
    ok = net_kernel:monitor_nodes(false),
    ok = net_kernel:monitor_nodes(false, [nodedown_reason, {node_type, all}]),
    ok = net_kernel:monitor_nodes(false, #{node_type => visible, nodedown_reason => true}),
    timer:sleep(300),
    catch exit(Pid, kill),
    ok.

many(Other) ->
    Pids = [spawn_link(Other, ?MODULE, hold, [self()]) || _ <- lists:seq(1, 500)],
    [receive {Pid, holding} -> ok after 5000 -> say(missing, Pid) end || Pid <- Pids],
    [Pid ! stop || Pid <- Pids],
    Ends = [receive {'EXIT', Pid, Why} -> Why after 5000 -> timeout end || Pid <- Pids],
    say(many, lists:usort(Ends)),
    Me = self(),
    Senders = [spawn(fun() -> [Pid ! {N, M} || M <- lists:seq(1, 200)], Me ! {sent, N} end)
               || N <- lists:seq(1, 20), Pid <- [whereis_counter(Other)]],
    [receive {sent, N} -> ok after 20000 -> say(not_sent, N) end || N <- lists:seq(1, length(Senders))],
    rpc:call(Other, erlang, node, []),
    say(senders, length(Senders)).

whereis_counter(Other) ->
    case get(counter) of
        undefined -> Pid = spawn(Other, ?MODULE, counter, [self(), 0]), put(counter, Pid), Pid;
        Pid -> Pid
    end.

%% The other node goes away.
%% Tokens of sequential tracing go along with messages, requests for processes and exits. Nothing is printed, and no
%% code loaded, while this process has one: that would be events too.
tokens(Other) ->
    [{module, _} = rpc:call(Node, code, ensure_loaded, [seq_trace]) || Node <- [node(), Other]],
    Pid = spawn_link(Other, ?MODULE, token_of_each, [self()]),
    true = rpc:call(Other, erlang, register, [with_token, Pid]),
    [say(tokens, tokens_of(Label, Other, Pid)) || Label <- [17, {make_ref(), "label"}]],
    seq_trace:set_token(label, 4),
    Pid ! stop,
    {'EXIT', Pid, over} = take(),
    {0, 4, Serial, From, Last} = seq_trace:get_token(),
    seq_trace:set_token([]),
    say(token_of_exit, {Serial, From =:= Pid, Last}).

tokens_of(Label, Other, Pid) ->
    seq_trace:reset_trace(),
    seq_trace:set_token(label, Label),
    seq_trace:set_token(send, true),
    Sent = [begin To ! Kind, take() end || {Kind, To} <- [{pid, Pid}, {name, {with_token, Other}}]],
    {_, _, Serial, From, Last} = seq_trace:get_token(),
    Child = spawn(Other, ?MODULE, token_of_each, [self()]),
    {_, _, Made, Maker, Before} = seq_trace:get_token(),
    Child ! child,
    OfChild = take(),
    exit(Child, kill),
    seq_trace:set_token([]),
    [{Kind, Flags, Back =:= Label, Number, FromThis, Earlier}
     || {Kind, Flags, Back, Number, FromThis, Earlier} <- Sent ++ [OfChild]]
        ++ [{Serial, From =:= Pid, Last}, {Made, Maker =:= Child, Before}].

away(Other) ->
    Pid = spawn(Other, ?MODULE, hold, [self()]),
    {Pid, holding} = take(),
    Watches = [monitor(process, Pid) || _ <- lists:seq(1, 100)],
    Named = monitor(process, {kernel_sup, Other}),
    link(Pid),
    monitor_node(Other, true),
    spawn(Other, erlang, halt, [0, [{flush, false}]]),
    Downs = [receive {'DOWN', R, process, Pid, Why} -> Why after 10000 -> timeout end || R <- Watches],
    say(downs, lists:usort(Downs)),
    say(named, receive {'DOWN', Named, process, {kernel_sup, Other}, Why2} -> Why2 after 5000 -> timeout end),
    say(exit, receive {'EXIT', Pid, Why3} -> Why3 after 5000 -> timeout end),
    say(nodedown, receive {nodedown, Other} -> yes after 5000 -> timeout end),
    say(nodes, nodes()),
    say(rpc, rpc:call(Other, erlang, node, [])),
    say(send, erlang:send({any, Other}, lost, [noconnect])).
