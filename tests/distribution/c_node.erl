%% Nodes written in C beside the node that this runs on: who connects, what they are, and terms there and back. The
%% program lies beside this module.
-module(c_node).
-export([main/1]).

main(_Other) ->
    process_flag(trap_exit, true),
    register(c_node_user, self()),
    [talk(How) || How <- [connect, serve]],
    io:format("done: ok~n").

say(What, Result) -> io:format("~p: ~p~n", [What, Result]).

refusal(Node) ->
    Request = spawn_request(Node, erlang, node, [], [monitor]),
    receive {spawn_reply, Request, Kind, Reason} -> {Kind, Reason} after 30000 -> timeout end.

take() -> receive Message -> Message after 30000 -> timeout end.

talk(How) ->
    say(talk, How),
    Own = "c_" ++ atom_to_list(How) ++ os:getpid(),
    Node = list_to_atom(Own ++ "@127.0.0.1"),
    Program = filename:join(filename:dirname(code:which(?MODULE)), "c_node"),
    Arguments = [atom_to_list(How), Own, atom_to_list(erlang:get_cookie()), atom_to_list(node())],
    Port = open_port({spawn_executable, Program}, [{args, Arguments}, {line, 100}, exit_status]),
    case How of
        connect -> ok;
        serve ->
            {Port, {data, {eol, "ready"}}} = take(),
            %% This node makes the connection, for a process that the other one cannot make.
            say(asked_before, refusal(Node)),
            say(send, {any, Node} ! {self(), first})
    end,
    {c_node, Pid} = take(),
    case How of
        connect -> ok;
        serve -> say(first, take() =:= {Pid, first})
    end,
    say(node, {node(Pid) =:= Node, nodes(hidden) =:= [Node], lists:member(Node, nodes())}),
    Terms = [1, -1, 255, 1 bsl 31, -(1 bsl 70), 1.5, atom, 'ä', [], "text", [1 | 2], lists:seq(1, 1000), {}, {1, {2}},
             #{a => [1], "b" => {}}, <<>>, <<1, 2, 3>>, <<5:13>>, binary:copy(<<"x">>, 1000000), self(), Pid, make_ref(),
             hd(erlang:ports()), fun lists:map/2, [list_to_atom("c_atom_" ++ integer_to_list(N)) || N <- lists:seq(1, 400)]],
    say(terms, lists:usort([begin Pid ! {self(), Term}, take() =:= {Pid, Term} end || Term <- Terms])),
    say(by_name, begin {any, Node} ! {self(), named}, take() =:= {Pid, named} end),
    say(asked, refusal(Node)),
    Watch = monitor(process, Pid),
    link(Pid),
    monitor_node(Node, true),
    Pid ! {self(), stop},
    say(gone, lists:sort([case take() of
                              {'DOWN', Watch, process, Pid, Why} -> {down, Why};
                              {'EXIT', Pid, Why} -> {exit, Why};
                              {nodedown, Node} -> nodedown;
                              {Port, {exit_status, Status}} -> {status, Status};
                              {'EXIT', Port, Why} -> {port, Why};
                              Other -> Other
                          end || _ <- [1, 2, 3, 4, 5]])).
