//! Documentation that names what is there.

use atoll_tidy::{read, report, root, tracked_files};

const INDEX: &str = "docs/decisions/README.md";
/// A line of prose has at most this many characters, without the targets of its links.
const PROSE_WIDTH: usize = 120;

#[test]
fn every_decision_is_in_the_index() {
    let index = read(INDEX);
    let mut broken = Vec::new();
    for file in tracked_files() {
        let Some(page) = file.path.strip_prefix("docs/decisions/") else { continue };
        if file.path != INDEX && !index.contains(&format!("]({page})")) {
            broken.push(format!("{page} is not linked from {INDEX}"));
        }
    }
    report("the index links every decision", &broken);
}

#[test]
fn pages_link_to_files_that_exist() {
    let mut broken = Vec::new();
    for file in tracked_files().into_iter().filter(|file| file.has_extension("md")) {
        let page = root().join(&file.path);
        let folder = page.parent().expect("a page lies in a folder");
        for (number, line) in file.lines() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                if !target.is_empty() && !target.contains(':') && !folder.join(target).exists() {
                    broken.push(format!("{}:{number}: {link}", file.path));
                }
            }
        }
    }
    report("links in pages lead somewhere", &broken);
}

/// The targets that a text tells its reader to make, as in "`make test`" or a line that begins with "make test".
fn made(text: &str) -> Vec<String> {
    let quoted = text.split("`make ").skip(1);
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("make "));
    let word = |rest: &str| {
        let end = rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    quoted.chain(lines).map(word).filter(|word| !word.is_empty()).collect()
}

#[test]
fn commands_in_the_pages_exist_in_the_makefile() {
    let makefile = read("Makefile");
    let mut broken = Vec::new();
    for page in ["README.md", "ARCHITECTURE.md", "bench/README.md"] {
        for target in made(&read(page)) {
            if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                broken.push(format!("{page}: make {target}"));
            }
        }
    }
    report("the Makefile has every target that the pages name", &broken);
    assert!(made(&read("README.md")).contains(&"run".to_owned()), "README.md tells how to run");
}

#[test]
fn targets_are_found_in_code_and_in_lines() {
    assert_eq!(made("use `make a`, or\n    make b X=1\nto make do"), ["a", "b"]);
}

/// The lines of a page that are prose, with their numbers: neither tables nor blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence && !line.starts_with("    ") && !line.trim_start().starts_with('|')
    })
}

/// Characters of a line, without the targets of its links.
fn width(line: &str) -> usize {
    let mut parts = line.split("](");
    let first = parts.next().map_or(0, |part| part.chars().count());
    first + parts.map(|part| 1 + part.split_once(')').map_or(part, |(_, rest)| rest).chars().count()).sum::<usize>()
}

#[test]
fn lines_of_prose_are_not_too_long() {
    let mut broken = Vec::new();
    for file in tracked_files().into_iter().filter(|file| file.has_extension("md")) {
        for (number, line) in prose(&file.text) {
            if width(line) > PROSE_WIDTH {
                broken.push(format!("{}:{number}: {} characters", file.path, width(line)));
            }
        }
    }
    report("a line of a page has at most 120 characters, outside of tables, code and links", &broken);
}

#[test]
fn prose_is_told_from_tables_code_and_links() {
    let page = "a\n| b |\n```sh\nc\n```\nd\n    e\n- f\n";
    assert_eq!(prose(page).collect::<Vec<_>>(), [(1, "a"), (6, "d"), (8, "- f")]);
    assert_eq!(width("see [here](docs/a.md), too"), "see [here], too".len());
    assert_eq!(width("\u{b5}s"), 2);
}
