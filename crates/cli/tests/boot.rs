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

#[track_caller]
fn same_with_input(words: &[&str], input: &str) {
    let (stock, atoll) = (outcome("erl", words, input), outcome(ATOLL, words, input));
    assert_eq!(comparable(&atoll.0), comparable(&stock.0), "standard output of {words:?}; errors: {}", atoll.1);
    assert_eq!(comparable(&atoll.1).trim(), comparable(&stock.1).trim(), "standard error of {words:?}");
    assert_eq!(atoll.2, stock.2, "exit status of {words:?}");
}

#[track_caller]
fn same(words: &[&str]) {
    same_with_input(words, "");
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
    same_eval("foo:bar().");
    same_eval("1 +.");
    same_eval("halt(\"slogan\").");
    same(&["-noshell", "-s", "no_such_module"]);
    same(&["-noshell", "-boot", "no_such_file"]);
    same(&["-noshell", "-config", "no_such_file", "-eval", "halt()."]);
}

#[test]
fn arguments() {
    let words = ["-foo", "a", "b", "-bar", "-kernel", "x", "1", "--", "plain", "-extra", "c", "-d"];
    // The first flags say where OTP's programs are.
    let flags = "io:format(\"~p~n\", [lists:nthtail(2, init:get_arguments())]), halt().";
    let plain = "io:format(\"~p~n\", [init:get_plain_arguments()]), halt().";
    for expression in [flags, plain] {
        same(&[&["-noshell", "-eval", expression], &words[..]].concat());
    }
    same(&["-noinput", "+S", "3", "-eval", "io:format(\"~p~n\", [erlang:system_info(schedulers)]), halt()."]);
    same(&["-noshell", "+pc", "unicode", "-eval", "io:format(\"~tp~n\", [[1234]]), halt()."]);
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
    same_eval("spawn(fun() -> 1 / list_to_integer(\"0\") end), timer:sleep(200), halt().");
    same_eval("spawn(fun() -> exit(foo) end), timer:sleep(200), halt().");
    same_eval("logger:warning(\"w ~p\", [x]), logger:info(\"i\"), timer:sleep(200), halt().");
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
