%% Ports that start programs: arguments, environment, framing, how they end.
-module(port_programs).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    run({spawn, "echo hi; exit 3"}, [exit_status]),
    run({spawn, "echo hi"}, []),
    run({spawn, "nonexistent_prog a 2>/dev/null"}, [exit_status]),
    run({spawn_executable, "nonexistent_prog"}, [exit_status]),
    run({spawn_executable, "echo"}, [exit_status]),
    run({spawn_executable, "/etc/passwd"}, [exit_status]),
    run({spawn_executable, "/tmp"}, [exit_status]),
    run({spawn_executable, "/bin/echo"}, [exit_status, {args, ["a b", <<"c">>, [229]]}, binary]),
    run({spawn_executable, "/bin/sh"}, [exit_status, {args, ["-c", "echo $0 $1", "x", "y"]}, {arg0, "zz"}, binary]),
    run({spawn_executable, "/bin/sh"}, [exit_status, {args, ["-c", "echo $FOO $BAR; pwd"]}, {cd, "/"},
                                        {env, [{"FOO", "1"}, {"BAR", false}, {"HOME", false}]}, binary]),
    run({spawn, "kill -9 $$"}, [exit_status]),
    run({spawn, "printf 'ab\\ncdefgh\\nx'"}, [{line, 3}, binary]),
    run({spawn, "printf 'ab\\ncdefgh\\nx'"}, [exit_status, {line, 3}]),
    run({spawn, "printf '\\0\\2ab\\0\\1cd'"}, [exit_status, {packet, 2}, binary]),
    run({spawn, "echo hello >&4"}, [exit_status, nouse_stdio, binary]),
    run({spawn, "echo error >&2"}, [exit_status, stderr_to_stdout]),
    run({spawn, "true"}, [exit_status, in]),
    run({spawn, ""}, [exit_status]),
    run({spawn_executable, "/bin/true"}, [foo]),
    run({spawn, "true"}, [{args, ["a"]}]),
    run({spawn, true}, [exit_status]),
    run({spawn_driver, "nodriver"}, []),
    eof(),
    cat(),
    big(),
    many(),
    commands().

%% What a port says until it ends, data put together.
run(Name, Settings) ->
    io:format("~0p ~0p~n", [Name, Settings]),
    try open_port(Name, Settings) of
        Port -> io:format("    ~0p~n", [join(collect(Port))])
    catch
        Class:Reason -> io:format("    ~p: ~p~n", [Class, Reason])
    end.

collect(Port) ->
    receive
        {Port, Message} -> [Message | collect(Port)];
        {'EXIT', Port, Reason} -> [{'EXIT', Reason}]
    after 5000 -> [timeout]
    end.

join([{data, A}, {data, B} | Rest]) when is_binary(A) -> join([{data, <<A/binary, B/binary>>} | Rest]);
join([{data, A}, {data, B} | Rest]) when is_list(A) -> join([{data, A ++ B} | Rest]);
join([First | Rest]) -> [First | join(Rest)];
join([]) -> [].

eof() ->
    Port = open_port({spawn, "echo x"}, [eof]),
    p([receive {Port, M} -> M after 5000 -> none end || _ <- [1, 2]]),
    p(receive {'EXIT', Port, R} -> R after 50 -> still_open end),
    p(port_close(Port)),
    p(receive {'EXIT', Port, R2} -> R2 after 5000 -> none end).

cat() ->
    Port = open_port({spawn, "cat"}, [{packet, 1}, exit_status]),
    p(port_command(Port, "hello")),
    Port ! {self(), {command, [<<"wor">>, $l, "d"]}},
    p([receive {Port, M} -> M after 5000 -> none end || _ <- [1, 2]]),
    p([erlang:port_info(Port, Item) || Item <- [name, input, output]]),
    p([erlang:port_info(Port, connected) =:= {connected, self()}, erlang:port_info(Port, links) =:= {links, [self()]}]),
    Short = open_port({spawn, "cat"}, [{packet, 1}]),
    p(t(fun() -> port_command(Short, lists:duplicate(256, $x)) end)),
    p(receive {'EXIT', Short, Why} -> Why after 5000 -> none end),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    Port ! {self(), close},
    p(receive {'EXIT', Port, R} -> R after 5000 -> none end),
    p(receive {Port, closed} -> closed after 5000 -> none end),
    p(erlang:port_info(Port)),
    p(t(fun() -> port_command(Port, "x") end)),
    gone(Pid, 200).

gone(_, 0) -> p(still_there);
gone(Pid, Left) ->
    case prim_file:read_link_info("/proc/" ++ integer_to_list(Pid)) of
        {error, enoent} -> p(gone);
        _ -> receive after 10 -> gone(Pid, Left - 1) end
    end.

%% More than a pipe holds, both ways.
big() ->
    Port = open_port({spawn, "cat"}, [{packet, 4}, binary]),
    Data = binary:copy(<<"0123456789">>, 100000),
    p([port_command(Port, Data) || _ <- [1, 2, 3]]),
    p([receive {Port, {data, D}} -> D =:= Data after 10000 -> none end || _ <- [1, 2, 3]]),
    port_close(Port),
    receive {'EXIT', Port, normal} -> ok end.

many() ->
    Ports = [open_port({spawn, "sh -c 'read x; echo $x; exit $x'"}, [exit_status]) || _ <- lists:seq(1, 20)],
    [port_command(Port, [integer_to_list(N), 10]) || {N, Port} <- lists:zip(lists:seq(1, 20), Ports)],
    p([element(2, lists:keyfind(exit_status, 1, collect(Port))) || Port <- Ports]).

commands() ->
    p(os:cmd("echo one; echo two >&2")),
    p(os:cmd("cat")),
    p(os:cmd("printf abcdef", #{max_size => 3})),
    p(t(fun() -> os:cmd(wrong) end)),
    os:putenv("PORT_PROGRAMS", "value"),
    p(os:cmd("echo $PORT_PROGRAMS # comment")).

t(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

p(Term) ->
    io:format("~0p~n", [Term]).
