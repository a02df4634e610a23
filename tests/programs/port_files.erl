%% Ports of files, options of programs that are refused, what programs inherit, and who watches ports.
-module(port_files).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Name = "/tmp/port_files_" ++ os:getpid(),
    files(Name),
    environment(),
    lines(),
    descriptors(),
    watched().

files(Name) ->
    Out = open_port(Name, [out]),
    io:format("~p~n", [erlang:port_info(Out, name) =:= {name, Name}]),
    Out ! {self(), {command, "hello "}},
    true = port_command(Out, ["all", <<" of you">>]),
    io:format("~p ~p~n", [port_close(Out), prim_file:read_file(Name)]),
    [io:format("~p ~p~n", [Options, all(open_port(Name, Options), Options)]) || Options <- [[in], [in, eof], [in, binary], []]],
    Again = open_port(list_to_atom(Name), [out]),
    true = port_command(Again, "new"),
    io:format("~p ~p~n", [port_close(Again), prim_file:read_file(Name)]),
    ok = prim_file:delete(Name),
    [io:format("~p ~p~n", [What, refused(What, [in])]) || What <- ["", <<"name">>, ["na", "me"], 7]],
    io:format("~p~n", [refused(Name ++ "/none", [in])]).

refused(What, Options) -> try open_port(What, Options) catch error:Reason -> Reason end.

all(Port, Options) ->
    receive
        {Port, {data, Data}} -> [Data | all(Port, Options)];
        {Port, eof} -> true = port_close(Port), [eof];
        {Port, {exit_status, Status}} -> [Status];
        {'EXIT', Port, Reason} -> [Reason]
    after 20000 -> [late]
    end.

environment() ->
    true = os:putenv("ATOLL_PORT_FILES", "outside"),
    [io:format("~p ~p~n", [Variable, shown(Variable)]) ||
        Variable <- [{"ATOLL_PORT_FILES", "inside"}, {"ATOLL_PORT_FILES", ""}, {"ATOLL_PORT_FILES", false},
                     {"ATOLL_PORT_FILES", ["in", ["side"]]}, {"ATOLL_PORT_FILES", <<"binary">>}, {"ATOLL_PORT_FILES", atom},
                     {"ATOLL_PORT_FILES", [a]}, {"ATOLL_PORT_FILES", [-1]}, {"ATOLL_PORT_FILES", [$a, 0]},
                     {"ATOLL_PORT_FILES=", "a"}, {"", "a"}, {atom, "a"}, {<<"ATOLL_PORT_FILES">>, "a"}, tail, {"a", "b", "c"}]].

shown(Variable) ->
    List = case Variable of tail -> [{"A", "B"} | {"C", "D"}]; _ -> [Variable] end,
    case refused({spawn, "sh -c 'echo ${ATOLL_PORT_FILES-none}'"}, [{env, List}, {line, 100}, exit_status]) of
        Port when is_port(Port) -> all(Port, []);
        Reason -> Reason
    end.

%% Without a number, lines are cut after 512 bytes.
lines() ->
    Port = open_port({spawn, "printf %0600d 7"}, [line, eof]),
    io:format("~p~n", [[case Piece of {End, Text} -> {End, length(Text)}; _ -> Piece end || Piece <- all(Port, [])]]).

%% Programs have the descriptors that they were promised, and no others.
descriptors() ->
    [begin
        Command = "sh -c 'for f in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$f && echo $f; done >&" ++ Shown ++ "'",
        Port = open_port({spawn, Command}, [exit_status, in | Options]),
        io:format("~p ~p~n", [Options, lists:append([Text || Text <- all(Port, []), is_list(Text)])])
     end || {Shown, Options} <- [{"1", []}, {"1", [out]}, {"2", [stderr_to_stdout]}, {"4", [nouse_stdio]},
                                 {"4", [nouse_stdio, out]}]],
    io:format("~p~n", [refused({spawn, "ls"}, [nouse_stdio, stderr_to_stdout])]).

watched() ->
    Port = open_port({spawn, "cat"}, []),
    true = register(port_files_cat, Port),
    [erlang:monitor(port, Which) || Which <- [Port, port_files_cat, {port_files_cat, node()}]],
    {monitors, Monitors} = process_info(self(), monitors),
    io:format("~p~n", [lists:sort([case Object of Port -> port; _ -> Object end || {port, Object} <- Monitors])]),
    Elsewhere = binary_to_term(<<131, 102, 100, 0, 7, "no@node", 1:32, 0>>),
    io:format("~p~n", [[try erlang:monitor(port, Which) catch error:Reason -> Reason end || Which <- [Elsewhere, self(), "port"]]]),
    true = port_close(Port),
    io:format("~p~n", [[receive {'DOWN', _, port, _, Reason} -> Reason after 20000 -> late end || _ <- [1, 2, 3]]]).
