%% Links, monitors with the option `tag`, and names: few of them, many, and few again.
-module(many_links).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    put(before, []),
    put(before, linked()),
    [io:format("links ~w: ~p~n", [N, links(N)]) || N <- [1, 15, 16, 17, 18, 100, 1000, 3]],
    [io:format("tags ~w: ~p~n", [N, tags(N)]) || N <- [1, 17, 500]],
    [io:format("names ~w: ~p~n", [N, names(N)]) || N <- [1, 40, 700]],
    io:format("left: ~p ~p~n", [linked(), process_info(self(), monitors)]).

%% Links to N processes, unlinks a third, links again to a part of these, and has the others end.
links(N) ->
    Pids = [spawn(fun wait/0) || _ <- lists:seq(1, N)],
    [link(Pid) || Pid <- Pids ++ Pids],
    All = linked(),
    Away = every(3, 0, Pids),
    [unlink(Pid) || Pid <- lists:reverse(Away) ++ Away],
    Again = every(2, 0, Away),
    [link(Pid) || Pid <- Again],
    Some = linked(),
    Expected = lists:sort((Pids -- Away) ++ Again),
    [Pid ! stop || Pid <- Pids],
    Ended = lists:sort([receive {'EXIT', Pid, normal} -> Pid end || Pid <- Expected]),
    None = linked(),
    {length(All), All =:= lists:sort(Pids), Some =:= Expected, Ended =:= Expected, None, others()}.

tags(N) ->
    Pids = [spawn(fun wait/0) || _ <- lists:seq(1, N)],
    Monitors = [{monitor(process, Pid, [{tag, {down, I}}]), Pid, I} || {I, Pid} <- lists:zip(lists:seq(1, N), Pids)],
    Away = every(3, 1, Monitors),
    [demonitor(Reference) || {Reference, _, _} <- Away],
    erlang:garbage_collect(),
    [Pid ! stop || Pid <- Pids],
    Kept = Monitors -- Away,
    Down = [receive {{down, I}, Reference, process, Pid, normal} -> I end || {Reference, Pid, I} <- Kept],
    {length(Down), lists:sum(Down), others()}.

names(N) ->
    Named = [{list_to_atom("many_links_" ++ integer_to_list(I)), spawn(fun wait/0)} || I <- lists:seq(1, N)],
    [true = register(Name, Pid) || {Name, Pid} <- Named],
    {First, FirstPid} = hd(Named),
    Twice = {catch_reason(fun() -> register(First, self()) end), catch_reason(fun() -> register(other, FirstPid) end)},
    [Pid = whereis(Name) || {Name, Pid} <- Named],
    Away = every(2, 0, Named),
    [unregister(Name) || {Name, _} <- Away],
    Gone = catch_reason(fun() -> unregister(First) end),
    Nameless = [Pid || {_, Pid} <- Away, process_info(Pid, registered_name) =/= []],
    Kept = Named -- Away,
    NamesKept = [Name || {Name, Pid} <- Kept, process_info(Pid, registered_name) =:= {registered_name, Name}],
    References = [monitor(process, Pid) || {_, Pid} <- Named],
    [Pid ! stop || {_, Pid} <- Named],
    [receive {'DOWN', Reference, process, _, _} -> ok end || Reference <- References],
    Left = [Name || {Name, _} <- Named, whereis(Name) =/= undefined orelse lists:member(Name, registered())],
    Port = open_port({spawn, "cat"}, []),
    register(First, Port),
    OfPort = {whereis(First) =:= Port, erlang:port_info(Port, registered_name), is_error(fun() -> register(x, Port) end)},
    port_close(Port),
    {Twice, Gone, Nameless, length(NamesKept) =:= length(Kept), Left, OfPort, whereis(First)}.

%% The links that were made here.
linked() ->
    {links, Links} = process_info(self(), links),
    lists:sort(Links) -- get(before).

every(Step, Rest, List) ->
    [Element || {I, Element} <- lists:zip(lists:seq(0, length(List) - 1), List), I rem Step =:= Rest].

catch_reason(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

is_error(Fun) ->
    try Fun() of _ -> false catch error:_ -> true end.

others() ->
    receive Other -> [Other | others()] after 20 -> [] end.

wait() ->
    receive stop -> ok end.
