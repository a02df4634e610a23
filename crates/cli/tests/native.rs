//! Functions that are hot get machine code, while the program runs, and lose it to tracing.
#![cfg(target_arch = "x86_64")]

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
-module(hot).
-export([main/1, sum/2]).

main(["long"]) ->
    io:format("~p~n", [[count(2000000, 0) || _ <- lists:seq(1, 20)] =:= lists:duplicate(20, 2000000)]);
main(["mixed"]) ->
    %% Small integers until the code is made, then floats and large integers.
    io:format("~p ~p ~p~n", [sum(3000000, 0), sum(1000000, 0.5), sum(1000000, 1 bsl 70)]);
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

count(0, N) -> N;
count(Left, N) -> count(Left - 1, N + 1).

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
    let expected = "4500001500000 500000500000.5 1180591621217411803424\n";
    for heap in ["private", "shared", "hybrid"] {
        let (text, record) = run(&folder, &["--heap", heap], "mixed");
        assert_eq!(text, expected);
        assert!(record["native_exits"].as_u64().expect("a number") > 0, "{record}");
    }
}

#[test]
fn every_call_of_a_function_that_was_compiled_is_traced() {
    let folder = folder("traced");
    for how in ["on", "eager"] {
        assert_eq!(run(&folder, &["--native", how], "traced").0, "1001\n500500\n");
    }
}
