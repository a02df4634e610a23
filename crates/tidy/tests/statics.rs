//! What a machine keeps is a field of one of its parts, so that several machines can live in one process of the
//! operating system. A static with state is on the list here, with the reason.

use std::collections::BTreeSet;

use atoll_tidy::{TrackedFile, report, tracked_files};

/// What belongs to the process of the operating system: file, name, reason.
const OF_THE_PROCESS: &[(&str, &str, &str)] = &[
    ("architectures/src/common/faults.rs", "WANTED", "read from the environment, in builds for tests"),
    ("architectures/src/common/spares.rs", "CHANGED", "free memory, as an allocator keeps it"),
    ("architectures/src/common/spares.rs", "SPARES", "free memory, as an allocator keeps it"),
    ("bifs/src/erts_internal.rs", "NATIVE_MODULES", "the same table in each machine"),
    ("bifs/src/exit.rs", "HALT", "a function, which finds the machine of its thread"),
    ("bifs/src/lib.rs", "ALL", "the same table in each machine"),
    ("bifs/src/os.rs", "SET_SIGNAL", "a function; signals belong to the process"),
    ("distribution/src/report.rs", "LOG", "a function, which finds the machine of its thread"),
    ("distribution/src/spawning.rs", "READ_OPTIONS", "a function, which finds the machine of its thread"),
    ("etf/src/local.rs", "KEY", "a random number, as good for all"),
    ("natives/src/dirty.rs", "MOST", "`+SDio`, read before a machine is there"),
    ("natives/src/files/names.rs", "ENCODING", "of file names, from the environment"),
    ("natives/src/lib.rs", "ALL", "the same table in each machine"),
    ("natives/src/terminal/capabilities.rs", "OPEN", "the terminal is one"),
    ("nifs/src/check.rs", "MEMORY", "the memory of the process"),
    ("nifs/src/check.rs", "ON", "`--check-natives`; a library is in the process once, with its variables"),
    ("nifs/src/crash.rs", "BEFORE", "signals belong to the process"),
    ("nifs/src/crash.rs", "BELL", "a process crashes once"),
    ("nifs/src/crash.rs", "CRASHED", "a process crashes once"),
    ("nifs/src/crash.rs", "DESCRIBE", "a process crashes once"),
    ("nifs/src/crash.rs", "INSTALLED", "signals belong to the process"),
    ("nifs/src/crash.rs", "PLACE", "a process crashes once"),
    ("nifs/src/crash.rs", "SIGNAL", "a process crashes once"),
    ("nifs/src/drivers/functions.rs", "TERM_NIL", "a constant that drivers find by its name"),
    (
        "nifs/src/env.rs",
        "MACHINE",
        "whose a library's threads are; a library is in the process once, with its variables",
    ),
    ("nifs/src/lib.rs", "ALL", "the same table in each machine"),
    ("nifs/src/lib.rs", "IN_C", "a table for the linker"),
    ("nifs/src/monitors.rs", "NEXT", "numbers that are given once"),
    ("nifs/src/threads.rs", "KEYS", "numbers that are given once, also to libraries' threads"),
    ("nifs/src/threads.rs", "NAMES", "threads by the numbers that the C library gives them"),
    ("platform/src/addresses.rs", "LIMIT", "the system limits the process"),
    ("platform/src/clock.rs", "OFFSET", "between two clocks of the system"),
    ("platform/src/debugger.rs", "LIST", "a debugger looks at the process"),
    ("platform/src/debugger.rs", "TURN", "a debugger looks at the process"),
    ("platform/src/ending.rs", "HOOKS", "the end of the process"),
    ("platform/src/ending.rs", "SET_ASIDE", "the end of the process"),
    ("platform/src/ending.rs", "CRASHING", "the end of the process"),
    ("platform/src/environment.rs", "CHANGED", "the environment is one"),
    ("platform/src/executable/ranges.rs", "EMPTY", "for crashes: where generated code lies"),
    ("platform/src/executable/ranges.rs", "FIRST", "for crashes: where generated code lies"),
    ("ports/src/terminal/mode.rs", "MODES", "the terminal is one"),
    ("ports/src/terminal/mode.rs", "READING", "the terminal is one"),
    ("process/src/slab.rs", "FREE", "free memory, as an allocator keeps it"),
    ("runtime/src/stubs.rs", "ADDRESSES", "code that no machine changes"),
    ("term/src/atoms.rs", "TABLE", "a name is the same atom everywhere"),
    ("term/src/off_heap.rs", "TOTAL_BYTES", "memory of the process that no machine can tell apart"),
    ("vm/src/dump.rs", "WRITTEN", "a process crashes once"),
    ("vm/src/erl/signals.rs", "HANDLE", "signals belong to the process"),
    ("vm/src/erl/signals.rs", "WAYS", "signals belong to the process"),
    ("vm/src/erl/signals.rs", "INTERRUPT", "signals belong to the process"),
];

/// The path below `crates/`.
fn in_crates(file: &TrackedFile) -> String {
    file.path.trim_start_matches("crates/").to_owned()
}

/// Types of constants: interned names, tables, text.
fn is_constant(kind: &str) -> bool {
    let each = kind.strip_prefix('[').and_then(|list| list.split_once(';')).map_or(kind, |(each, _)| each);
    kind.starts_with('&') || ["Name", "LazyAtom", "Function"].contains(&each) || kind == "[u8; LENGTH]"
}

/// Files and names of statics that are neither constants nor a thread's own.
fn statics() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let files = tracked_files().into_iter().filter(|file| file.has_extension("rs"));
    for file in files {
        let is_code = file.path.contains("/src/") && !file.is_test() && !file.path.ends_with("_model.rs");
        if !is_code || file.room().is_none_or(|room| ["bench", "differential", "cli", "tidy"].contains(&room)) {
            continue;
        }
        let mut own_of_thread = None;
        for (_, line) in file.lines_without_tests() {
            let indent = line.len() - line.trim_start().len();
            if line.trim_end().ends_with("thread_local! {") {
                own_of_thread = Some(indent);
            } else if own_of_thread == Some(indent) && line.trim() == "}" {
                own_of_thread = None;
            }
            let words = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ");
            let words = words.trim_start_matches("pub(crate) ");
            let declared = words.strip_prefix("static ").and_then(|rest| rest.split_once(": "));
            if own_of_thread.is_none()
                && let Some((name, rest)) = declared
                && !is_constant(rest.split(" =").next().unwrap_or(rest))
            {
                found.insert((in_crates(&file), name.to_owned()));
            }
        }
    }
    found
}

#[test]
fn state_belongs_to_a_machine() {
    let known: BTreeSet<(String, String)> =
        OF_THE_PROCESS.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
    let found = statics();
    let show = |(file, name): &(String, String)| format!("{file}: {name}");
    let new: Vec<String> = found.difference(&known).map(show).collect();
    report("a static with state is a field of a machine's part, or has a reason in this list", &new);
    let gone: Vec<String> = known.difference(&found).map(show).collect();
    report("the list has no statics that are gone", &gone);
}
