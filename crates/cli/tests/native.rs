//! Functions that are hot get machine code, while the program runs, and lose it to tracing.
#![cfg(target_arch = "x86_64")]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PROGRAM: &str = r#"
-module(hot).
-export([main/1, sum/2]).

main(["endless"]) -> endless(1);
main(["aborts"]) -> erlang:halt(abort);
main(["long"]) ->
    io:format("~p~n", [[count(2000000, 0) || _ <- lists:seq(1, 20)] =:= lists:duplicate(20, 2000000)]);
main(["mixed"]) ->
    %% Small integers until the code is made, on a busy machine too, then floats and large integers.
    io:format("~p ~p ~p~n", [sum(60000000, 0), sum(1000000, 0.5), sum(1000000, 1 bsl 70)]);
main(["bits"]) ->
    io:format("~p~n", [bits(1000000, 0)]);
main(["appended"]) ->
    io:format("~p~n", [byte_size(appended(1000000, <<>>))]);
main(["traced"]) ->
    _ = sum(5000000, 0),
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, 0) end),
    erlang:trace_pattern({?MODULE, sum, 2}, true, [local]),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    _ = sum(1000, 0),
    erlang:trace(self(), false, [call]),
    erlang:trace_pattern({?MODULE, sum, 2}, false, [local]),
    Reference = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Reference} -> Tracer ! stop end,
    receive {calls, Calls} -> io:format("~p~n", [Calls]) end,
    io:format("~p~n", [sum(1000, 0)]).

endless(N) -> endless((N * 5 + 1) band 16#ffffff).

count(0, N) -> N;
count(Left, N) -> count(Left - 1, N + 1).

%% Binaries until the heap is full, again and again.
bits(0, Sum) -> Sum;
bits(N, Sum) -> bits(N - 1, Sum + byte_size(tail(<<N:32>>))).

tail(Binary) -> <<1, Binary/binary>>.

%% Each turn leaves a view behind, so that the heap is full again and again in one call.
appended(0, Binary) -> Binary;
appended(N, Binary) -> appended(N - 1, <<Binary/binary, N:16>>).

sum(0, Sum) -> Sum;
sum(N, Sum) -> sum(N - 1, Sum + N).

collect(To, Calls) ->
    receive
        {trace, _, call, _} -> collect(To, Calls + 1);
        stop -> To ! {calls, Calls}
    end.
"#;

/// What a run prints, and its record.
fn run(folder: &Path, options: &[&str], argument: &str) -> (String, serde_json::Value) {
    let record = folder.join("record.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
    command.arg("run").args(options).arg("--stats").arg(&record).arg(program(folder)).arg(argument);
    let output = command.output().expect("atoll runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = std::fs::read_to_string(record).expect("a record");
    (String::from_utf8(output.stdout).expect("text"), serde_json::from_str(&record).expect("JSON"))
}

fn program(folder: &Path) -> PathBuf {
    let source = folder.join("hot.erl");
    std::fs::write(&source, PROGRAM).expect("a folder to write to");
    source
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn what_is_hot_is_compiled_unless_it_must_not() {
    let folder = folder("hot");
    let (text, record) = run(&folder, &[], "long");
    assert_eq!(text, "true\n");
    assert!(record["native_functions"].as_u64().expect("a number") >= 1, "{record}");
    assert!(record["native_code_bytes"].as_u64() <= record["native_held_bytes"].as_u64(), "{record}");
    let (text, record) = run(&folder, &["--native", "off"], "long");
    assert_eq!(text, "true\n");
    assert!(record["native_functions"].is_null(), "{record}");
}

#[test]
fn code_that_met_small_integers_alone_is_right_for_others() {
    let folder = folder("mixed");
    let expected = "1800000030000000 500000500000.5 1180591621217411803424\n";
    for heap in ["private", "shared", "unified", "hybrid"] {
        let (text, record) = run(&folder, &["--heap", heap], "mixed");
        assert_eq!(text, expected);
        let count = |name: &str| record[name].as_u64().expect("a number");
        assert!(count("native_exits_for_operands") > 0, "{record}");
        assert!(
            count("native_exits") >= count("native_exits_for_operands") + count("native_exits_for_room"),
            "{record}"
        );
    }
}

#[test]
fn code_that_is_made_anew_for_all_types_is_right() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/fast_paths.erl");
    let run = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        let output = command.arg("run").args(options).arg(&program).arg("200").output().expect("atoll runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let expected = run(&["--native", "off"]);
    for heap in ["private", "shared"] {
        assert_eq!(run(&["--heap", heap]), expected);
    }
}

#[test]
fn a_heap_full_of_bitstrings_is_collected_at_once() {
    let (text, record) = run(&folder("bits"), &[], "bits");
    assert_eq!(text, "5000000\n");
    // Two bitstrings are built a million times, and every fortieth or so meets a full heap.
    assert!(record["native_exits_for_room"].as_u64().expect("a number") < 100_000, "{record}");
}

#[test]
fn a_loop_that_left_machine_code_goes_back_to_it() {
    let (text, record) = run(&folder("appended"), &["--native", "eager"], "appended");
    assert_eq!(text, "2000000\n");
    // It leaves whenever the heap is full. If it stayed with the interpreter, it would leave once.
    assert!(record["native_exits_for_room"].as_u64().expect("a number") > 300, "{record}");
}

#[test]
fn machine_code_is_shown() {
    let folder = folder("shown");
    let source = program(&folder);
    let compiled = Command::new("erlc").arg("-o").arg(&folder).arg(&source).status().expect("erlc runs");
    assert!(compiled.success());
    let show = |heap: &str, function: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        command.args(["disasm", "--native", "--heap", heap]).arg(folder.join("hot.beam")).arg(function);
        let output = command.output().expect("atoll runs");
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for heap in ["private", "shared", "unified", "hybrid"] {
        let (done, text) = show(heap, "count/2");
        assert!(done && text.starts_with("hot:count/2: "), "{text}");
        assert!(text.contains("entered by calls") && text.contains("  jmp "), "{text}");
    }
    let (done, text) = show("private", "count/3");
    assert!(!done && text.contains("has no function count"), "{text}");
}

/// A program that would run for ever ends with the test, however that ends.
struct Killed(Option<std::process::Child>);

impl Killed {
    /// Sends SIGSEGV to a thread; what the machine wrote until it ended.
    fn ended_by(&mut self, thread: u32) -> Output {
        let child = self.0.as_mut().expect("a child");
        // `tgkill`: a signal to one thread, for which there is no command.
        let send = format!("exit(syscall(234, {}, {thread}, 11) != 0)", child.id());
        assert!(Command::new("perl").args(["-e", &send]).status().expect("perl runs").success());
        let patience = Instant::now() + Duration::from_secs(60);
        while child.try_wait().expect("it can be waited for").is_none() {
            assert!(Instant::now() < patience, "the machine goes on after the signal");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.0.take().expect("a child").wait_with_output().expect("it ended")
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
        }
    }
}

#[test]
fn a_crash_names_the_function_that_was_compiled() {
    // Now and then a signal meets the thread between two time slices.
    let what = "Machine code crashed (Segmentation fault) in hot:endless/1";
    let named = |attempt| {
        let (errors, dump) = crash(&format!("crash{attempt}"), true);
        if errors.contains(what) {
            assert!(dump.contains(what), "{dump}");
            return Ok(());
        }
        Err(errors)
    };
    let errors: Vec<String> = (0..10).map_while(|attempt| named(attempt).err()).collect();
    assert!(errors.len() < 10, "{errors:#?}");
}

#[test]
fn a_signal_that_meets_no_machine_code_ends_the_machine() {
    // The main thread runs none.
    assert_eq!(crash("signal", false), (String::new(), String::new()));
}

/// Sends SIGSEGV to a scheduler that runs machine code, or to the main thread. What was printed, and the dump.
fn crash(name: &str, to_scheduler: bool) -> (String, String) {
    let folder = folder(name);
    let dump = folder.join("dump");
    let _ = std::fs::remove_file(&dump);
    let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
    command.env("ERL_CRASH_DUMP", &dump).args(["run", "--schedulers", "1", "--perf-map"]);
    command.arg(program(&folder)).arg("endless").stderr(std::process::Stdio::piped());
    let mut child = Killed(Some(command.spawn().expect("atoll runs")));
    let process = child.0.as_ref().map_or(0, std::process::Child::id);
    // The map has the name when the code is there.
    let map = PathBuf::from(format!("/tmp/perf-{process}.map"));
    let named = || std::fs::read_to_string(&map).is_ok_and(|text| text.contains(" $hot:endless/1\n"));
    let patience = Instant::now() + Duration::from_secs(60);
    while !named() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(named(), "the function is compiled and named");
    let mut tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    let scheduler = tasks.find_map(|task| {
        let task = task.ok()?;
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        name.starts_with("scheduler").then(|| task.file_name().into_string().ok()?.parse().ok())?
    });
    // The program goes on in machine code at its next time slice.
    std::thread::sleep(Duration::from_millis(100));
    let output = child.ended_by(if to_scheduler { scheduler.expect("a scheduler") } else { process });
    let _ = std::fs::remove_file(&map);
    assert_eq!(output.status.signal(), Some(11));
    (String::from_utf8_lossy(&output.stderr).into_owned(), std::fs::read_to_string(&dump).unwrap_or_default())
}

#[test]
fn a_debugger_knows_the_names_of_functions() {
    let program = program(&folder("debugged"));
    let mut command = Command::new("gdb");
    command.args(["-q", "-batch", "-nx", "-ex", "run", "-ex", "info functions ^hot:", "--args"]);
    command.args([env!("CARGO_BIN_EXE_atoll"), "run", "--native", "eager", "--gdb-names"]).arg(program).arg("aborts");
    let Ok(output) = command.output() else {
        eprintln!("there is no gdb");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("SIGABRT") && text.contains(" hot:main/1"), "{text}");
}

#[test]
fn every_call_of_a_function_that_was_compiled_is_traced() {
    let folder = folder("traced");
    for how in ["on", "eager"] {
        assert_eq!(run(&folder, &["--native", how], "traced").0, "1001\n500500\n");
    }
}
