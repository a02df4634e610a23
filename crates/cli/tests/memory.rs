//! What has ended takes no memory, and what is dead is collected before it takes much.

use std::path::Path;
use std::process::Command;

/// Three hundred thousand descriptors are seventy megabytes, and so are as many timers.
const MOST_BYTES: u64 = 60 << 20;

/// The number behind a name in a file of statistics.
fn number(statistics: &str, name: &str) -> u64 {
    let (_, rest) = statistics.split_once(&format!("\"{name}\":")).expect("the name is there");
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// Runs a program on each heap that frees memory; none of them takes more than [`MOST_BYTES`].
fn check_peak(program: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{program}.erl"));
    for heap in ["private", "shared", "unified", "hybrid"] {
        let statistics = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}-{heap}.json"));
        let mut command = Command::new("timeout");
        command.args(["150", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--stats"]);
        let output = command.arg(&statistics).arg(&source).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{heap}");
        let statistics = std::fs::read_to_string(&statistics).expect("statistics");
        let peak = number(&statistics, "peak_rss_bytes");
        assert!(peak < MOST_BYTES, "{heap}: {peak} bytes");
    }
}

/// Runs a case of `rooms.erl`; gives its statistics.
fn room(heap: &str, case: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rooms.erl");
    let statistics = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rooms-{heap}-{case}.json"));
    let mut command = Command::new("timeout");
    command.args(["100", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--stats"]);
    let output = command.arg(&statistics).arg(&source).arg(case).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{heap}, {case}");
    std::fs::read_to_string(&statistics).expect("statistics")
}

#[test]
fn room_for_built_in_functions_is_collected_in_time() {
    // Megabytes: of the first, 100,000 processes take most.
    let cases = [("monitors", 110), ("answers", 80), ("tags", 80), ("built_in", 80), ("errors", 80)];
    for heap in ["private", "shared", "unified", "hybrid"] {
        for (case, most) in cases {
            let peak = number(&room(heap, case), "peak_rss_bytes");
            assert!(peak < most << 20, "{heap}, {case}: {peak} bytes");
        }
    }
}

#[test]
fn a_large_binary_is_built_once() {
    for heap in ["private", "shared", "unified"] {
        for case in ["copy", "encode", "same"] {
            let statistics = room(heap, case);
            assert!(number(&statistics, "heap_words_used_highest") > 0, "{heap}, {case}: terms were there");
            let peak = number(&statistics, "peak_rss_bytes");
            // 200,000,000 bytes of a result; of what is encoded, a part of 10,000,000 beside it.
            assert!(peak < 270 << 20, "{heap}, {case}: {peak} bytes");
        }
    }
}

#[test]
fn a_large_set_of_roots_is_not_visited_for_each_few_words() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        for case in ["dictionary", "tagged"] {
            let collections = number(&room(heap, case), "minor_collections");
            assert!(collections < 500, "{heap}, {case}: {collections} collections");
        }
    }
}

/// Runs `fixed_heap.erl` with so many lists kept and replaced.
fn fixed_heap(heap: &str, size: &str, lists: [&str; 2]) -> (std::process::Output, String) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixed_heap.erl");
    let statistics = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fixed_heap-{heap}-{}.json", lists[0]));
    let mut command = Command::new("timeout");
    command.args(["100", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--heap-size", size, "--stats"]);
    let output = command.arg(&statistics).arg(&source).args(lists).env("ERL_CRASH_DUMP", "/dev/null").output();
    (output.expect("it runs"), std::fs::read_to_string(&statistics).unwrap_or_default())
}

#[test]
fn a_heap_of_a_fixed_size_is_not_larger() {
    // 8 MB of 24 live, 200 MB are allocated.
    let (output, statistics) = fixed_heap("unified", "24M", ["8000", "200000"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{errors}");
    let peak = number(&statistics, "peak_rss_bytes");
    assert!(peak < 60 << 20, "{peak} bytes");
    let (full, _) = fixed_heap("unified", "8M", ["9000", "0"]);
    let errors = String::from_utf8_lossy(&full.stderr);
    assert!(errors.contains("the heap is full: 8388608 bytes (--heap-size)"), "{errors}");
    assert_eq!(full.status.code(), Some(1));
    let (refused, _) = fixed_heap("shared", "24M", ["1", "1"]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("only the heap `unified`"), "{errors}");
}

#[test]
fn processes_that_end_are_freed_soon() {
    check_peak("crowds");
}

#[test]
fn timers_end_with_their_processes() {
    check_peak("timers_left");
}

#[test]
fn processes_that_need_the_same_are_not_collected_each() {
    for heap in ["private", "hybrid"] {
        let statistics = room(heap, "alike");
        let collections = number(&statistics, "minor_collections") + number(&statistics, "major_collections");
        assert!(collections < 500, "{heap}: {collections} collections");
    }
}

#[test]
fn a_program_says_from_when_on_its_pauses_count() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        let pauses = |statistics: &str| {
            let (_, pauses) = statistics.split_once("\"pause_histogram\"").expect("the pauses");
            number(pauses, "count")
        };
        let statistics = room(heap, "pauses");
        let (late, all) = (pauses(&statistics), pauses(&room(heap, "all_pauses")));
        assert!(late * 4 < all, "{heap}: {late} of {all} pauses");
        let [counted, total] = ["pauses_counted_ns", "total_ns"].map(|name| number(&statistics, name));
        assert!(counted < total, "{heap}: {counted} of {total} nanoseconds");
    }
}

/// What a run of `loads.erl` prints, and its largest size in bytes.
fn loads(heap: &str, arguments: [&str; 2], more: &[&str]) -> (String, u64) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loads.erl");
    let statistics = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loads-{heap}-{}.json", arguments[0]));
    let mut command = Command::new("timeout");
    command.args(["150", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--stats"]);
    let output = command.arg(&statistics).args(more).arg(&source).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{heap} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let peak = number(&std::fs::read_to_string(&statistics).expect("statistics"), "peak_rss_bytes");
    (String::from_utf8_lossy(&output.stdout).into_owned(), peak)
}

/// Three thousand versions of the module are 110 megabytes, beside the 45 that the machine and the compiler take.
const MOST_BYTES_FOR_CODE: u64 = 100 << 20;

#[test]
fn purged_code_is_freed() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        let (printed, peak) = loads(heap, ["code", "3000"], &[]);
        assert_eq!(printed, "1000\n", "{heap}");
        assert!(peak < MOST_BYTES_FOR_CODE, "{heap}: {peak} bytes");
    }
}

/// Forty thousand values are 1.9 gigabytes. A scheduler that looks for work while other programs have the processors
/// must not keep those that were replaced: with one that did, one run in four took 150 to 400 megabytes beside a busy
/// program. On `unified` dead values wait for a full marking: beside two busy loops that took up to 217 megabytes.
const MOST_BYTES_FOR_TERMS: u64 = 200 << 20;
const MOST_BYTES_FOR_TERMS_OF_UNIFIED: u64 = 300 << 20;

#[test]
fn replaced_persistent_terms_are_freed() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        let (printed, peak) = loads(heap, ["terms", "40000"], &[]);
        assert_eq!(printed, "3001\n", "{heap}");
        let most = if heap == "unified" { MOST_BYTES_FOR_TERMS_OF_UNIFIED } else { MOST_BYTES_FOR_TERMS };
        assert!(peak < most, "{heap}: {peak} bytes");
    }
}

#[test]
fn code_that_a_process_is_inside_of_stays() {
    for heap in ["private", "shared", "unified", "hybrid", "nogc"] {
        // With the verifier what was freed is overwritten.
        let (printed, _) = loads(heap, ["inside", "20"], &["--verify-heap"]);
        assert_eq!(printed, "true\ntrue\n", "{heap}");
    }
}
