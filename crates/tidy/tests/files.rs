//! What files may contain.

use atoll_tidy::{TrackedFile, report, tracked_files};

/// A Rust file has one purpose; past this many lines it has two, and a wall is missing.
const MOST_LINES: usize = 600;
/// A comment line has at most this many characters, as code has (`max_width` of rustfmt, which leaves comments alone).
const COMMENT_WIDTH: usize = 120;

fn rust_files() -> Vec<TrackedFile> {
    tracked_files().into_iter().filter(|file| file.has_extension("rs")).collect()
}

/// Lines with one of `words` in them, each word in two halves so that this file does not hold it.
fn lines_with(files: &[TrackedFile], words: &[[&str; 2]]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|halves| halves.concat()).collect();
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    found
}

#[test]
fn no_rust_file_is_too_long() {
    let mut broken = Vec::new();
    for file in rust_files() {
        let lines = file.lines().count();
        if lines > MOST_LINES {
            broken.push(format!("{}: {lines} lines; look for the wall that is missing", file.path));
        }
    }
    report("a Rust file has at most 600 lines", &broken);
}

#[test]
fn comment_lines_fit_the_width_of_code() {
    let mut broken = Vec::new();
    for file in rust_files() {
        for (number, line) in file.lines() {
            let width = line.chars().count();
            if line.trim_start().starts_with("//") && width > COMMENT_WIDTH {
                broken.push(format!("{}:{number}: {width} characters", file.path));
            }
        }
    }
    report("a comment line has at most 120 characters", &broken);
}

#[test]
fn nothing_is_left_for_later_in_code() {
    let words = [["to", "do!("], ["unimple", "mented!("], ["db", "g!("], ["FIX", "ME"], ["TO", "DO"]];
    report("code is finished", &lines_with(&rust_files(), &words));
}

#[test]
fn no_merge_is_left_half_done() {
    let mut broken = Vec::new();
    for file in tracked_files() {
        // What `patch` leaves, and what was to be the output of a command.
        if file.has_extension("orig") || file.has_extension("rej") || file.lines().next().is_none() {
            broken.push(file.path.clone());
        }
        for (number, line) in file.lines() {
            if line.starts_with(&["<<<<", "<<< "].concat()) || line.starts_with(&[">>>>", ">>> "].concat()) {
                broken.push(format!("{}:{number}", file.path));
            }
        }
    }
    report("no merge conflict markers, no leftovers of patches, no empty files", &broken);
}

/// Whether `line` has `word` in it as a whole: neither part of a longer path, nor the start of a longer name.
fn has_path(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let part = |letter: char| letter.is_alphanumeric() || "_-./~}$".contains(letter);
        let before = line[..at].chars().next_back().is_some_and(part);
        let after = line[at + word.len()..].chars().next().is_some_and(|next| next.is_alphanumeric() || next == '_');
        !before && !after
    })
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    let places = [["/wo", "rk"], ["/ro", "ot"], ["/fa", "rm"], ["/ho", "me"]].map(|halves| halves.concat());
    let mut broken = Vec::new();
    for file in tracked_files() {
        for (number, line) in file.lines() {
            if places.iter().any(|place| has_path(line, place)) {
                broken.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    report("no absolute paths of one machine", &broken);
}

#[test]
fn paths_are_told_from_parts_of_paths() {
    assert!(has_path("in /abc/d", "/abc"));
    assert!(has_path("\"/abc\"", "/abc"));
    assert!(!has_path("x/abc", "/abc"));
    assert!(!has_path("/abcd", "/abc"));
    assert!(!has_path("../abc", "/abc"));
}

#[test]
fn registries_are_named_in_lock_files_only() {
    let files: Vec<TrackedFile> = tracked_files().into_iter().filter(|file| !file.has_extension("lock")).collect();
    let hosts = [["crates", ".io"], ["pypi", ".org"], ["hex", ".pm"], ["npmjs", ".org"], ["deb.debian", ".org"]];
    report("no host names of package registries", &lines_with(&files, &hosts));
}

/// An optimised build takes minutes: its output shows that it goes on.
#[test]
fn builds_show_how_far_they_are() {
    let scripts: Vec<TrackedFile> =
        tracked_files().into_iter().filter(|file| file.path.starts_with("scripts/")).collect();
    let silent: Vec<String> =
        lines_with(&scripts, &[["cargo ", "build"]]).into_iter().filter(|line| line.contains("-q")).collect();
    report("builds show how far they are", &silent);
}

#[test]
fn only_some_places_name_a_concrete_architecture() {
    // Folders and files that may: the architectures themselves, where they are chosen, shown and compared, and the
    // table of atoms that programs are answered with.
    let may = ["architectures", "vm", "cli", "bench", "tidy"];
    let names = ["nogc", "private", "shared", "unified", "hybrid"].map(|name| format!("\"{name}\""));
    let mut broken = Vec::new();
    for file in rust_files() {
        if file.room().is_none_or(|room| may.contains(&room)) || file.is_test() || file.path.ends_with("well_known.rs")
        {
            continue;
        }
        for (number, line) in file.lines_without_tests() {
            if names.iter().any(|name| line.contains(name)) || line.contains("atoll_architectures") {
                broken.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    report("a difference between architectures is a method of the contract", &broken);
}

#[test]
fn features_do_not_choose_an_architecture() {
    let mut broken = Vec::new();
    for file in rust_files() {
        if file.room() == Some("tidy") {
            continue;
        }
        for (number, line) in file.lines() {
            let chosen = ["nogc", "private", "shared", "unified", "hybrid"]
                .iter()
                .any(|name| line.contains(&format!("feature = \"{name}\"")));
            if chosen {
                broken.push(format!("{}:{number}", file.path));
            }
        }
    }
    report("architectures are chosen at start-up, not when building", &broken);
}

#[test]
fn raw_memory_in_operations_stands_in_files_named_raw() {
    let mut broken = Vec::new();
    for file in rust_files() {
        let allows = file.lines().any(|(_, line)| line.starts_with("#![allow(unsafe_code"));
        if file.room() == Some("operations") && allows && !file.path.contains("/raw_") {
            broken.push(file.path);
        }
    }
    report("`operations` keeps `unsafe` in files named raw_*.rs", &broken);
}
