//! Files that no compiler writes: the machine refuses them, or runs them and lives.
//!
//! `tests/hand_made` has the programs. `ATOLL_FUZZ_SEED` repeats a run, `ATOLL_FUZZ_SECONDS` sets the length of
//! the one with damaged files.

#[path = "../../loader/tests/support/mutate.rs"]
mod mutate;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mutate::mutate;

/// Programs whose compiled files are damaged: they use much of the instruction set, and do nothing to the machine they
/// run on.
const DAMAGED: [&str; 14] = [
    "bigint_arith",
    "bitstrings",
    "bs_append",
    "bs_construct_binary",
    "bs_match_binary",
    "bs_match_integer",
    "closures",
    "comprehensions",
    "float_arith",
    "list_basic",
    "map_small",
    "records",
    "select_large",
    "try_catch",
];

/// Each function is compiled to machine code, which trusts the loader as much as the interpreter does.
const COMPILED: [&str; 2] = ["--native", "eager"];

/// The ways in which machines run damaged files, in turn. There are five heaps and four ways, so each meets each.
const WAYS: [&[&str]; 4] =
    [&[], &COMPILED, &["--gc-stress", "29"], &["--native", "eager", "--native-exits", "3", "--gc-stress", "29"]];

/// Damaged files that one machine runs.
const BATCH: usize = 60;

/// How long one machine may take: far longer than it does.
const LONGEST: Duration = Duration::from_secs(300);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn compile(files: &[PathBuf], folder: &Path) {
    let status = Command::new("erlc").arg("-o").arg(folder).args(files).status().expect("erlc runs");
    assert!(status.success(), "erlc");
}

/// Runs a program of `tests/hand_made` on a heap; gives its output once it has ended, or panics if it does not end.
fn run(heap: &str, options: &[&str], folder: &Path, program: &str, arguments: &[&str], log: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
    command.args(["run", "--verify-heap", "--heap", heap]).args(options);
    command.arg(folder.join(program)).args(arguments);
    command.env("HAND_MADE_LOG", log).current_dir(folder).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("atoll runs");
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > LONGEST {
            child.kill().expect("a child");
            panic!("{program} on {heap} {options:?} does not end; the last it tried: {}", last(log));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("output")
}

/// The end of what a program noted of what it was about to try.
fn last(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[track_caller]
fn lives(output: &Output, what: &str, log: &Path) -> String {
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let ended = (output.status.code(), output.status.signal());
    assert_eq!(ended, (Some(0), None), "{what}: {text}{errors}\nthe last it tried: {}", last(log));
    text.into_owned()
}

/// The number in front of a word of what a program printed.
#[track_caller]
fn number(text: &str, word: &str) -> u64 {
    let words: Vec<&str> = text.split([' ', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let place = words.iter().position(|found| *found == word).unwrap_or_else(|| panic!("no {word} in {text}"));
    words[place - 1].parse().expect("a number")
}

fn hand_made(heap: &str) {
    let folder = folder(&format!("hand_made_{heap}"));
    compile(&[sources().join("hand_made/hand_made.erl")], &folder);
    let log = folder.join("log");
    let seed = setting("ATOLL_FUZZ_SEED").unwrap_or(1).to_string();
    for options in [&[][..], &COMPILED] {
        let output = run(heap, options, &folder, "hand_made.beam", &[&seed, "400"], &log);
        let text = lives(&output, &format!("{heap} {options:?}"), &log);
        // Were all refused, or none, this would try little.
        assert!(number(&text, "bodies") > 480 && number(&text, "refused") > 100, "{text}");
        assert!(number(&text, "returned") > 500 && number(&text, "raised") > 500, "{text}");
    }
}

#[test]
fn hand_made_code_on_private() {
    hand_made("private");
}

#[test]
fn hand_made_code_on_shared() {
    hand_made("shared");
}

#[test]
fn hand_made_code_on_unified() {
    hand_made("unified");
}

#[test]
fn hand_made_code_on_hybrid() {
    hand_made("hybrid");
}

#[test]
fn hand_made_code_on_nogc() {
    hand_made("nogc");
}

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

#[test]
fn damaged_files_are_run() {
    // The same files each time: `make fuzz` chooses others.
    let seed = setting("ATOLL_FUZZ_SEED").unwrap_or(1);
    println!("ATOLL_FUZZ_SEED={seed}");
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let folder = folder("damaged");
    let mut programs: Vec<PathBuf> =
        DAMAGED.iter().map(|name| sources().join(format!("programs/{name}.erl"))).collect();
    programs.push(sources().join("hand_made/mutants.erl"));
    compile(&programs, &folder);
    let read =
        |name: &'static str| (name, std::fs::read(folder.join(name).with_extension("beam")).expect("a compiled file"));
    let files: Vec<(&str, Vec<u8>)> = DAMAGED.into_iter().map(read).collect();

    let start = Instant::now();
    let length = Duration::from_secs(setting("ATOLL_FUZZ_SECONDS").unwrap_or(10));
    let (mut loaded, mut returned, mut batches) = (0, 0, 0);
    while start.elapsed() < length {
        let batch = folder.join("batch");
        let _ = std::fs::remove_dir_all(&batch);
        std::fs::create_dir_all(&batch).expect("a folder");
        let mut made = 0;
        while made < BATCH {
            let (name, file) = &files[random.below(files.len())];
            let mutant = mutate(file, |limit| random.below(limit));
            if mutant != *file && atoll_loader::load(&mutant).is_ok() {
                std::fs::write(batch.join(format!("{made:03}-{name}.mutant")), mutant).expect("a file");
                made += 1;
            }
        }
        let heap = atoll_vm::architectures()[batches % atoll_vm::architectures().len()];
        let options = WAYS[batches % WAYS.len()];
        let log = batch.join("log");
        let output = run(heap, options, &folder, "mutants.beam", &[batch.to_str().expect("text")], &log);
        let text = lives(&output, &format!("{} on {heap} {options:?}", batch.display()), &log);
        loaded += number(&text, "loaded");
        returned += number(&text, "returned");
        batches += 1;
    }
    println!("{batches} batches, {loaded} damaged files loaded, {returned} calls returned");
    assert!(loaded > 0 && returned > 0);
}
