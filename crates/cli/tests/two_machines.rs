//! Two machines in one process of the operating system, with different heaps and settings, at the same time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use atoll_vm::{Options, Program, run};

/// One of the machines.
struct Side {
    name: &'static str,
    other: &'static str,
    rounds: u32,
    status: i32,
    options: Options,
}

fn erlc(source: &Path, folder: &Path) {
    let status = Command::new("erlc").arg("-o").arg(folder).arg(source).status().expect("erlc runs");
    assert!(status.success(), "erlc {}", source.display());
}

/// A module of the same name for each machine, which tells whose it is.
fn own_module(folder: &Path, name: &str) -> PathBuf {
    let own = folder.join(format!("of_{name}"));
    std::fs::create_dir_all(&own).expect("a folder");
    let source = own.join("two_machines_side.erl");
    let text = format!("-module(two_machines_side).\n-export([name/0]).\nname() -> \"{name}\".\n");
    std::fs::write(&source, text).expect("a file");
    erlc(&source, &own);
    own
}

fn start(side: Side, folder: &Path) -> JoinHandle<i32> {
    let program = Program::prepare(&folder.join("two_machines.beam").to_string_lossy()).expect("the program");
    let Side { name, other, rounds, status, mut options } = side;
    options.code_path.push(own_module(folder, name));
    let folder = folder.to_string_lossy().into_owned();
    let arguments =
        [name.to_owned(), other.to_owned(), folder, rounds.to_string(), options.heap.clone(), status.to_string()];
    std::thread::spawn(move || run(&options, &program, &arguments).expect("the machine starts"))
}

/// The number of a field of the record of what a run cost.
fn figure(record: &Path, field: &str) -> u64 {
    let text = std::fs::read_to_string(record).expect("the record");
    let after = text.split(&format!("\"{field}\":")).nth(1).expect("the field");
    let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn two_machines_run_side_by_side() {
    let folder = std::env::temp_dir().join(format!("atoll-two-machines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    erlc(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/two_machines.erl"), &folder);
    let records = ["one", "two"].map(|name| folder.join(format!("{name}.json")));
    let options = |heap: &str, record: &Path| Options {
        heap: heap.to_owned(),
        schedulers: 2,
        statistics: Some(record.to_owned()),
        ..Options::default()
    };
    let one = Side {
        name: "one",
        other: "two",
        rounds: 40,
        status: 3,
        options: Options { stress: 13, verify: true, ..options("private", &records[0]) },
    };
    let two = Side { name: "two", other: "one", rounds: 400, status: 4, options: options("shared", &records[1]) };
    let machines = [one, two].map(|side| start(side, &folder));
    assert_eq!(machines.map(|machine| machine.join().expect("a thread")), [3, 4]);
    // Each has counted its own messages: two for each round of each worker, and few besides.
    let messages = records.each_ref().map(|record| figure(record, "messages"));
    assert!((640..2_000).contains(&messages[0]) && (6_400..10_000).contains(&messages[1]), "{messages:?}");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
