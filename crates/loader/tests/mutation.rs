//! Damaged files give errors: never a panic, and never code that breaks the loader's promises.
//!
//! `ATOLL_FUZZ_SEED` repeats a run and `ATOLL_FUZZ_SECONDS` sets its length.

mod support;

use std::time::{Duration, Instant};

use atoll_loader::{disassemble, load};
use support::assembler::{Arg::*, Assembler, Format};
use support::mutate::mutate;
use support::{Random, installed, walk};

/// A file with every table and many kinds of instructions.
fn sample(format: Format) -> Vec<u8> {
    let mut a = Assembler::new("sample");
    a.format = format;
    a.literals.push(b"\x83l\0\0\0\x01w\x06littlej".to_vec());
    a.literals.push(b"\x83t\0\0\0\x01w\x01aa\x01".to_vec());
    a.strings = b"some bytes".to_vec();
    a.imports = vec![("erlang", "error", 1), ("lists", "map", 2), ("erlang", "+", 2), ("erlang", "get", 1)];
    a.exports = vec![("f", 2, 2), ("g", 0, 12)];
    a.lambdas.push(("f", 2, 2, 1));
    a.lines = Some(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x01\x51\x12\x61\0\x05a.hrl".to_vec());

    a.function("f", 2, 1);
    a.op(153, &[U(1)]).op(13, &[U(3), Alloc(4, 1, 1), U(2)]).op(172, &[List(vec![Y(2)])]);
    a.op(64, &[X(0), Y(0)]).op(64, &[X(1), Y(1)]);
    a.op(104, &[Y(2), F(4)]).op(7, &[U(2), U(1)]).op(105, &[Y(2)]).op(61, &[F(5)]);
    a.op(1, &[U(4)]).op(106, &[Y(2)]).op(61, &[F(5)]);
    a.op(1, &[U(5)]).op(59, &[X(0), F(6), List(vec![A("a"), F(7), A("b"), F(8)])]);
    a.op(1, &[U(6)]).op(74, &[Y(0)]);
    a.op(1, &[U(7)])
        .op(136, &[U(1), U(2)])
        .op(16, &[Alloc(5, 0, 1), U(0)])
        .op(164, &[X(0), List(vec![Y(0), Y(1), I(1)])]);
    a.op(171, &[U(0), X(1), List(vec![X(0)])]).op(178, &[A("safe"), U(1), X(1)]);
    a.op(64, &[Y(0), X(1)]).op(5, &[U(2), F(2), U(2)]);
    a.op(1, &[U(8)]).op(43, &[F(6), TypedX(0, 3), Literal(1)]);
    a.op(125, &[F(0), U(1), U(2), X(0), Y(1), X(0)]).op(18, &[U(3)]).op(19, &[]);

    a.function("g", 0, 11);
    a.op(1, &[U(13)]).op(23, &[F(15), X(0)]).op(159, &[F(14), X(0), U(2), A("a")]);
    a.op(66, &[X(0), U(1), X(0)]).op(21, &[]);
    a.op(166, &[F(16), X(0), U(1), X(1)]);
    let commands = vec![
        A("ensure_at_least"),
        U(16),
        U(8),
        A("integer"),
        U(2),
        Literal(0),
        U(8),
        U(1),
        X(2),
        A("skip"),
        U(8),
        A("get_tail"),
        U(3),
        U(8),
        X(0),
    ];
    a.op(182, &[F(16), X(1), List(commands)]);
    let segments = vec![
        A("append"),
        U(1),
        U(8),
        Nil,
        X(0),
        A("all"),
        A("string"),
        U(2),
        U(8),
        Nil,
        U(0),
        I(4),
        A("integer"),
        U(3),
        U(1),
        Literal(0),
        X(2),
        I(8),
    ];
    a.op(177, &[F(0), Alloc(2, 0, 0), U(3), U(8), X(0), List(segments)]).op(19, &[]);
    a.op(1, &[U(14)]).op(24, &[F(13)]);
    a.op(1, &[U(15)]).op(26, &[F(13), I(1000)]).op(22, &[]).op(64, &[A("timeout"), X(0)]);
    a.op(78, &[U(1), U(0)]);
    a.op(1, &[U(16)]).op(96, &[Literal(1), Fr(0)]).op(98, &[F(0), Fr(0), Fr(0), Fr(1)]);
    a.op(16, &[Alloc(0, 1, 0), U(0)]).op(96, &[Fr(1), X(0)]).op(10, &[F(0), U(3), X(0), X(0)]);
    a.op(154, &[F(0), Literal(1), X(0), U(1), List(vec![A("k"), X(0)])]);
    a.op(158, &[F(11), X(0), List(vec![A("k"), X(1)])]).op(187, &[F(11), X(0), X(1), A("r")]);
    a.file()
}

/// Loads what may be damaged, and uses whatever loads.
fn try_out(bytes: &[u8], random: &mut Random) -> bool {
    let Ok(module) = load(bytes) else {
        return false;
    };
    let mut text = String::new();
    disassemble(&module, &mut text).expect("memory");
    for _ in 0..5 {
        walk::walk(&module, random);
    }
    true
}

#[test]
fn the_sample_is_good() {
    for format in [Format::Old, Format::New] {
        load(&sample(format)).expect("a good file");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let file = sample(Format::New);
    for length in 0..file.len() {
        assert!(load(&file[..length]).is_err(), "cut at {length}");
        // The form's size is made to agree, so that the cut is met further inside.
        if length >= 12 {
            let mut short = file[..length].to_vec();
            short[4..8].copy_from_slice(&(length as u32 - 8).to_be_bytes());
            try_out(&short, &mut Random::new(length as u64));
        }
    }
}

#[test]
fn any_byte_may_change() {
    let mut random = Random::new(7);
    for format in [Format::Old, Format::New] {
        let file = sample(format);
        let mut loaded = 0;
        for place in 0..file.len() {
            for value in [0, 1, 0x0f, 0x10, 0x47, 0x7f, 0x80, 0xf8, 0xff, file[place] ^ 1] {
                let mut changed = file.clone();
                changed[place] = value;
                loaded += usize::from(try_out(&changed, &mut random));
            }
        }
        // Some changes are harmless; if none were, the mutants would all die at the door.
        assert!(loaded > 0);
    }
}

#[test]
fn random_damage_for_a_while() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    // The same damage each time: `make fuzz` chooses other.
    let seed = setting("ATOLL_FUZZ_SEED").unwrap_or(1);
    let length = Duration::from_secs(setting("ATOLL_FUZZ_SECONDS").unwrap_or(5));
    println!("ATOLL_FUZZ_SEED={seed}");

    let mut random = Random::new(seed);
    let mut files = vec![sample(Format::Old), sample(Format::New)];
    let others: Vec<_> =
        installed().iter().filter_map(|path| std::fs::read(path).ok()).filter(|bytes| bytes.len() < 20_000).collect();
    if !others.is_empty() {
        files.extend((0..30).map(|_| others[random.below(others.len())].clone()));
    }

    let start = Instant::now();
    let (mut tried, mut loaded) = (0, 0);
    while start.elapsed() < length {
        for _ in 0..100 {
            let file = &files[random.below(files.len())];
            let mutant = mutate(file, |limit| random.below(limit));
            tried += 1;
            loaded += usize::from(try_out(&mutant, &mut random));
        }
    }
    println!("{tried} files tried, {loaded} of them loaded");
    assert!(tried > 0);
}
