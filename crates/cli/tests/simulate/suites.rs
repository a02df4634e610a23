//! Test suites of users (EUnit, Common Test, ExUnit) under many schedules.

use std::path::Path;
use std::process::Command;

use crate::{round_robin, simulate, text};

#[test]
fn tests_of_eunit_run_under_many_schedules() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/suite");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("race_tests.erl");
    let tests = "-module(race_tests).\n-include_lib(\"eunit/include/eunit.hrl\").\n\
                 sleep_test() -> timer:sleep(4000).\n\
                 race_test() ->\n    Self = self(),\n    [spawn(fun() -> Self ! N end) || N <- [1, 2]],\n    \
                 ?assertEqual([1, 2], [receive N -> N end || _ <- [1, 2]]).\n";
    std::fs::write(&source, tests).expect("a file");
    let source = source.to_string_lossy();
    let found = simulate(&["--until", "fail", "--shrink", "0", "--seeds", "1..100", "--", "eunit", &source]);
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{shown}");
    assert!(shown.contains("race_test...*failed*") && shown.contains("Passed: 1."), "{shown}");
    let line = round_robin(&["eunit", &source]);
    assert_eq!(line.status.code(), Some(0), "one after the other they pass: {}", text(&line.stdout));
}

/// Seeds under which these tests fail and pass, from 1 on.
fn failing_seeds(words: &[&str]) -> (Vec<u64>, Vec<u64>) {
    // About a third of the seeds fail; which ones depends on the folder's name too.
    (1..=32).partition(|seed| {
        let run = simulate(&[&["--seed", &seed.to_string(), "--"], words].concat());
        let shown = text(&run.stdout) + &text(&run.stderr);
        let fails = run.status.code() != Some(0);
        assert_eq!(fails, shown.contains("[2,1]") || shown.contains("[2, 1]"), "{words:?}, seed {seed}: {shown}");
        fails
    })
}

#[test]
fn suites_of_common_test_run_under_many_schedules() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/common_test");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("race_SUITE.erl");
    let suite = "-module(race_SUITE).\n-export([all/0, quiet/1, \
                 race/1]).\nall() -> [quiet, race].\nquiet(_) -> timer:sleep(4000).\nrace(_) ->\n    Self = \
                 self(),\n    [spawn(fun() -> Self ! N end) || N <- [1, 2]],\n    [1, 2] = [receive N -> N end || _ \
                 <- [1, 2]].\n";
    std::fs::write(&source, suite).expect("a file");
    let source = source.to_string_lossy();
    let (fails, passes) = failing_seeds(&["ct", &source]);
    assert!(!fails.is_empty() && !passes.is_empty(), "{fails:?}");
    assert_eq!(failing_seeds(&["ct", &source]), (fails.clone(), passes), "a seed decides");
    let found = simulate(&["--until", "fail", "--", "ct", &source]);
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{shown}");
    assert!(shown.contains(&format!("the run with seed {} fails after {} runs", fails[0], fails[0])), "{shown}");
}

#[test]
fn tests_of_exunit_run_under_many_schedules() {
    if Command::new("elixir").arg("--version").output().is_err() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/exunit");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("race_test.exs");
    let tests = "defmodule RaceTest do\n  use ExUnit.Case, async: true\n  test \"sleeps\" do\n    \
                 Process.sleep(4000)\n  end\n  test \"races\" do\n    me = self()\n    for n <- 1..2, do: spawn(fn \
                 -> send(me, n) end)\n    assert [1, 2] == for(_ <- 1..2, do: receive(do: (n -> n)))\n  end\nend\n";
    std::fs::write(&source, tests).expect("a file");
    let source = source.to_string_lossy();
    let (fails, passes) = failing_seeds(&["exunit", &source]);
    assert!(!fails.is_empty() && !passes.is_empty(), "{fails:?}");
    let run = |heap: &str| simulate(&["--heap", heap, "--seed", "3", "--", "exunit", &source]);
    assert_eq!(run("private"), run("private"), "byte for byte");
    assert_eq!(run("private").stdout, run("hybrid").stdout);
}
