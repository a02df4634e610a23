//! What the tests against stock `erl` share: running the oracle, and a reader of the external term format.

pub mod etf;

use std::process::{Command, Stdio};

use atoll_term::{ScratchHeap, Term};

/// What the oracle had to say.
pub struct Answers {
    /// Keeps the terms alive.
    #[allow(dead_code, reason = "not every test binary builds more terms")]
    pub heap: ScratchHeap,
    /// The records, in order.
    pub records: Vec<Term>,
    /// What it printed.
    #[allow(dead_code, reason = "not every test binary looks at it")]
    pub printed: Vec<u8>,
}

/// The seed of this run: the environment variable `ATOLL_SEED`, else always the same; `make fuzz` chooses others. It is
/// printed, so that a failure can be had again.
pub fn seed() -> u64 {
    let seed = std::env::var("ATOLL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("seed: ATOLL_SEED={seed}");
    seed
}

/// Has the oracle make `count` records of a kind; `None` (and a message) without `escript`.
pub fn ask(kind: &str, count: usize) -> Option<Answers> {
    if cfg!(miri) {
        return asked_before(kind);
    }
    if Command::new("escript").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).output().is_err() {
        println!("skipped: there is no escript here to compare with");
        return None;
    }
    let file = std::env::temp_dir().join(format!("atoll-oracle-{}-{kind}", std::process::id()));
    let output = Command::new("escript")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/oracle.escript"))
        .args([kind, &seed().to_string(), &count.to_string()])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .expect("the oracle runs");
    assert!(output.status.success(), "the oracle failed: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&file).expect("the oracle's file");
    std::fs::remove_file(&file).expect("the oracle's file can be removed");
    let answers = read(&bytes, output.stdout);
    assert_eq!(answers.records.len(), count);
    Some(answers)
}

/// Miri starts no programs: `scripts/miri` has asked the oracle, and names the folder with what it said.
fn asked_before(kind: &str) -> Option<Answers> {
    let Some(folder) = std::env::var_os("ATOLL_ANSWERS").map(std::path::PathBuf::from) else {
        println!("skipped: ATOLL_ANSWERS is not set");
        return None;
    };
    let file = |suffix| std::fs::read(folder.join(format!("term-{kind}{suffix}"))).expect("the oracle was asked");
    let printed = file(".printed");
    // Where a record has a line of its own, all are read.
    let bytes = if printed.is_empty() { short_records(&file("")) } else { file("") };
    Some(read(&bytes, printed))
}

/// Long records would take Miri too much time.
fn short_records(mut bytes: &[u8]) -> Vec<u8> {
    const MOST_BYTES: usize = 8_000;
    let mut short = Vec::new();
    while let Some(length) = bytes.first_chunk() {
        let (record, rest) = bytes.split_at(4 + u32::from_be_bytes(*length) as usize);
        if record.len() <= MOST_BYTES {
            short.extend_from_slice(record);
        }
        bytes = rest;
    }
    short
}

fn read(bytes: &[u8], printed: Vec<u8>) -> Answers {
    let mut heap = ScratchHeap::new();
    let mut reader = etf::Reader::new(bytes);
    let mut records = Vec::new();
    while !reader.at_end() {
        records.push(reader.record(&mut heap));
    }
    Answers { heap, records, printed }
}

/// The elements of a record.
pub fn fields(record: &Term) -> &[Term] {
    record.tuple_elements().expect("a record is a tuple")
}

/// The elements of a proper list.
#[allow(dead_code, reason = "not every test binary has lists to read")]
pub fn elements(mut list: Term) -> Vec<Term> {
    let mut elements = Vec::new();
    while list.is_cons() {
        elements.push(list.head());
        list = list.tail();
    }
    assert!(list.is_nil());
    elements
}

/// Fails with the shortest ones of these notes, if there are any.
#[allow(dead_code, reason = "not every test binary collects failures")]
pub fn assert_none(failures: &[String]) {
    let mut shortest: Vec<&String> = failures.iter().collect();
    shortest.sort_by_key(|note| note.len());
    shortest.truncate(5);
    assert!(failures.is_empty(), "{} failures, such as: {shortest:#?}", failures.len());
}
