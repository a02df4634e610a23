//! Which files of a crate import which others.

use std::collections::{BTreeMap, BTreeSet};

use atoll_tidy::{TrackedFile, report, tracked_files};

/// Crates whose files import each other in no circle, and nothing from `lib.rs`. A folder counts as one file.
const WITHOUT_CIRCLES: &[&str] = &[
    "analysis",
    "architectures",
    "bifs",
    "cli",
    "etf",
    "interpreter",
    "loader",
    "natives",
    "operations",
    "platform",
    "regex",
    "scheduler",
    "statistics",
];

/// For each file of a crate, what it imports from the crate.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The part of a file's path below `src` that names its module, and the number of `super`s from there to the crate's
/// root.
fn module_of(path: &str) -> (&str, usize) {
    match path.split_once('/') {
        Some((folder, "mod.rs")) => (folder, 1),
        Some((folder, file)) => (folder, 2 + file.matches('/').count()),
        None => (path.trim_end_matches(".rs"), 1),
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    &path[..path.find(|letter| !is_of_name(letter)).unwrap_or(path.len())]
}

/// The first name of a path, or of each path in `{a, b::{c, d}}`.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else { return vec![first_name(path)] };
    let (mut names, mut depth) = (vec![first_name(group)], 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(first_name(&group[at + 1..])),
            _ => {}
        }
    }
    names
}

/// The names that follow `root` (`crate::`, `super::`) in some code.
fn names_behind<'c>(code: &'c str, root: &str) -> Vec<&'c str> {
    let paths =
        code.match_indices(root).filter(|(at, _)| !code[..*at].ends_with(|before| is_of_name(before) || before == ':'));
    paths.flat_map(|(at, _)| first_names(&code[at + root.len()..])).filter(|name| !name.is_empty()).collect()
}

fn imports(room: &str, files: &[TrackedFile]) -> Imports {
    let folder = format!("crates/{room}/src/");
    let mut imports = Imports::new();
    for file in files.iter().filter(|file| file.has_extension("rs") && !file.is_test()) {
        let Some(path) = file.path.strip_prefix(&folder).filter(|path| *path != "lib.rs") else { continue };
        let (module, depth) = module_of(path);
        let code: Vec<&str> =
            file.lines_without_tests().map(|(_, line)| line.split("//").next().unwrap_or_default()).collect();
        let code = code.join("\n");
        let named = names_behind(&code, "crate::").into_iter().chain(names_behind(&code, &"super::".repeat(depth)));
        let others = named.filter(|name| *name != module).map(str::to_owned);
        imports.entry(module.to_owned()).or_default().extend(others);
    }
    imports
}

/// The files from which a way leads back to them.
fn in_circles(imports: &Imports) -> Vec<String> {
    let leads_back = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut later = vec![start];
        while let Some(file) = later.pop() {
            for next in imports.get(file).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    later.push(next);
                }
            }
        }
        false
    };
    imports.keys().filter(|file| leads_back(file)).cloned().collect()
}

#[test]
fn files_import_each_other_in_no_circle() {
    let files = tracked_files();
    for room in WITHOUT_CIRCLES {
        let imports = imports(room, &files);
        assert!(imports.values().any(|others| !others.is_empty()), "the imports of {room} are found");
        let mut broken: Vec<String> =
            in_circles(&imports).iter().map(|file| format!("{room}: {file} is in a circle")).collect();
        for (file, others) in &imports {
            let of_root = others.iter().filter(|other| !imports.contains_key(*other));
            broken.extend(of_root.map(|item| format!("{room}: {file} imports {item} from lib.rs")));
        }
        report("files of this crate import each other in no circle, and nothing from lib.rs", &broken);
    }
}

#[test]
fn imports_are_read_in_each_form() {
    let file = |name: &str, text: &str| TrackedFile { path: format!("crates/x/src/{name}.rs"), text: text.to_owned() };
    let files = [
        file("lib", "mod a;"),
        file("a", "use crate::{b::{self, c}, d};\nfn f() { super::e::f() }\nuse crate::a::x;\n// crate::no\n"),
        file("b/mod", "use super::a;"),
        file("b/c", "use super::inside; use super::super::d; use other_crate::no;\n#[cfg(test)]\nuse crate::e;"),
        file("d", ""),
    ];
    let found = imports("x", &files);
    let of = |module: &str| found[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("a"), of("b"), of("d")), (vec!["b", "d", "e"], vec!["a", "d"], vec![]));
    assert_eq!(in_circles(&found), ["a", "b"]);
}
