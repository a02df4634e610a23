//! Random graphs of terms through many collections.

use atoll_heap::{Architecture, Collection, HeapOptions};
use atoll_term::{Build, Kind, OffHeapBinary, Term, atoms};

use super::{OPTIONS, Process, contents, rounds, world};

/// A small generator of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % bound.max(1) as u64) as usize
    }
}

/// What is known of a root: the hash of its contents and its flat size.
#[derive(Clone, Copy)]
struct Known {
    hash: u64,
    flat: usize,
}

const LARGEST_FLAT: usize = if cfg!(miri) { 60 } else { 3_000 };
/// Lists that are built beyond the heap's end are shorter.
const LONGEST_LIST: usize = if cfg!(miri) { 150 } else { 900 };

/// Builds a random term from the process's roots; gives its flat size.
fn build(process: &mut Process, known: &[Known], random: &mut Random) -> (Term, usize) {
    process.reserve(40);
    let pick = |process: &Process, random: &mut Random| {
        let index = random.below(process.roots.len() + 2);
        match process.roots.get(index) {
            Some(term) if known[index].flat < LARGEST_FLAT => (*term, known[index].flat),
            _ => (Term::small(random.below(1 << 20) as i64), 0),
        }
    };
    match random.below(12) {
        0..4 => {
            let (head, tail) = (pick(process, random), pick(process, random));
            (process.cons(head.0, tail.0), 2 + head.1 + tail.1)
        }
        4..7 => {
            let elements: Vec<(Term, usize)> = (0..random.below(7)).map(|_| pick(process, random)).collect();
            let terms: Vec<Term> = elements.iter().map(|element| element.0).collect();
            (process.tuple(&terms), 1 + elements.iter().map(|element| 1 + element.1).sum::<usize>())
        }
        7 => {
            let bytes: Vec<u8> = (0..random.below(200)).map(|byte| byte as u8).collect();
            (process.binary(&bytes), 10)
        }
        8 => {
            let bytes = vec![random.below(256) as u8; 65 + random.below(100)];
            let binary = process.binary(&bytes);
            (process.part_of_bits(binary, random.below(100), random.below(300)), 10)
        }
        9 => (process.float(random.below(1000) as f64), 2),
        10 => (process.big_from_limbs(random.below(2) == 0, &[random.below(1 << 60) as u64, 7, 1]), 4),
        _ => {
            let (key, value) = (pick(process, random), pick(process, random));
            let keys = process.tuple(&[atoms::OK, key.0]);
            let map = process.scanned_object(Kind::FlatMap, 0, &[keys, value.0, value.0]);
            (map, 7 + key.1 + 2 * value.1)
        }
    }
}

/// Builds, drops, pushes, pops and collects at random, and checks all contents again and again.
pub(crate) fn churn(architecture: &'static dyn Architecture, options: &HeapOptions, seed: u64, steps: usize) {
    let _running = world::enter(architecture);
    let (steps, mut random) = (rounds(steps), Random(seed));
    let mut process = Process::new(architecture, options, Term::NIL);
    let mut known = vec![Known { hash: contents(Term::NIL), flat: 0 }];
    let mut stacked: Vec<u64> = Vec::new();
    for step in 0..steps {
        match random.below(20) {
            0 if process.roots.len() > 1 => {
                let index = random.below(process.roots.len());
                process.roots.swap_remove(index);
                known.swap_remove(index);
            }
            1 if process.roots.len() > 30 => {
                process.roots.truncate(5);
                known.truncate(5);
            }
            2..4 => {
                let index = random.below(process.roots.len());
                stacked.push(known[index].hash);
                process.push(process.roots[index]);
                // A return address: any multiple of eight.
                // SAFETY: a return address has no pointer's tag.
                let address = unsafe { Term::from_word(0x7000_0000_0000 + 8 * random.below(1 << 20) as u64) };
                stacked.push(contents(address));
                process.push(address);
            }
            4 | 5 if !stacked.is_empty() && random.below(4) > 0 => {
                if let Some(hash) = stacked.pop() {
                    assert_eq!(contents(process.pop()), hash);
                }
            }
            5 => {
                // Beyond the heap's end, as built-in functions do.
                let bytes = vec![1; random.below(LONGEST_LIST)];
                let text = process.list(bytes.iter().map(|byte| Term::small(i64::from(*byte))));
                known.push(Known { hash: contents(text), flat: 2 * bytes.len() });
                process.roots.push(text);
            }
            6 if random.below(10) == 0 => {
                let request = Collection {
                    heap_words: random.below(3_000),
                    stack_words: random.below(50),
                    major: random.below(3) == 0,
                    hibernate: random.below(8) == 0,
                };
                process.collect(request).unwrap();
            }
            _ => {
                let (term, flat) = build(&mut process, &known, &mut random);
                known.push(Known { hash: contents(term), flat });
                process.roots.push(term);
            }
        }
        if step % 64 == 0 {
            for (term, known) in process.roots.iter().zip(&known) {
                assert_eq!(contents(*term), known.hash, "seed {seed}, step {step}");
            }
        }
    }
    while let Some(hash) = stacked.pop() {
        assert_eq!(contents(process.pop()), hash);
    }
}

/// Handles die and live through collections; at the end every count has been given back.
pub(crate) fn counts(architecture: &'static dyn Architecture) {
    let binary = OffHeapBinary::from_bytes(&[7; 1000], 1000);
    let _running = world::enter(architecture);
    // SAFETY: this test's own count lives until the release below.
    let head = unsafe { binary.as_ref() };
    let mut random = Random(3);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut other = Process::new(architecture, &OPTIONS, Term::NIL);
    for _ in 0..rounds(3_000) {
        process.reserve(20);
        head.retain();
        let handle = process.binary_handle(binary);
        let part = process.sub_bits(handle, 8, 80);
        match random.below(4) {
            0 => process.roots.push(part),
            1 => {
                let received = process.send_to(&mut other, part);
                other.roots.push(received);
            }
            _ => {}
        }
        if random.below(30) == 0 {
            process.roots.clear();
        }
        if random.below(50) == 0 {
            other.roots.truncate(3);
            other.collect(Collection::default()).unwrap();
        }
        if random.below(300) == 0 {
            process.collect(Collection { major: true, ..Collection::default() }).unwrap();
            assert!(process.roots.iter().all(|root| root.is_bitstring() || root.is_nil()));
        }
    }
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    other.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let live = process.roots.iter().chain(other.roots.iter()).filter(|root| root.is_bitstring()).count();
    assert_eq!(head.owners(), 1 + live);
    drop(process);
    drop(other);
    if matches!(architecture.name(), "shared" | "unified") {
        let mut last = Process::new(architecture, &OPTIONS, Term::NIL);
        last.collect(Collection { major: true, ..Collection::default() }).unwrap();
    }
    assert_eq!(head.owners(), 1);
    // SAFETY: the last count is this test's.
    unsafe { OffHeapBinary::release(binary) };
}

/// The architecture asks a process that makes and drops binaries to collect before they pile up.
pub(crate) fn pressure(architecture: &'static dyn Architecture) {
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve(10_000);
    let mut collections = 0;
    let binaries = if cfg!(miri) { 100 } else { 1_000 };
    for _ in 0..binaries {
        process.reserve(3);
        process.binary(&[1; 50_000]);
        if !process.mutator.is_calm() && architecture.wants_collection(&process.mutator) {
            process.collect(Collection::default()).unwrap();
            collections += 1;
            assert_eq!(process.mutator.off_heap_bytes, 0);
        }
        assert!(process.mutator.off_heap_bytes < 2_000_000);
    }
    assert!((binaries / 50..=binaries / 5).contains(&collections), "{collections} collections");
    // What the old generation keeps counts too: dead binaries in it are found without being asked for.
    let binary = OffHeapBinary::from_bytes(&[7; 400_000], 400_000);
    // SAFETY: this test's own count lives until the release below.
    let head = unsafe { binary.as_ref() };
    for _ in 0..50 {
        process.reserve(3);
        head.retain();
        let handle = process.binary_handle(binary);
        process.roots.push(handle);
        process.collect(Collection::default()).unwrap();
        process.collect(Collection::default()).unwrap();
        process.roots.pop();
    }
    assert!(head.owners() < 20, "{} owners", head.owners());
    // SAFETY: this test's count is given back.
    unsafe { OffHeapBinary::release(binary) };
}

#[test]
fn private_feels_the_pressure_of_binaries() {
    pressure(super::by_name("private"));
}

#[test]
fn private_keeps_random_graphs() {
    let architecture = super::by_name("private");
    for seed in 0..if cfg!(miri) { 1 } else { 6 } {
        churn(architecture, &OPTIONS, seed, 20_000);
    }
    churn(architecture, &HeapOptions { full_sweep_after: 0, ..OPTIONS }, 100, 5_000);
    churn(architecture, &HeapOptions { full_sweep_after: 3, minimum_words: 13, ..OPTIONS }, 101, 10_000);
}

#[test]
fn nogc_keeps_random_graphs() {
    churn(super::by_name("nogc"), &OPTIONS, 7, 20_000);
}

#[test]
fn private_gives_counts_back() {
    counts(super::by_name("private"));
}
