//! Crash dumps, read by OTP's own viewer on stock `erl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

fn dump_file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    file
}

fn command(dump: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", ATOLL, "erl", "-noshell"]).args(words).env("ERL_CRASH_DUMP", dump);
    command.stdin(Stdio::null());
    command
}

fn run(dump: &Path, words: &[&str]) -> Output {
    command(dump, words).output().expect("it runs")
}

/// What the viewer finds in a dump.
fn viewed(dump: &Path) -> String {
    const VIEW: &str = r#"
        {ok, _} = crashdump_viewer:start_link(),
        [File] = init:get_plain_arguments(),
        ok = crashdump_viewer:read_file(File),
        Wait = fun(Wait, N) when N > 0 -> case crashdump_viewer:general_info() of
            {ok, G, _} when element(1, G) =:= general_info -> G; _ -> timer:sleep(100), Wait(Wait, N - 1) end end,
        General = Wait(Wait, 100),
        io:format("slogan ~ts~n", [element(3, General)]),
        {ok, Processes, []} = crashdump_viewer:processes(),
        Names = [element(3, P) || P <- Processes],
        Details = [{element(2, P), crashdump_viewer:proc_details(pid_to_list(element(2, P)))} || P <- Processes],
        [Foo] = [tuple_to_list(D) || {_, {ok, D, _}} <- Details, element(3, D) =:= "foo"],
        io:format("terms ~p~n", [[lists:member(T, Foo) || T <- [
            [{color, {red, [1, 2.5, 1 bsl 70, #{a => <<"b">>}]}}], [{{hello, "you"}, []}, {stop, []}]]]]),
        true = lists:all(fun({_, D}) -> element(1, D) =:= ok end, Details),
        io:format("processes ~p~n", [[lists:member(N, Names) || N <- ["init", "kernel_sup", "foo"]]]),
        {ok, Ports, []} = crashdump_viewer:ports(),
        io:format("ports ~p~n", [length(Ports) > 0]),
        {ok, Tables, []} = crashdump_viewer:ets_tables(all),
        io:format("tables ~p~n", [lists:member("my_table", [element(4, T) || T <- Tables])]),
        {ok, Modules, []} = crashdump_viewer:loaded_modules(),
        io:format("modules ~p~n", [length(Modules) > 50]),
        {ok, Memory, []} = crashdump_viewer:memory(),
        io:format("memory ~p~n", [lists:keymember("total", 1, Memory) orelse lists:keymember(total, 1, Memory)]),
        {ok, Atoms, []} = crashdump_viewer:atoms(),
        io:format("atoms ~p~n", [length(Atoms) > 1000]),
        halt()."#;
    let file = dump.to_str().expect("its name is text");
    let output = Command::new("timeout").args(["60", "erl", "-noshell", "-eval", VIEW, "-extra", file]).output();
    let output = output.expect("stock erl runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

const FOUND: &str = "processes [true,true,true]\nports true\ntables true\nmodules true\nmemory true\natoms true\n";

const PROGRAM: &str = "register(foo, spawn(fun() -> put(color, {red, [1, 2.5, 1 bsl 70, #{a => <<\"b\">>}]}), \
                       receive never -> ok end end)), foo ! {hello, \"you\"}, foo ! stop, ets:new(my_table, [named_table]), \
                       timer:sleep(100), ";

#[test]
fn a_slogan() {
    let dump = dump_file("slogan.dump");
    let output = run(&dump, &["-eval", &format!("{PROGRAM} halt(\"my slogan\").")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(viewed(&dump), format!("slogan my slogan\nterms [true,true]\n{FOUND}"));
}

#[test]
fn a_signal() {
    let dump = dump_file("signal.dump");
    let mut child = command(&dump, &["-eval", &format!("{PROGRAM} receive never -> ok end.")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(3));
    let _ = Command::new("pkill").args(["-USR1", "-P", &child.id().to_string()]).status();
    let started = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        assert!(started.elapsed() < Duration::from_secs(30), "it does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(viewed(&dump), format!("slogan Received SIGUSR1\nterms [true,true]\n{FOUND}"));
}

#[test]
fn a_program_chooses_its_file() {
    let (dump, chosen) = (dump_file("not_chosen.dump"), dump_file("chosen.dump"));
    let program = format!("os:putenv(\"ERL_CRASH_DUMP\", {:?}), halt(\"x\").", chosen.to_str().expect("text"));
    assert_eq!(run(&dump, &["-eval", &program]).status.code(), Some(1));
    assert!(chosen.exists() && !dump.exists());
}

#[test]
fn none_is_written_if_it_may_take_no_time() {
    let dump = dump_file("none.dump");
    let output = command(&dump, &["-eval", "halt(\"x\")."]).env("ERL_CRASH_DUMP_SECONDS", "0").output();
    assert_eq!(output.expect("it runs").status.code(), Some(1));
    assert!(!dump.exists());
}

#[test]
fn its_size_can_be_limited() {
    let dump = dump_file("limited.dump");
    let run = |bytes| command(&dump, &["-eval", "halt(\"x\")."]).env("ERL_CRASH_DUMP_BYTES", bytes).output();
    assert_eq!(run("0").expect("it runs").status.code(), Some(1));
    assert!(!dump.exists());
    assert_eq!(run("1000").expect("it runs").status.code(), Some(1));
    let written = std::fs::read_to_string(&dump).expect("a dump");
    assert!(written.len() < 1100 && written.ends_with("\n=abort:CRASH DUMP SIZE LIMIT REACHED\n"), "{written}");
    assert_eq!(run("-1").expect("it runs").status.code(), Some(1));
    assert!(std::fs::read_to_string(&dump).expect("a dump").ends_with("\n=end\n"));
}

#[test]
fn no_memory_left() {
    let dump = dump_file("no_memory.dump");
    let grow = "F = fun F(L) -> F([L, lists:seq(1, 100000) | L]) end, F([]).";
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -v 3000000; exec timeout 60 \"$@\"", "bash", ATOLL, "erl", "--heap", "private"]);
    command.args(["-noshell", "-eval", &format!("{PROGRAM} {grow}")]).env("ERL_CRASH_DUMP", &dump);
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let viewed = viewed(&dump);
    let (slogan, found) = viewed.split_once('\n').expect("more than one line");
    assert!(slogan.starts_with("slogan heap: Cannot allocate"), "{slogan}");
    assert_eq!(found, format!("terms [true,true]\n{FOUND}"));
}
