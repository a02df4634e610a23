%% Names that two nodes share while they cannot reach each other, and afterwards. `main/1` runs on one node and gets the
%% name of the other; it prints the same whichever machines the two run on.
-module(parted).
-export([main/1, keep/0]).

main(Other) ->
    pong = net_adm:ping(Other),
    [Mine, Theirs, Rival] = [spawn(Node, ?MODULE, keep, []) || Node <- [node(), Other, node()]],
    yes = global:register_name(one, Mine),
    yes = rpc:call(Other, global, register_name, [two, Theirs]),
    say(shared, until(fun() -> global:whereis_name(two) =:= Theirs andalso named(Other, one) =:= Mine end)),
    Cookie = erlang:get_cookie(),
    erlang:set_cookie(Other, another),
    erlang:disconnect_node(Other),
    say(parted, {nodes(), net_adm:ping(Other)}),
    say(forgotten, until(fun() -> global:whereis_name(two) =:= undefined end)),
    Self = self(),
    Resolve = fun(Name, A, B) -> Self ! {both, lists:sort([A, B])}, global:notify_all_name(Name, A, B) end,
    yes = global:register_name(two, Rival, Resolve),
    erlang:set_cookie(Other, Cookie),
    pong = net_adm:ping(Other),
    ok = global:sync(),
    say(nobodys, until(fun() -> {global:whereis_name(two), named(Other, two)} =:= {undefined, undefined} end)),
    say(asked, receive {both, Both} -> Both =:= lists:sort([Theirs, Rival]) after 0 -> elsewhere end),
    Nodes = [node(), Other],
    Try = fun() -> rpc:call(Other, global, set_lock, [{lock, other}, Nodes, 0]) end,
    say(locked, global:trans({lock, self()}, Try, Nodes)),
    say(free, global:set_lock({lock, self()}, Nodes, 1)),
    say(done, ok).

keep() -> receive {global_name_conflict, _, _} -> keep() end.

named(Node, Name) -> rpc:call(Node, global, whereis_name, [Name]).

say(What, Result) -> io:format("~p: ~p~n", [What, Result]).

until(Is) -> until(Is, 100).

until(_, 0) -> false;
until(Is, Tries) -> Is() orelse begin timer:sleep(50), until(Is, Tries - 1) end.
