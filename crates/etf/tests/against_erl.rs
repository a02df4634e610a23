//! The format compared with what the installed Erlang encodes and decodes: random terms under every option, and
//! damaged bytes.

mod support;

use std::process::Command;
use std::sync::OnceLock;

use atoll_etf::{EncodeOptions, encode, encoded_size};
use atoll_term::{ScratchHeap, Term};
use support::{NODE, read};

/// The oracle's lines, none where there is no Erlang.
fn lines() -> &'static [Vec<String>] {
    static LINES: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle.escript");
        if cfg!(miri) {
            return asked_before();
        }
        let Ok(output) = Command::new("escript").args([oracle, "25", "4000"]).output() else {
            eprintln!("skipped: no escript here");
            return Vec::new();
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        words(&String::from_utf8(output.stdout).unwrap())
    })
}

fn words(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// Miri starts no programs: `scripts/miri` has asked the oracle, and names the folder with what it said.
fn asked_before() -> Vec<Vec<String>> {
    let Some(folder) = std::env::var_os("ATOLL_ANSWERS").map(std::path::PathBuf::from) else {
        eprintln!("skipped: ATOLL_ANSWERS is not set");
        return Vec::new();
    };
    words(&std::fs::read_to_string(folder.join("etf")).expect("the oracle was asked"))
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len() / 2).map(|at| u8::from_str_radix(&hexadecimal[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn with(minor_version: u8, deterministic: bool, compressed: Option<u32>) -> EncodeOptions {
    EncodeOptions { compressed, minor_version, deterministic }
}

fn encoded(term: Term, options: EncodeOptions) -> String {
    hexadecimal(&encode(term, options, NODE).unwrap())
}

#[test]
fn random_terms_under_every_option() {
    let mut cases = 0;
    for line in lines().iter().filter(|line| line[0] == "term") {
        cases += 1;
        let [_, plain, text, utf8, sorted, fast, best, size, size_text] = &line[..] else { panic!("{line:?}") };
        let forms = [
            (plain, with(1, false, None)),
            (text, with(0, false, None)),
            (utf8, with(2, false, None)),
            (sorted, with(1, true, None)),
        ];
        let mut heap = ScratchHeap::new();
        for (form, _) in &forms {
            let input = bytes(form);
            let (term, used) = read(&input, &mut heap).unwrap();
            assert_eq!(used, input.len());
            for (expected, options) in &forms {
                // Text keeps all the digits that a float needs, so every form gives every other.
                assert_eq!(&encoded(term, *options), *expected, "from {form} with {options:?}");
            }
        }
        let (term, _) = read(&bytes(plain), &mut heap).unwrap();
        assert_eq!(encoded_size(term, with(1, false, None), NODE).unwrap().to_string(), *size);
        assert_eq!(encoded_size(term, with(0, false, None), NODE).unwrap().to_string(), *size_text);
        for (packed, level) in [(fast, 1), (best, 9)] {
            if cfg!(miri) {
                // zlib, which compresses, is C, and what inflates, zlib-rs, is reported: see `hostile`.
                continue;
            }
            let packed = bytes(packed);
            let (term, used) = read(&packed, &mut heap).unwrap();
            assert_eq!((&encoded(term, with(1, false, None)), used), (plain, packed.len()));
            let ours = encode(term, with(1, false, Some(level)), NODE).unwrap();
            assert!(ours.len() <= plain.len() / 2);
            let (term, used) = read(&ours, &mut heap).unwrap();
            assert_eq!((&encoded(term, with(1, false, None)), used), (plain, ours.len()));
        }
    }
    assert!(cases > if cfg!(miri) { 10 } else { 4000 } || lines().is_empty(), "{cases} cases");
}

#[test]
fn funs() {
    let mut cases = 0;
    for line in lines().iter().filter(|line| line[0] == "fun") {
        cases += 1;
        let mut heap = ScratchHeap::new();
        let (fun, used) = read(&bytes(&line[1]), &mut heap).unwrap();
        assert_eq!(used, line[1].len() / 2);
        assert_eq!(encoded(fun, EncodeOptions::default()), line[1]);
    }
    assert!(cases > 0 || lines().is_empty());
}

/// Tags of the form in which Erlang keeps terms in its tables; it takes them from outside too, where the numbers
/// behind them mean whatever its memory holds. Here they are refused.
const INTERNAL_TAGS: std::ops::RangeInclusive<u8> = 73..=76;

#[test]
fn damaged_bytes_are_refused_or_understood_alike() {
    let (mut refused, mut understood, mut internal, mut wrong) = (0, 0, 0, Vec::new());
    for line in lines().iter().filter(|line| line[0] == "mutant") {
        let [_, input, used, again] = &line[..] else { panic!("{line:?}") };
        let mut heap = ScratchHeap::new();
        let (our_used, our_again) = match read(&bytes(input), &mut heap) {
            Ok((term, used)) => (used.to_string(), encoded(term, EncodeOptions::default())),
            Err(_) => ("refused".to_owned(), "refused".to_owned()),
        };
        if used != "refused" && our_used == "refused" && bytes(input).iter().any(|byte| INTERNAL_TAGS.contains(byte)) {
            internal += 1;
            continue;
        }
        if used == "refused" {
            refused += 1;
        } else {
            understood += 1;
        }
        if (&our_used, &our_again) != (used, again) {
            wrong.push((input, used, again, our_used, our_again));
        }
    }
    let least = if cfg!(miri) { 5 } else { 1000 };
    assert!(
        (refused > least && understood > least) || lines().is_empty(),
        "{refused} refused, {understood} understood"
    );
    assert!(internal * 100 < refused + understood, "{internal} with internal tags");
    assert!(wrong.is_empty(), "{} differ, as {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}
