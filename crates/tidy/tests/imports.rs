//! Which files of a crate import which others.

use std::collections::{BTreeMap, BTreeSet};

use atoll_tidy::{TrackedFile, report, tracked_files};

/// The circles that are left: a crate, its files that import each other (a folder counts as one file), and why. No file
/// may join one; one that leaves it leaves this list.
const CIRCLES: &[(&str, &str, &str)] = &[
    (
        "code",
        "breakpoints built_in_points part ranges registry retired server",
        "`part` has the fields of all, and they find each other through it",
    ),
    (
        "distribution",
        "dispatch node nodes signals spawning token watching",
        "a node acts on what comes on its line, and what acts finds other nodes and answers on their lines",
    ),
    (
        "ets",
        "fixation garbage hashed match_spec ordered registry table traversal",
        "rows that leave a table wait for its traversals, which get match specifications; those read the trace control \
         word, which is in the machine's part beside the tables",
    ),
    (
        "heap",
        "architecture base capabilities counters immovable message mutator part roots",
        "the contract: its traits name each other's types, and `part` has the architecture, by which they act",
    ),
    ("heap", "body fragment", "a fragment has a body, and `body` gives fragments theirs"),
    ("native", "compile emit engine exits leave ways", "what is compiled leaves to the engine, which compiles it"),
    (
        "nifs",
        "abi callbacks env library monitors resource_types resources",
        "an environment knows its library and the types that this opens; their functions in C get an environment",
    ),
    (
        "ports",
        "channel commands deferred driver external fd framing inet library open part poller port program ram_file \
         table \
         terminal trace_file trace_ip traced",
        "a port has its driver, a driver acts on its port, and each finds the other ports through `part`",
    ),
    (
        "process",
        "chores exit handle held held_back inspect libraries mailbox microstates native ports process profile \
         reference \
         release remote rounds sequence signal slab spawn suspension system table timers touches tracers tracing \
         unique urgency watch",
        "`system` has the fields of all, and they find each other through it; a process acts on signals and sends some",
    ),
    (
        "runtime",
        "autoload breakpoint built_in core entry mark operations part pause raise refusals report requests stack_trace \
         stubs target trace_hooks traced_built_in",
        "`part` has the fields of all; `core` is passed to each, and hands calls on to them",
    ),
    ("term", "compare hash map", "terms hold maps, and maps hold terms"),
    ("term", "atoms word", "`word` makes truth values, which are atoms, and an atom is a word"),
    ("treadmill", "copying heap lists paged", "`heap` chooses among the ways to collect, which get its context"),
    ("treadmill", "trace typed", "the trait visits what implements it"),
    (
        "vm",
        "boot erl kernel machine on_load output run simulation",
        "`machine` has the fields of all, and they find theirs through it; a simulation starts a program or OTP",
    ),
];

/// Crates whose files import something from `lib.rs` that is no file, and why.
const FROM_ROOT: &[(&str, &str)] = &[
    ("bench", "`bin/suite` is a crate of its own, whose root is its `main.rs`"),
    ("distribution", "`lib.rs` has the machine's part"),
    ("heap", "`Fragment` and lists of objects off the heap, by the names that other crates use"),
    ("nifs", "`lib.rs` has the version of the interface"),
    ("runtime", "`mark.rs` has a handler that `lib.rs` hands on, by a macro's full names"),
    ("term", "the highest number of pairs of a flat map, by the name that other crates use"),
    ("treadmill", "`lib.rs` has what its users see"),
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

/// The files to which a way leads from this one.
fn reached<'i>(imports: &'i Imports, start: &str) -> BTreeSet<&'i String> {
    let mut seen = BTreeSet::new();
    let mut later: Vec<&String> = imports.get(start).into_iter().flatten().collect();
    while let Some(file) = later.pop() {
        if seen.insert(file) {
            later.extend(imports.get(file).into_iter().flatten());
        }
    }
    seen
}

/// The circles, each with all files that lie on a way that leads back to them.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<String>> {
    let ways: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|file| (file, reached(imports, file))).collect();
    let leads = |from: &String, to: &String| ways.get(from).is_some_and(|way| way.contains(to));
    let of = |file: &String| imports.keys().filter(|other| leads(file, other) && leads(other, file)).cloned().collect();
    imports.keys().filter(|file| leads(file, file)).map(of).collect()
}

#[test]
fn files_import_each_other_in_no_circle() {
    let files = tracked_files();
    let rooms: BTreeSet<&str> = files.iter().filter_map(TrackedFile::room).collect();
    let (mut broken, mut from_root, mut known_found) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for room in rooms {
        let imports = imports(room, &files);
        for circle in circles(&imports) {
            let names: Vec<String> = circle.into_iter().collect();
            let known = CIRCLES.iter().filter(|(of, ..)| *of == room);
            let listed = known.map(|(_, listed, _)| *listed).find(|listed| {
                let listed: BTreeSet<&str> = listed.split(' ').collect();
                names.iter().any(|name| listed.contains(name.as_str()))
            });
            let is_new = |name: &&String| !listed.unwrap_or_default().split(' ').any(|known| known == name.as_str());
            let new: Vec<&String> = names.iter().filter(is_new).collect();
            if !new.is_empty() {
                broken.push(format!("{room}: {new:?} in the circle of {names:?}"));
            }
            known_found.extend(names.into_iter().map(|name| (room, name)));
        }
        if imports.values().flatten().any(|item| !imports.contains_key(item)) {
            from_root.insert(room);
        }
    }
    let left = CIRCLES.iter().flat_map(|(room, listed, _)| listed.split(' ').map(move |name| (*room, name.to_owned())));
    let left: Vec<String> =
        left.filter(|at| !known_found.contains(at)).map(|(room, name)| format!("{room}: {name}")).collect();
    report("files of a crate import each other in no circle but those that are listed", &broken);
    report("files that left their circle leave the list", &left);
    let known: BTreeSet<&str> = FROM_ROOT.iter().map(|(room, _)| *room).collect();
    let changed: Vec<String> = from_root.symmetric_difference(&known).map(|room| (*room).to_owned()).collect();
    report("files import nothing from lib.rs but in the crates that are listed, all of which do", &changed);
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
    assert_eq!(circles(&found), BTreeSet::from([BTreeSet::from(["a".to_owned(), "b".to_owned()])]));
}
