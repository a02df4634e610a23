//! Programs that call `erl`, `erlc` and `escript` and know nothing of Atoll, with `shims/` first on PATH: what they
//! write, beside stock OTP.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shims").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("a file in a folder")).expect("a folder of the project");
    std::fs::write(file, text).expect("a file of the project");
}

/// Standard output and exit status of a command line in a folder: on stock OTP, or on a heap architecture of Atoll.
fn outcome(folder: &Path, heap: Option<&str>, words: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new("timeout");
    command.args(["-k", "1", "120"]).args(words).current_dir(folder).env("HOME", folder).env("LC_ALL", "C.UTF-8");
    if let Some(heap) = heap {
        let shims = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shims");
        let path = std::env::var("PATH").expect("a PATH");
        command.env("PATH", format!("{}:{path}", shims.display()));
        command.env("ATOLL", env!("CARGO_BIN_EXE_atoll")).env("ATOLL_HEAP", heap);
    }
    let output = command.output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

const HEAPS: [&str; 4] = ["private", "shared", "unified", "hybrid"];

#[test]
fn rebar3_compiles_a_project_and_runs_its_eunit_tests() {
    for heap in HEAPS {
        let project = folder(&format!("project_{heap}"));
        write(&project, "rebar.config", "{erl_opts, [debug_info]}.\n");
        let application = "{application, sample, [{description, \"\"}, {vsn, \"0.1.0\"}, {registered, []}, {applications, [kernel, stdlib]}]}.\n";
        write(&project, "src/sample.app.src", application);
        write(&project, "src/sample.erl", "-module(sample).\n-export([sum/1]).\nsum(List) -> lists:sum(List).\n");
        let tests = r#"
-module(sample_tests).
-include_lib("eunit/include/eunit.hrl").
sum_test() -> ?assertEqual(6, sample:sum([1, 2, 3])).
error_test() -> ?assertError(badarith, sample:sum([a])).
several_test_() -> [?_assertEqual(N * (N + 1) div 2, sample:sum(lists:seq(1, N))) || N <- lists:seq(1, 5)].
"#;
        write(&project, "test/sample_tests.erl", tests);
        let (text, status) = outcome(&project, Some(heap), &["rebar3", "eunit"]);
        assert!(text.contains("7 tests, 0 failures"), "{heap}: {text}");
        assert_eq!(status, Some(0), "{heap}");
        let wrong = "-module(wrong_tests).\n-include_lib(\"eunit/include/eunit.hrl\").\nwrong_test() -> ?assertEqual(7, sample:sum([6])).\n";
        write(&project, "test/wrong_tests.erl", wrong);
        let (text, status) = outcome(&project, Some(heap), &["rebar3", "eunit"]);
        assert!(text.contains("8 tests, 1 failures") && text.contains("expected: 7"), "{heap}: {text}");
        assert_eq!(status, Some(1), "{heap}");
    }
}

#[test]
fn scripts_run_as_on_stock() {
    let scripts = folder("scripts");
    let script = r#"#!/usr/bin/env escript
main([Number]) ->
    io:format("~p ~p~n", [filename:basename(escript:script_name()), list_to_integer(Number) * 2]);
main(Words) ->
    io:format("usage: ~p~n", [Words]),
    halt(3).
"#;
    write(&scripts, "double", script);
    write(&scripts, "broken", "#!/usr/bin/env escript\nmain(_) -> nowhere:to_be_found(1).\n");
    for words in [&["double", "21"][..], &["double"], &["double", "a", "b"], &["broken"]] {
        let words = [&["escript"], words].concat();
        let stock = outcome(&scripts, None, &words);
        for heap in HEAPS {
            assert_eq!(outcome(&scripts, Some(heap), &words), stock, "{words:?} on {heap}");
        }
    }
}

#[test]
fn modules_are_compiled_to_the_same_files() {
    let modules = folder("modules");
    write(
        &modules,
        "shape.erl",
        "-module(shape).\n-export([area/1]).\narea({square, S}) -> S * S;\narea({disc, R}) -> 3.14 * R * R.\n",
    );
    let (text, status) = outcome(&modules, None, &["erlc", "+deterministic", "shape.erl"]);
    assert_eq!((text.as_str(), status), ("", Some(0)));
    let stock = std::fs::read(modules.join("shape.beam")).expect("a module");
    for heap in HEAPS {
        std::fs::remove_file(modules.join("shape.beam")).expect("the module was written");
        let (text, status) = outcome(&modules, Some(heap), &["erlc", "+deterministic", "shape.erl"]);
        assert_eq!((text.as_str(), status), ("", Some(0)), "{heap}");
        assert!(std::fs::read(modules.join("shape.beam")).expect("a module") == stock, "{heap}: another file");
    }
}
