//! Two nodes of one program: what they say is the same whichever of them is stock `erl` and whichever Atoll.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atoll_differential::{End, Names, compile, run};

/// How long the two may take.
const LIMIT: Duration = Duration::from_secs(120);
/// The machine that is not Atoll.
const STOCK: &[&str] = &[];

/// Ends when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the compiled programs are.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("distribution");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/distribution");
        let names =
            ["pair", "hostile", "busy", "plain_dist", "siege", "c_node", "carrier_ends", "parted", "looks", "stepped"]
                .map(|name| sources.join(name).with_extension("erl"));
        compile(&names, &folder).unwrap_or_else(|error| panic!("{error}"));
        folder
    })
}

/// A node of this name: `machine` are Atoll's options, or [`STOCK`].
fn node(machine: &[&str], names: &Names, name: &str) -> Command {
    let mut command = match machine {
        STOCK => Command::new("erl"),
        options => {
            let mut atoll = Command::new(env!("CARGO_BIN_EXE_atoll"));
            atoll.arg("erl").args(options);
            atoll
        }
    };
    names.serve(&mut command);
    command.args(["-noinput", "-setcookie", "of_this_test", "-name", &format!("{name}@127.0.0.1")]);
    command.args(["-kernel", "inet_dist_use_interface", "{127,0,0,1}", "logger_level", "none", "-pa"]);
    command.arg(programs());
    command
}

/// What `module:main(Other)` prints on a node `one` with a node `two` beside it.
fn said(one: &[&str], two: &[&str], module: &str) -> String {
    said_with(&[], one, two, module)
}

/// As [`said`], with more arguments for both nodes.
fn said_with(more: &[&str], one: &[&str], two: &[&str], module: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let names = Names::start().expect("epmd is on PATH");
    let (first, second) = (format!("one{number}"), format!("two{number}"));
    let other = format!("'{second}@127.0.0.1'");
    let beside = node(two, &names, &second).args(more).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let _beside = Running(beside.expect("the second node starts"));
    // It is there when its name is.
    let wait = "W = fun(_, 0) -> ok; (F, N) -> case net_adm:ping(Other) of pong -> ok; pang -> timer:sleep(100), \
                F(F, N - 1) end end, W(W, 300)";
    let main = if module.contains(':') { module.to_owned() } else { format!("{module}:main") };
    let program = format!("Other = {other}, {wait}, {main}(Other), halt().");
    let finished =
        run(node(one, &names, &first).args(more).args(["-eval", &program]), LIMIT).expect("the first node starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(finished.end, End::Exited(0), "{}{}", text(&finished.stdout), text(&finished.stderr));
    assert_eq!(finished.violation(), None);
    text(&finished.stdout).replace(&first, "ONE").replace(&second, "TWO")
}

/// What two stock nodes say.
fn stock_says(module: &'static str) -> String {
    static PAIR: OnceLock<String> = OnceLock::new();
    static BUSY: OnceLock<String> = OnceLock::new();
    let known = if module == "pair" { &PAIR } else { &BUSY };
    known.get_or_init(|| said(STOCK, STOCK, module)).clone()
}

#[track_caller]
fn same(one: &[&str], two: &[&str], module: &'static str) {
    let expected = stock_says(module);
    assert!(expected.ends_with("done: ok\n"), "two stock nodes: {expected}");
    assert_eq!(said(one, two, module), expected, "{module} on {one:?} beside {two:?}");
}

#[track_caller]
fn heap(name: &str) {
    let atoll = ["--heap", name, "--verify-heap"];
    same(&atoll, STOCK, "pair");
    same(STOCK, &atoll, "pair");
    same(&atoll, &atoll, "pair");
}

#[test]
fn a_pair_on_private() {
    heap("private");
}

#[test]
fn a_pair_on_shared() {
    heap("shared");
}

#[test]
fn a_pair_on_unified() {
    heap("unified");
}

#[test]
fn a_pair_on_hybrid() {
    heap("hybrid");
}

#[test]
fn a_pair_on_nogc() {
    heap("nogc");
}

#[test]
fn a_pair_that_collects_often() {
    same(&["--heap", "private", "--gc-stress", "7"], STOCK, "pair");
}

#[test]
fn senders_wait_for_a_node_that_does_not_read() {
    same(&["--heap", "private"], STOCK, "busy");
    same(&["--heap", "shared"], &["--heap", "private"], "busy");
}

/// A process brings the packets to the other node, and puts those that come.
#[test]
fn a_pair_carried_by_processes() {
    let expected = stock_says("pair");
    let atoll = ["--heap", "private"];
    for (one, two) in [(&atoll[..], STOCK), (STOCK, &atoll), (&atoll, &["--heap", "shared", "--verify-heap"])] {
        assert_eq!(said_with(&["-proto_dist", "plain"], one, two, "pair"), expected, "{one:?} beside {two:?}");
    }
}

/// What a module says is the same whichever of the two nodes is Atoll; `more` are arguments of both.
#[track_caller]
fn same_beside_stock(more: &[&str], module: &str) {
    let expected = said_with(more, STOCK, STOCK, module);
    assert!(expected.ends_with("done: ok\n"), "on stock: {expected}");
    let atoll = ["--heap", "private"];
    for (one, two) in [(&atoll[..], STOCK), (STOCK, &atoll[..])] {
        assert_eq!(said_with(more, one, two, module), expected, "{module} on {one:?} beside {two:?}");
    }
}

#[test]
fn a_carrier_ends_with_a_reason() {
    same_beside_stock(&["-proto_dist", "plain"], "carrier_ends");
}

#[test]
fn names_outlast_a_partition() {
    same_beside_stock(&[], "parted");
}

#[test]
fn observers_look_at_another_node() {
    same_beside_stock(&[], "looks");
}

#[test]
fn a_debugger_steps_through_a_function_of_another_node() {
    same_beside_stock(&[], "stepped");
}

/// Over TLS, with a certificate made for it.
#[test]
fn a_pair_over_tls() {
    let folder = programs().display().to_string();
    let (certificate, key) = (format!("{folder}/certificate.pem"), format!("{folder}/key.pem"));
    let make = format!(
        r#"Keys = [{{key, {{rsa, 2048, 65537}}}}],
        Chain = #{{root => Keys, intermediates => [], peer => Keys}},
        #{{server_config := Made}} = public_key:pkix_test_data(#{{server_chain => Chain, client_chain => Chain}}),
        Write = fun(File, Type, Bytes) ->
                    ok = file:write_file(File, public_key:pem_encode([{{Type, Bytes, not_encrypted}}]))
                end,
        Write("{certificate}", 'Certificate', proplists:get_value(cert, Made)),
        {{Type, Bytes}} = proplists:get_value(key, Made),
        Write("{key}", Type, Bytes),
        halt()."#
    );
    let made = Command::new("erl").args(["-noinput", "-eval", &make]).output().expect("erl is on PATH");
    if !made.status.success() {
        eprintln!("not run: OTP's public_key or ssl is not installed (package erlang-ssl)");
        return;
    }
    let options = format!("{folder}/tls.config");
    let server = format!("{{server, [{{certfile, \"{certificate}\"}}, {{keyfile, \"{key}\"}}]}}");
    std::fs::write(&options, format!("[{server}, {{client, [{{verify, verify_none}}]}}].\n")).expect("a new file");
    same_beside_stock(&["-proto_dist", "inet_tls", "-ssl_dist_optfile", &options], "pair");
}

/// Nodes that a node starts are as it is: the same machine with the same options.
#[test]
fn a_peer_is_as_its_origin() {
    let program = r#"Args = ["-setcookie", "of_this_test", "-hidden"],
        Start = fun(Options) ->
                    Name = list_to_atom("peer" ++ os:getpid()),
                    {ok, Peer, Node} = peer:start(Options#{name => Name, args => Args}),
                    Ask = fun(M, F, A) when is_map_key(connection, Options) -> peer:call(Peer, M, F, A);
                             (M, F, A) -> erpc:call(Node, M, F, A)
                          end,
                    {ok, [[Program]]} = Ask(init, get_argument, [progname]),
                    Variables = [Ask(os, getenv, [V]) || V <- ["ATOLL_HEAP", "ATOLL_VERIFY_HEAP"]],
                    Seen = lists:member(Node, nodes(hidden)),
                    io:format("~p ~s ~p~n", [Variables, filename:basename(Program), Seen]),
                    ok = peer:stop(Peer)
                end,
        Named = #{host => "127.0.0.1", longnames => true},
        Start(Named),
        [Start(Named#{connection => Connection}) || Connection <- [standard_io, 0]],
        halt()."#;
    let names = Names::start().expect("epmd is on PATH");
    let mut command = node(&["--heap", "hybrid", "--verify-heap"], &names, "origin");
    let finished = run(command.args(["-eval", program]), LIMIT).expect("the node starts");
    let said = String::from_utf8_lossy(&finished.stdout).into_owned();
    let expected = ["true", "false", "false"].map(|seen| format!("[\"hybrid\",\"1\"] atoll {seen}\n"));
    assert_eq!(said, expected.concat());
    assert_eq!(finished.end, End::Exited(0));
}

/// What a peer says that is no node, or a bad one.
#[test]
fn hostile_peers_do_no_harm() {
    for heap in ["private", "shared"] {
        let said = said(&["--heap", heap], STOCK, "hostile");
        assert!(said.ends_with("done: ok\n") && !said.contains(": bad"), "{heap}: {said}");
    }
}

/// What a step of `siege` prints, the same as on stock where that lives through it.
#[track_caller]
fn stands(heap: &str, more: &[&str], step: &str, expected: &str) {
    let said = said_with(more, &["--heap", heap], STOCK, &format!("siege:{step}"));
    assert_eq!(said, format!("{expected}alone: true\nworks: true\ndone: ok\n"), "{step} on {heap}");
}

#[test]
fn silent_connections_are_closed() {
    let expected = "served: pong\nsilent: [closed]\nports: true\n";
    stands("private", &["-kernel", "net_setuptime", "2"], "silent", expected);
}

#[test]
fn strangers_are_not_let_in() {
    stands("hybrid", &[], "strangers", "served: pong\nstrangers: [refused]\n");
}

#[test]
fn frames_without_sense_do_no_harm() {
    stands("shared", &[], "frames", "memory: true\n");
}

/// As long as there is room: then the connection ends, and nothing else does.
#[test]
fn a_flood_of_atoms_ends_its_connection() {
    let before = "alone: true\nworks: true\ndone: ok\n";
    let expected = format!("{before}flooded: closed\nlimit: system_limit\nknown: none\n");
    stands("private", &["+t", "20000"], "atoms", &expected);
}

#[test]
fn a_node_that_never_reads_costs_little() {
    let expected = "wait: true\nnosuspend: nosuspend\nmemory: true\nserved: pong\ngoes_on: yes\n";
    stands("shared", &[], "deaf", expected);
}

/// Whether there is a program written with OTP's library for C nodes beside the others.
fn has_c_node() -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/distribution/c_node.c");
    let root = Command::new("erl").args(["-noinput", "-eval", "io:put_chars(code:root_dir()), halt()."]).output();
    let root = PathBuf::from(String::from_utf8_lossy(&root.expect("erl is on PATH").stdout).trim());
    let mut compiler = Command::new("cc");
    compiler.args(["-D_REENTRANT", "-I"]).arg(root.join("usr/include")).arg(source);
    compiler.arg("-L").arg(root.join("usr/lib")).args(["-lei", "-lpthread", "-o"]).arg(programs().join("c_node"));
    compiler.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn c_nodes() {
    if !has_c_node() {
        eprintln!("not run: no C compiler, or no library for C nodes (package erlang-dev)");
        return;
    }
    let expected = said(STOCK, STOCK, "c_node");
    assert!(expected.ends_with("done: ok\n"), "on stock: {expected}");
    assert_eq!(said(&["--heap", "private"], STOCK, "c_node"), expected);
}
