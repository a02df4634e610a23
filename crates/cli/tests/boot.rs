//! `atoll erl` beside stock `erl`: the same words on the command line, the same output and exit status.

use std::io::Write;
use std::process::{Command, Stdio};

/// Output, errors and exit status of a command line.
fn outcome(program: &str, words: &[&str], input: &str) -> (String, String, Option<i32>) {
    let mut command = Command::new("timeout");
    command.arg("60").arg(program);
    if program == ATOLL {
        command.arg("erl");
    }
    // An environment of our own, so that flags in the tester's do not matter.
    command.args(words).env_remove("ERL_FLAGS").env_remove("ERL_AFLAGS").env_remove("ERL_ZFLAGS");
    command.env("ERL_CRASH_DUMP", "/dev/null").env_remove("ATOLL_HEAP");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A program that does not read is free not to.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr), output.status.code())
}

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

/// Lines that show a time, and pids, are not compared.
fn comparable(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines().filter(|line| !line.starts_with("Crash dump is being")) {
        let line = line.split_once(" REPORT==== ").map_or(line, |(kind, _)| kind);
        let mut rest = line;
        while let Some(start) = rest.find("<0.") {
            let (before, behind) = rest.split_at(start);
            let end = behind.find('>').map_or(behind.len(), |end| end + 1);
            shown.push_str(before);
            shown.push_str("<pid>");
            rest = &behind[end..];
        }
        shown.push_str(rest);
        shown.push('\n');
    }
    shown
}

/// Compares standard output, standard error and exit status with those of stock.
#[track_caller]
fn same_with_input(words: &[&str], input: &str) {
    let [stock, atoll] = both(words, input);
    assert_eq!(atoll.0, stock.0, "standard output of {words:?}; errors: {}", atoll.1);
    assert_eq!(atoll.1, stock.1, "standard error of {words:?}");
    assert_eq!(atoll.2, stock.2, "exit status of {words:?}");
}

/// What can be compared of what stock and Atoll print, and their exit status.
fn both(words: &[&str], input: &str) -> [(String, String, Option<i32>); 2] {
    ["erl", ATOLL].map(|program| {
        let (output, errors, status) = outcome(program, words, input);
        (comparable(&output), comparable(&errors).trim().into(), status)
    })
}

/// As [`same`] in one of three attempts. A machine that ends because its first process failed may still print the
/// report of that failure, on a busy computer.
#[track_caller]
fn same_though_it_ends(words: &[&str]) {
    let alike = (0..3).map(|_| both(words, "")).any(|[stock, atoll]| stock == atoll);
    assert!(alike, "{words:?}: {:#?}", both(words, ""));
}

#[track_caller]
fn same(words: &[&str]) {
    same_with_input(words, "");
}

#[test]
fn flags_set_the_limit_of_heaps() {
    let shown = "io:format(\"~p ~p~n\", [process_info(spawn(fun() -> receive x -> x end end), max_heap_size), \
                 erlang:system_info(max_heap_size)]), halt().";
    same(&["+hmax", "1000000", "+hmaxk", "false", "+hmaxel", "false", "-noshell", "-eval", shown]);
    same(&["+hmax", "2000000", "-noshell", "-eval", shown]);
    for [flag, value] in [["+hmax", "-1"], ["+hmaxk", "maybe"], ["+hmaxel", "0"]] {
        let errors = |program| outcome(program, &[flag, value, "-noshell"], "").1;
        let (stock, atoll) = (errors("erl"), errors(ATOLL));
        let first = stock.lines().next().expect("stock refuses it");
        assert!(atoll.contains(first), "{first} is not in {atoll}");
    }
}

#[test]
fn flags_say_what_programs_are_told() {
    let shown = "io:format(\"~p~n\", [[erlang:system_info(Item) || Item <- [time_correction, time_warp_mode, \
                 message_queue_data, port_limit]]]), io:format(\"~p~n\", [process_info(spawn(fun() -> receive x -> x \
                 end end), message_queue_data)]), halt().";
    same(&["+c", "false", "+C", "single_time_warp", "+hmqd", "off_heap", "+Q", "5000", "-noshell", "-eval", shown]);
    same(&["+c", "-noshell", "-eval", "io:format(\"~p~n\", [erlang:system_info(time_correction)]), halt()."]);
    assert_eq!(outcome(ATOLL, &["+hmqd", "no_heap", "-noshell"], "").2, Some(1));
    assert_eq!(outcome(ATOLL, &["+C", "warp", "-noshell"], "").2, Some(1));
}

#[test]
fn the_limit_of_ports_counts() {
    let open = "{Opened, Refused} = lists:partition(fun(X) -> is_port(X) end, [catch open_port({spawn_driver, \"ram_file_drv\"}, \
                []) || _ <- lists:seq(1, 1100)]), io:format(\"~p ~p~n\", [length(Opened) > 900, \
                lists:usort([Reason || {_, {Reason, _}} <- Refused])]), halt().";
    same(&["+Q", "1024", "-noshell", "-eval", open]);
}

#[test]
fn who_gets_the_machine_s_own_log_events() {
    let shown = "Fail = fun() -> {_, R} = spawn_monitor(fun() -> error(oops) end), receive {'DOWN', R, _, _, _} -> ok \
                 end end, Get = fun() -> receive {log, L, F, [_, {W, _}], M} -> {L, F, W, lists:sort(maps:keys(M))} \
                 after 300 -> none end end, Old = erlang:system_flag(system_logger, self()), Fail(), \
                 io:format(\"~p~n\", [Get()]), {P, R} = spawn_monitor(fun() -> receive end_it -> ok end end), \
                 erlang:system_flag(system_logger, P), P ! end_it, receive {'DOWN', R, _, _, _} -> ok end, \
                 Fail(), timer:sleep(500), io:format(\"~p~n\", [erlang:system_info(system_logger)]), \
                 erlang:system_flag(system_logger, undefined), Fail(), \
                 io:format(\"~p ~p\", [Get(), erlang:system_flag(system_logger, Old)]), halt().";
    same_eval(shown);
}

#[track_caller]
fn same_eval(expression: &str) {
    same(&["-noshell", "-eval", expression]);
}

#[test]
fn ends() {
    same_eval("halt().");
    same_eval("halt(3).");
    same_eval("io:format(\"~p~n\", [1 + 1]), init:stop().");
    same_eval("init:stop(7).");
    same_eval("process_flag(sensitive, true), erlang:process_display(self(), backtrace), erlang:display(x), halt().");
    same_eval("halt(\"slogan\").");
    same_though_it_ends(&["-noshell", "-eval", "foo:bar()."]);
    same_though_it_ends(&["-noshell", "-eval", "1 +."]);
    same_though_it_ends(&["-noshell", "-s", "no_such_module"]);
    same_though_it_ends(&["-noshell", "-boot", "no_such_file"]);
    same_though_it_ends(&["-noshell", "-config", "no_such_file", "-eval", "halt()."]);
}

#[test]
fn arguments() {
    let words = ["-foo", "a", "b", "-bar", "-kernel", "x", "1", "--", "plain", "-extra", "c", "-d"];
    // The first flags say where OTP's programs are, and which program this is.
    let flags = "io:format(\"~p~n\", [lists:nthtail(3, init:get_arguments())]), halt().";
    let plain = "io:format(\"~p~n\", [init:get_plain_arguments()]), halt().";
    for expression in [flags, plain] {
        same(&[&["-noshell", "-eval", expression], &words[..]].concat());
    }
    same(&["-noinput", "+S", "3", "-eval", "io:format(\"~p~n\", [erlang:system_info(schedulers)]), halt()."]);
    same(&["-noshell", "+pc", "unicode", "-eval", "io:format(\"~tp~n\", [[1234]]), halt()."]);
    // Programs that start `erl` know what it says first.
    let wrong = ["+pcunicorn", "-noshell"];
    let messages = ["erl", ATOLL].map(|program| outcome(program, &wrong, "").1);
    assert!(messages.iter().all(|message| message.starts_with("bad range of printable characters")), "{messages:?}");
    assert_eq!(outcome(ATOLL, &["+bogus", "-noshell"], "").2, Some(1));
    assert_eq!(outcome(ATOLL, &["+S", "none", "-noshell"], "").2, Some(1));
}

#[test]
fn standard_streams() {
    same_eval("io:format(standard_error, \"error~n\", []), io:format(\"~ts~n\", [[1234, 228]]), halt().");
    let read = "io:format(\"~p~n\", [[io:get_line(\"\"), io:get_line(\"> \"), io:get_line(\"\")]]), halt().";
    same_with_input(&["-noshell", "-eval", read], "abc\ndef\n");
    same_eval("[io:put_chars(lists:duplicate(100, $a)) || _ <- lists:seq(1, 3000)], io:nl(), halt().");
}

#[test]
fn errors_are_logged() {
    same_eval("spawn(fun() -> 1 / list_to_integer(\"0\") end), timer:sleep(1500), halt().");
    same_eval("spawn(fun() -> exit(foo) end), timer:sleep(1500), halt().");
    same_eval("logger:warning(\"w ~p\", [x]), logger:info(\"i\"), timer:sleep(1500), halt().");
}

/// The end does not wait for a peer that has no room for more; for what goes to files and programs it would wait a
/// minute.
#[test]
fn ends_though_a_peer_does_not_read() {
    let expression = "
        {ok, Listening} = gen_tcp:listen(0, [{active, false}, {ip, {127,0,0,1}}]),
        {ok, Port} = inet:port(Listening),
        {ok, Socket} = gen_tcp:connect({127,0,0,1}, Port, [{send_timeout, 200}]),
        Data = binary:copy(<<0>>, 60000),
        Flood = fun Flood(0) -> sent;
                    Flood(N) -> case gen_tcp:send(Socket, Data) of ok -> Flood(N - 1); Error -> Error end end,
        io:format(\"~p~n\", [Flood(1000)]),
        halt().";
    let started = std::time::Instant::now();
    same_eval(expression);
    assert!(started.elapsed().as_secs() < 45, "{:?}", started.elapsed());
}

/// A node with a name and without connections: other nodes are down. Nothing listens, and no daemon is asked or
/// started.
#[test]
fn a_node_has_a_name() {
    let expression = "
        io:format(\"~p ~p ~p ~p~n\", [node(), is_alive(), nodes(), nodes([this])]),
        register(me, self()),
        {me, node()} ! hello,
        receive hello -> io:format(\"by name~n\") end,
        Pid = spawn(node(), fun() -> receive stop -> ok end end),
        io:format(\"~p ~p~n\", [node(Pid), Pid =:= binary_to_term(term_to_binary(Pid))]),
        Reference = monitor(process, {nobody, node()}),
        receive {'DOWN', Reference, process, Who, Why} -> io:format(\"~p ~p~n\", [Who, Why]) end,
        io:format(\"~p~n\", [rpc:call(node(), lists, seq, [1, 3])]),
        io:format(\"~p~n\", [catch erlang:setnode('c@d', 1)]),
        halt().";
    let elsewhere = "
        monitor_node('other@127.0.0.1', true),
        receive {nodedown, Node} -> io:format(\"~p is down~n\", [Node]) end,
        io:format(\"~p ~p~n\", [net_adm:ping('other@127.0.0.1'), rpc:call('other@127.0.0.1', lists, seq, [1, 3])]),
        io:format(\"~p~n\", [catch gen_server:call({x, 'other@127.0.0.1'}, hi)]),
        halt().";
    // Without reports: crypto, whose native library makes better numbers for a node without a port, cannot be loaded
    // here.
    let quiet =
        ["-kernel", "logger_level", "none", "-start_epmd", "false", "-dist_listen", "false", "-setcookie", "secret"];
    for expression in [expression, elsewhere] {
        same(&[&quiet[..], &["-name", "one@127.0.0.1", "-noshell", "-eval", expression]].concat());
    }
    same(&["-noshell", "-eval", "io:format(\"~p ~p~n\", [catch monitor(process, {x, 'a@b'}), is_alive()]), halt()."]);
    // The first node that it connects to will name it.
    let unnamed = "io:format(\"~p ~p~n\", [node(), is_alive()]), halt().";
    same(&["-start_epmd", "false", "-sname", "undefined", "-noshell", "-eval", unnamed]);
    let watches = "
        monitor_node('a@127.0.0.1', true),
        Reference = monitor(process, {x, 'a@127.0.0.1'}),
        io:format(\"~p~n\", [[receive
            {nodedown, Node} -> {nodedown, Node};
            {'DOWN', Reference, process, Who, Why} -> {Who, Why}
        end || _ <- [1, 2]]]),
        halt().";
    same(&["-start_epmd", "false", "-sname", "undefined", "-noshell", "-eval", watches]);
}

#[test]
fn libraries() {
    same_eval("io:format(\"~p~n\", [[{A, V} || {A, _, V} <- application:which_applications()]]), halt().");
    same_eval("io:format(\"~p~n\", [[code:which(lists), code:which(erlang), code:lib_dir(stdlib)]]), halt().");
    same_eval("ok = application:start(sasl), io:format(\"~p~n\", [is_pid(whereis(sasl_sup))]), halt().");
    same_eval(
        "io:format(\"~p~n\", [[lists:sort(registered() -- [socket_registry]), code:all_loaded() > [], init:get_status()]]), halt().",
    );
}

#[test]
fn every_architecture_boots() {
    for heap in atoll_vm_names() {
        let words = ["--heap", &heap, "-noshell", "-eval", "io:format(\"~p~n\", [lists:seq(1, 5)]), halt(4)."];
        let (output, errors, status) = outcome(ATOLL, &words, "");
        assert_eq!((output.as_str(), status), ("[1,2,3,4,5]\n", Some(4)), "--heap {heap}: {errors}");
    }
}

/// Names of the architectures, as the command itself lists them.
fn atoll_vm_names() -> Vec<String> {
    let (_, errors, _) = outcome(ATOLL, &["--heap", "?", "-noshell"], "");
    let list = errors.split_once("choose one of ").expect("the names are listed").1;
    list.trim().split(", ").map(str::to_owned).collect()
}

/// A fresh folder for a test's files.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[test]
fn the_compiler_writes_the_same_bytes() {
    let folder = folder("erlc");
    let source = folder.join("sample.erl");
    let text = "-module(sample).\n-export([main/1, area/1]).\n-record(shape, {kind, size = 1.5}).\n\
        main(L) -> lists:sort([{X, <<X:16, \"abc\"/utf8>>, #{X => Y}} || {X, Y} <- L, is_integer(X)]).\n\
        area(#shape{kind = square, size = S}) -> S * S;\n\
        area(#shape{size = S}) -> try 3.14 * S * S catch error:badarith -> throw({bad, \"a literal\", [1, 2, 3]}) end.\n";
    std::fs::write(&source, text).expect("a source file");
    let compile = |program: &str, into: &str| {
        let into = folder.join(into);
        std::fs::create_dir_all(&into).expect("a folder for the result");
        let mut command = Command::new(program);
        if program == ATOLL {
            command.arg("erlc");
        }
        let status = command.args(["+deterministic", "+debug_info", "-o"]).arg(&into).arg(&source).status();
        assert!(status.expect("the compiler starts").success(), "{program} compiles");
        std::fs::read(into.join("sample.beam")).expect("a compiled file")
    };
    assert!(compile(ATOLL, "atoll") == compile("erlc", "stock"), "the compiled files are equal");
}

#[test]
fn scripts_run() {
    let script = folder("escript").join("hello.es");
    let text = "#!/usr/bin/env escript\n%%! -foo bar\nmain(Args) -> io:format(\"~p ~p~n\", [Args, init:get_argument(foo)]), \
        halt(length(Args)).\n";
    std::fs::write(&script, text).expect("a script");
    let run = |command: &mut Command| {
        let output = command.arg(&script).args(["a", "b c"]).output().expect("escript starts");
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    };
    assert_eq!(run(Command::new(ATOLL).arg("escript")), run(&mut Command::new("escript")));
}

#[test]
fn the_shell_answers_without_a_terminal() {
    let lines = "1 + 1.\nX = lists:seq(1, 3).\nlists:sum(X).\nfoo(.\nq().\n";
    same_with_input(&["+S", "2"], lines);
}

#[test]
fn a_signal_stops_it_as_init_does() {
    let stopped = |program: &str| {
        let mut command = Command::new(program);
        if program == ATOLL {
            command.arg("erl");
        }
        command.args(["-noshell", "-eval", "io:format(\"ready~n\")."]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut seen = [0; 6];
        let output = child.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(output, &mut seen).expect("the program says that it is ready");
        let killed = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status();
        assert!(killed.expect("kill starts").success());
        let output = child.wait_with_output().expect("the program ends");
        (comparable(&String::from_utf8_lossy(&output.stdout)), output.status.code())
    };
    assert_eq!(stopped(ATOLL), stopped("erl"));
}

#[test]
fn code_is_purged() {
    let load = "Load = fun(Forms) -> {ok, M, B} = compile:forms(Forms), {_, _} = code:load_binary(M, [], B) end, ";
    let module = "Form = fun(T) -> {ok, Ts, _} = erl_scan:string(T), {ok, F} = erl_parse:parse_form(Ts), F end, \
                  Forms = fun(Ts) -> lists:map(Form, Ts) end, ";
    same_eval(&format!(
        r#"{module} {load}
        V = fun(N) -> Forms(["-module(v).", "-export([f/0, w/0]).", "f() -> " ++ N ++ ".", "w() -> receive x -> ok end."]) end,
        Load(V("1")), A = v:f(), {{Pid, Ref}} = spawn_monitor(v, w, []), receive after 50 -> ok end,
        Load(V("2")), B = v:f(), S = code:soft_purge(v), P = code:purge(v),
        R = receive {{'DOWN', Ref, process, Pid, Why}} -> Why end,
        io:format("~p~n", [{{A, B, S, P, R, code:purge(v), code:delete(v), code:soft_purge(v)}}]), halt()."#
    ));
    same_eval(&format!(
        r#"{module} {load}
        Bad = Forms(["-module(b).", "-on_load(l/0).", "-export([f/0]).", "l() -> no.", "f() -> 1."]),
        Good = Forms(["-module(g).", "-on_load(l/0).", "-export([f/0]).", "l() -> put(x, 1), ok.", "f() -> get(x)."]),
        Load(Good), {{ok, b, B}} = compile:forms(Bad),
        io:format("~p~n", [{{g:f(), code:load_binary(b, [], B), catch b:f(), code:is_loaded(b)}}]), halt()."#
    ));
}
