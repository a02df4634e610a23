//! What goes wrong on request: killed processes, early timeouts, late signals, files and sockets that fail, no memory.

use std::path::Path;

use crate::{compiled, found, program, simulate, story, text};

#[test]
fn processes_are_killed_on_request_and_the_same_ones_again() {
    let file = "examples/simulate/restarts.erl";
    let without = simulate(&["--until", "fail", "--seeds", "1..100", file]);
    assert_eq!(without.status.code(), Some(0), "{}", text(&without.stdout));
    let found = simulate(&["--faults", "kill:30:4", "--until", "fail", "--seeds", "1..1000", file]);
    let shown = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{shown}");
    assert!(shown.contains("always(no_word_is_forgotten, _) does not hold"), "{shown}");
    let smaller = shown.lines().find_map(|line| line.strip_prefix("  atoll simulate ")).expect("a smaller schedule");
    assert_eq!(smaller.matches("kill").count(), 1, "{smaller}");
    let words: Vec<&str> = smaller.split(' ').collect();
    assert_eq!(simulate(&words).status.code(), Some(1), "{smaller}");
}

#[test]
fn timeouts_come_early_on_request() {
    let program = program("early");
    let late = |words: &[&str]| text(&simulate(&[words, &["--seed", "3", &program]].concat()).stdout);
    assert_ne!(late(&[]), late(&["--faults", "timeout:5"]));
}

#[test]
fn messages_of_different_senders_overtake_each_other() {
    assert!(found("overtaking", "random").contains("always(the_result_is_there, _) does not hold"));
    let file = "examples/simulate/overtaking.erl";
    let seeds = ["--seeds", "1..200", file];
    for policy in ["random:prompt", "pct", "round-robin"] {
        let prompt = simulate(&[&["--policy", policy], &seeds[..]].concat());
        assert_eq!(prompt.status.code(), Some(0), "{policy}: {}", text(&prompt.stdout));
        let late = simulate(&[&["--policy", policy, "--faults", "delay:3"], &seeds[..]].concat());
        assert_eq!(late.status.code(), Some(1), "{policy}: {}", text(&late.stdout));
    }
    let told = story("overtaking");
    assert!(told.contains("--schedule late4.1 ") && told.contains("{put,42} to <0.3.0>, which is late"), "{told}");
}

/// Signals of all kinds from one process to another, of which the receiver must see all in the order in which they were
/// sent, however late they are; and, beside them, signals of a second sender.
#[test]
fn signals_of_a_pair_keep_their_order() {
    let program = compiled("pairs", "pairs");
    // The sender waits in between until all that it has sent has arrived, so the other's signals must be late for long.
    let outputs = simulate(&["--faults", "delay:4", "--seeds", "1..300", &program]);
    let shown = text(&outputs.stdout);
    assert_eq!(outputs.status.code(), Some(0), "{shown}");
    assert!(!shown.contains("sometimes"), "the second sender is in between: {shown}");
    let run =
        |heap: &str| simulate(&["--faults", "delay:2", "--seed", "5", "--heap", heap, "--gc-stress", "3", &program]);
    let first = run("private");
    for heap in ["shared", "unified", "hybrid", "nogc"] {
        assert_eq!(run(heap), first, "{heap}");
    }
}

#[test]
fn files_and_sockets_fail_as_the_system_could_let_them_fail() {
    let program = compiled("errors", "fail");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate/fail/written");
    let run = |words: &[&str]| simulate(&[&["--faults", "io:4", "--seed", "3", &program][..], words].concat());
    for (words, errors) in [
        (
            &["files", &file.to_string_lossy()][..],
            &["{write,enospc}", "{read,eio}", "{open,emfile}", "{close,eio}"][..],
        ),
        (&["sockets"], &["{bind,eaddrinuse}", "{open,emfile}"]),
        (&["ports"], &["{connect,e", "{accept,e", "{listen,eaddrinuse}", "{recv,", "{send,closed}"]),
        (&["active"], &["{active,econnreset}", "{active,etimedout}"]),
        (&["datagrams"], &["{send,enobufs}", "{send,enetunreach}"]),
    ] {
        let failed = run(words);
        let shown = text(&failed.stdout);
        assert!(errors.iter().all(|error| shown.contains(error)), "{words:?}: {shown}{}", text(&failed.stderr));
        let without = simulate(&[&["--seed", "3", &program][..], words].concat());
        assert_eq!(text(&without.stdout), "[]\n", "{words:?}");
    }
    assert_eq!(run(&["sockets"]), run(&["sockets"]), "errors are part of the schedule");
}

#[test]
fn a_failing_operation_is_found_again() {
    let file = "examples/simulate/half_written.erl";
    let without = simulate(&["--seeds", "1..50", file]);
    assert_eq!(without.status.code(), Some(0), "{}", text(&without.stdout));
    let found = simulate(&["--faults", "io:10", "--until", "fail", "--seeds", "1..1000", file]);
    let shown = text(&found.stdout);
    assert!(shown.contains("always(there_are_settings, _) does not hold"), "{shown}");
    let smaller = shown.lines().find_map(|line| line.strip_prefix("  atoll simulate ")).expect("a smaller schedule");
    assert!(smaller.starts_with("--schedule io2.") && smaller.matches("io2.").count() == 1, "{smaller}");
    let words: Vec<&str> = smaller.split(' ').collect();
    assert_eq!(simulate(&words).status.code(), Some(1), "{smaller}");
}

#[test]
fn memory_is_refused_on_request() {
    let program = compiled("errors", "memory");
    let refused = simulate(&["--faults", "alloc:30", "--seeds", "1..40", &program, "room"]);
    let shown = text(&refused.stdout);
    assert!(shown.contains("\"[made,{error,system_limit}]\""), "{shown}");
    let restarts = simulate(&["--faults", "alloc:30", "--seeds", "1..100", "examples/simulate/restarts.erl"]);
    assert_eq!(restarts.status.code(), Some(1), "processes are killed: {}", text(&restarts.stdout));
}
