//! Machine code is used again by later runs, and a cache that is damaged or unfit is as none.
#![cfg(target_arch = "x86_64")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
-module(NAME).
-export([main/1]).

%% Atoms, literals, funs, maps, floats, bitstrings, exceptions and calls of other modules, many times.
main([Word]) ->
    Known = try list_to_existing_atom(lists:reverse("reven_saw_taht_eman_a")) catch error:badarg -> none end,
    made(Word),
    %% A module whose atoms come behind that of the word.
    Tree = gb_trees:from_orddict([{N, N * N} || N <- lists:seq(0, 99)]),
    Add = fun(N, Sum) -> (turn(N) + gb_trees:get(N rem 100, Tree) + Sum) band 16#ffffff end,
    Seen = lists:foldl(Add, 0, lists:seq(1, 300000)),
    io:format("~p ~p ~p~n", [Known, Seen, floats(2000000, 0.5)]).

made("never" = Word) -> list_to_atom("a_name_that_was_" ++ Word);
made(_) -> ok.

turn(N) ->
    Kind = element(N rem 4 + 1, {small_NAME, large_NAME, {pair_NAME, [1, 2.5, "text"]}, <<"bits">>}),
    #{kind := Kind, n := M} = maps:put(n, N * 3, #{kind => Kind, other_NAME => none}),
    <<A:16, _/bits>> = <<M:32>>,
    B = try half(M) catch throw:{odd_NAME, X} -> X + 1 end,
    A + B + weight(Kind) + length(lists:reverse([Kind, M])).

weight(small_NAME) -> 1;
weight(large_NAME) -> 2;
weight({pair_NAME, [1, 2.5, "text"]}) -> 3;
weight(<<"bits">>) -> 4.

half(N) when N band 1 =:= 0 -> N bsr 1;
half(N) -> throw({odd_NAME, N}).

floats(0, X) -> X;
floats(N, X) when X > 1000.0 -> floats(N - 1, X / 7.0);
floats(N, X) -> floats(N - 1, X * 1.5 + 0.25).
"#;

struct Cache {
    folder: PathBuf,
}

impl Cache {
    fn new(name: &str) -> Cache {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native_cache").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Cache { folder }
    }

    fn kept(&self) -> PathBuf {
        self.folder.join("kept")
    }

    /// What the program of this name prints, and how many regions' code was there.
    fn run(&self, heap: &str, name: &str, argument: &str) -> (String, u64) {
        let source = self.folder.join(format!("{name}.erl"));
        fs::write(&source, PROGRAM.replace("NAME", name)).expect("a folder to write to");
        let record = self.folder.join("record.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
        command.args(["run", "--heap", heap, "--native-cache"]).arg(self.kept()).arg("--stats").arg(&record);
        let output = command.arg(source).arg(argument).output().expect("atoll runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record = fs::read_to_string(record).expect("a record");
        let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
        assert!(record["native_functions"].as_u64().expect("a number") > 0, "{record}");
        (String::from_utf8(output.stdout).expect("text"), record["native_kept"].as_u64().expect("a number"))
    }

    /// The folder with one for each version of Atoll and of the processor.
    fn versions(&self) -> PathBuf {
        self.kept().join("machine-code")
    }

    /// All files.
    fn files(&self) -> Vec<PathBuf> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries(&self.versions()).flat_map(|folder| entries(&folder).collect::<Vec<_>>()).collect()
    }
}

/// Of the first run a part may be found by its end: what is forgotten when nothing has been compiled for a while.
const MANY: u64 = 15;

#[test]
fn later_runs_use_the_code_and_print_the_same_on_every_heap() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        let cache = Cache::new(heap);
        let (expected, _) = cache.run(heap, "one", "other");
        let (text, found) = cache.run(heap, "one", "other");
        assert_eq!(text, expected);
        assert!(found >= MANY, "{heap}: {found}");
    }
}

/// The names of atoms are kept so that atoms have the same numbers; a name is no atom because of that.
#[test]
fn names_that_are_kept_are_no_atoms() {
    let cache = Cache::new("names");
    let (first, _) = cache.run("private", "one", "never");
    assert!(first.starts_with("none "), "{first}");
    let text = |file: &PathBuf| String::from_utf8_lossy(&fs::read(file).expect("a file")).into_owned();
    assert!(cache.files().iter().any(|file| text(file).contains("a_name_that_was_never")), "the name is not kept");
    let (second, found) = cache.run("private", "one", "never");
    assert_eq!(second, first);
    assert!(found >= MANY, "{found}");
}

/// Each has atoms that the other does not know, in files that both use (those of `lists` and `maps`).
#[test]
fn programs_take_turns() {
    let cache = Cache::new("turns");
    let one = cache.run("private", "one", "other").0;
    let two = cache.run("private", "two", "other").0;
    for _ in 0..2 {
        for (name, expected) in [("one", &one), ("two", &two)] {
            let (text, found) = cache.run("private", name, "other");
            assert_eq!(text, *expected);
            assert!(found >= MANY, "{name}: {found}");
        }
    }
}

#[test]
fn damaged_files_are_as_none() {
    let cache = Cache::new("damaged");
    let (expected, _) = cache.run("private", "one", "other");
    let files = cache.files();
    assert!(files.len() >= 3, "{files:?}");
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
        },
        |bytes| bytes.push(0),
    ];
    for damage in damages {
        for file in cache.files() {
            let mut bytes = fs::read(&file).expect("a file");
            damage(&mut bytes);
            fs::write(&file, bytes).expect("a file");
        }
        let (text, found) = cache.run("private", "one", "other");
        assert_eq!(text, expected);
        assert!(found < MANY, "{found} regions of damaged files");
        let (text, found) = cache.run("private", "one", "other");
        assert_eq!(text, expected);
        assert!(found >= MANY, "the files were not written again: {found}");
    }
}

/// Many systems give new files to a group that may write to them.
#[test]
fn the_user_s_mask_does_not_matter() {
    let cache = Cache::new("mask");
    cache.run("private", "one", "other");
    for file in cache.files() {
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

/// A folder that others can write to, or that cannot be made, is not used.
#[test]
fn folders_that_are_unfit_are_left_alone() {
    let cache = Cache::new("unfit");
    let (expected, _) = cache.run("private", "one", "other");
    let inner = fs::read_dir(cache.versions()).expect("a folder").next().expect("one").expect("readable").path();
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o777)).expect("a folder of ours");
    assert_eq!(cache.run("private", "one", "other"), (expected.clone(), 0));
    fs::remove_dir_all(cache.kept()).expect("a folder of ours");
    fs::write(cache.kept(), "no folder").expect("a file");
    assert_eq!(cache.run("private", "one", "other"), (expected, 0));
}
