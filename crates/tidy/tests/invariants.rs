//! Each invariant that the heaps name is checked, and each check is seen to fail.

use std::collections::BTreeSet;

use atoll_tidy::{TrackedFile, report, tracked_files};

/// Where heaps name theirs.
const ROOMS: [&str; 2] = ["architectures", "treadmill"];

/// Those that no verifier can see, and what holds them instead.
const HELD_OTHERWISE: [(&str, &str); 14] = [
    ("FR1", "random runs against a model, space/runs.rs"),
    ("FR2", "the same"),
    ("FR3", "the same"),
    ("MK1", "loom, paged/marks.rs"),
    ("MK2", "loom, paged/marks.rs"),
    ("MK3", "loom, paged/marks.rs"),
    ("PG5", "by argument: nothing can be seen between two collections"),
    ("SL1", "random slots against a set, paged/slots.rs"),
    ("SL2", "the same"),
    ("SP1", "tests of space/mod.rs; driven heaps look at it after each step"),
    ("SP2", "tests of space/mod.rs, and those of FR1 to FR3"),
    ("W1", "by argument: a contract of mutators"),
    ("W2", "loom, world.rs"),
    ("W3", "loom, world.rs"),
];

type Names = BTreeSet<String>;

/// The identifier, letters and digits as in P1 or PG12, that a text begins with.
fn name(text: &str) -> Option<&str> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = text.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
    let end = letters + digits;
    let goes_on = text[end..].chars().next().is_some_and(|next| next.is_alphanumeric() || next == '_');
    ((1..=2).contains(&letters) && digits > 0 && !goes_on).then_some(&text[..end])
}

/// All identifiers in a text, as words of their own.
fn names(text: &str) -> Names {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter_map(|word| name(word).filter(|name| *name == word)).map(str::to_owned).collect()
}

/// Identifiers that follow directly on one of these beginnings.
fn names_behind(text: &str, beginnings: &[&str]) -> Names {
    let behind = |beginning| text.split(beginning).skip(1).filter_map(name).map(str::to_owned).collect::<Vec<_>>();
    beginnings.iter().flat_map(|beginning| behind(*beginning)).collect()
}

/// What the head of a file says behind the word that announces invariants.
fn declared(text: &str) -> Names {
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    names(head.join("\n").split_once("Invariants").map_or("", |(_, behind)| behind))
}

/// Code and tests of a file.
fn parts(file: &TrackedFile) -> (&str, &str) {
    if file.is_test() {
        return ("", &file.text);
    }
    // A declaration of a module with tests is not where they begin.
    let begin = file.text.match_indices("#[cfg(").map(|(at, _)| at).find(|at| {
        let rest = &file.text[*at..];
        rest.lines().next().is_some_and(|line| line.contains("test"))
            && rest.lines().nth(1).is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    });
    file.text.split_at(begin.unwrap_or(file.text.len()))
}

fn listed(names: &Names) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}

#[test]
fn every_invariant_has_a_check_and_a_test_that_breaks_it() {
    let (mut said, mut checked, mut broken) = (Names::new(), Names::new(), Names::new());
    for file in tracked_files() {
        if !file.room().is_some_and(|room| ROOMS.contains(&room)) || !file.has_extension("rs") {
            continue;
        }
        let (code, tests) = parts(&file);
        said.append(&mut declared(code));
        checked.append(&mut names_behind(code, &[": &str = \"", "broken(\""]));
        broken.append(&mut names_behind(tests, &["sees(\"", "sees_word(\""]));
    }
    let otherwise: Names = HELD_OTHERWISE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(said.len() > 30 && said.contains("P6") && said.contains("PG8"), "heads name them: {}", listed(&said));
    let mut faults = Vec::new();
    let mut fault = |names: Names, what: &str| {
        if !names.is_empty() {
            faults.push(format!("{}: {what}", listed(&names)));
        }
    };
    fault(&said - &(&checked | &otherwise), "no verifier names it");
    fault(&checked - &said, "no head of a file says what it is");
    fault(&checked - &broken, "no test breaks it and sees the verifier say so");
    fault(&broken - &checked, "a test breaks what no verifier names");
    fault(&otherwise & &checked, "a verifier names it: it needs a test that breaks it, not a word here");
    fault(&otherwise - &said, "is held here, and no head of a file says what it is");
    report("each invariant is checked, and each check can fail", &faults);
}

#[test]
fn identifiers_are_found() {
    assert_eq!(listed(&names("P1: a; PG12 to TM3, not UTF8x, 1A, ABC1, X_1, or A1b")), "P1, PG12, TM3");
    assert_eq!(listed(&declared("//! P0 before.\n//! Invariants:\n//! * P1: it.\n//! (P2)\nuse X9;\n")), "P1, P2");
    assert_eq!(listed(&names_behind("f(\"A1 (why)\"); g(\"A2\")", &["f(\"", "g(\""])), "A1, A2");
    let file = |path: &str| TrackedFile {
        path: path.to_owned(),
        text: "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(all(test, not(loom)))]\nmod tests {\nc\n".to_owned(),
    };
    assert!(parts(&file("crates/x/src/a.rs")).0.ends_with("b\n"), "{:?}", parts(&file("crates/x/src/a.rs")));
    assert_eq!(parts(&file("crates/x/src/a/tests.rs")).0, "");
}
