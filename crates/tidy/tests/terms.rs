//! Terms: what types cannot say of them. See "What a term's type promises" in ARCHITECTURE.md.

use atoll_tidy::{TrackedFile, report, tracked_files};

/// Files of crates without `unsafe` that stop the world. Another thread's collection may go first, so they use no term
/// with a pointer afterwards that they had before.
const STOP_THE_WORLD: [&str; 3] =
    ["crates/bifs/src/trace_pattern.rs", "crates/vm/src/erl/break_menu.rs", "crates/vm/src/kernel.rs"];

/// Files that have a heap outside of the heaps, apart from [`Message::compose`](../../heap/src/message.rs). Terms in it
/// are looked at or measured there, and go nowhere; what a library sends of its own environment is copied.
const SCRATCH_HEAPS: [&str; 8] = [
    "crates/bifs/src/seq_trace.rs",
    "crates/distribution/src/input.rs",
    "crates/distribution/src/signals.rs",
    "crates/heap/src/message.rs",
    "crates/nifs/src/env.rs",
    "crates/ports/src/inet/sender.rs",
    "crates/runtime/src/report.rs",
    "crates/vm/src/output.rs",
];

fn rust_files() -> Vec<TrackedFile> {
    tracked_files().into_iter().filter(|file| file.has_extension("rs") && file.room() != Some("tidy")).collect()
}

/// Names and signatures of the functions with lifetimes of their own.
fn signatures(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("fn ").filter_map(|(at, _)| {
        let rest = &text[at..];
        let signature = &rest[..rest.find(['{', ';'])?];
        let name_ends = signature.find(['<', '('])?;
        signature[name_ends..].starts_with("<'").then(|| {
            let line_begins = text[..at].rfind('\n').map_or(0, |end| end + 1);
            &text[line_begins..at + signature.len()]
        })
    })
}

/// Whether a caller may choose a lifetime of the result: it is declared, it is in the result, and no parameter has it.
fn is_free_choice(signature: &str) -> bool {
    let Some((generics, rest)) = signature.split_once(">(") else { return false };
    let Some((parameters, result)) = rest.rsplit_once(") ->") else { return false };
    let declared = generics.split('<').nth(1).unwrap_or_default();
    declared.split(',').map(str::trim).filter(|name| name.starts_with('\'')).any(|declaration| {
        let name = declaration.split(':').next().unwrap_or_default();
        let has = |text: &str| {
            text.match_indices(name)
                .any(|(at, _)| !text[at + name.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        };
        has(result) && !has(parameters)
    })
}

#[test]
fn no_safe_function_lets_its_caller_choose_the_lifetime_of_what_it_gives() {
    assert!(is_free_choice("fn elements<'h>(term: Term) -> &'h [Term] "));
    assert!(!is_free_choice("fn elements<'h>(term: &'h Term) -> &'h [Term] "));
    let mut broken = Vec::new();
    for file in rust_files().iter().filter(|file| !file.path.starts_with("crates/treadmill")) {
        for signature in signatures(&file.text) {
            if !signature.contains("unsafe fn") && is_free_choice(signature) {
                broken.push(format!("{}: {}", file.path, signature.trim()));
            }
        }
    }
    report("what is shown of a term is borrowed from something", &broken);
}

#[test]
fn built_in_functions_that_stop_the_world_are_known() {
    let files = rust_files();
    let stops = |file: &&TrackedFile| {
        ["bifs", "ets", "ports", "natives", "etf", "vm"].contains(&file.room().unwrap_or_default())
            && ["Stopped::after_others(", "processes_inside("].iter().any(|call| file.text.contains(call))
    };
    let found: Vec<&str> = files.iter().filter(stops).map(|file| &*file.path).collect();
    let new = found.iter().filter(|path| !STOP_THE_WORLD.contains(path)).map(ToString::to_string);
    let gone = STOP_THE_WORLD.iter().filter(|path| !found.contains(path)).map(ToString::to_string);
    report("each file that stops the world is reviewed and listed", &new.chain(gone).collect::<Vec<_>>());
}

#[test]
fn terms_outside_of_the_heaps_are_made_in_few_places() {
    let files = rust_files();
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("tests.rs") || path.ends_with("oracle.rs");
    let makes = |file: &&TrackedFile| {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        let made = code.contains("ScratchHeap::new()") || code.contains(": ScratchHeap,");
        made && !is_test(&file.path) && !file.path.starts_with("crates/term/src/")
    };
    let found: Vec<&str> = files.iter().filter(makes).map(|file| &*file.path).collect();
    let new = found.iter().filter(|path| !SCRATCH_HEAPS.contains(path)).map(ToString::to_string);
    let gone = SCRATCH_HEAPS.iter().filter(|path| !found.contains(path)).map(ToString::to_string);
    report("what is not on a heap becomes a message by `Message::compose`", &new.chain(gone).collect::<Vec<_>>());
}
