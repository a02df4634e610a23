//! A soak: threads build, share and drop graphs in one heap for a while, check what they read, and print the pauses.
//!
//! `soak [SECONDS] [MEGABYTES] [THREADS]`, 600 seconds, 256 MB and 2 threads unless said otherwise. Ends with an error
//! if anything was found damaged.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use treadmill::{Config, Edge, Heap, Mutator, OutOfMemory, Pause, Root, Trace};

#[derive(Trace)]
struct Node {
    key: u64,
    check: u64,
    left: Edge<Node>,
    right: Edge<Node>,
    data: Edge<[u64]>,
}

const SHELVES: usize = 512;

fn check_of(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

fn tree<'m>(mutator: &'m Mutator, key: u64, depth: u32) -> Result<Root<'m, Node>, OutOfMemory> {
    let node = mutator.allocate(Node {
        key,
        check: check_of(key),
        left: Edge::null(),
        right: Edge::null(),
        data: Edge::null(),
    })?;
    let length = (key % 37) as usize + if key.is_multiple_of(997) { 3000 } else { 0 };
    let data = mutator.allocate_array(length, |index| key ^ index as u64)?;
    let mut linked = node.data.set(mutator, Some(&data)).is_ok();
    if depth > 0 {
        let left = tree(mutator, key.wrapping_mul(3) + 1, depth - 1)?;
        linked &= node.left.set(mutator, Some(&left)).is_ok();
        let right = tree(mutator, key.wrapping_mul(5) + 2, depth - 1)?;
        linked &= node.right.set(mutator, Some(&right)).is_ok();
    }
    assert!(linked, "all of it is in one heap");
    Ok(node)
}

/// Nodes found, or `None` if one is damaged.
fn walk(mutator: &Mutator, node: &Root<'_, Node>) -> Option<u64> {
    let data = node.data.get(mutator)?;
    let sound = node.check == check_of(node.key)
        && data.iter().enumerate().all(|(index, word)| *word == node.key ^ index as u64);
    let mut count = sound.then_some(1)?;
    for edge in [&node.left, &node.right] {
        if let Some(child) = edge.get(mutator) {
            count += walk(mutator, &child)?;
        }
    }
    Some(count)
}

fn show(pauses: &[Pause]) {
    for pause in pauses.iter().take(15) {
        println!("  at {:?}: {:?}, {:?}, {:?}", pause.at, pause.length, pause.cause, pause.effort);
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap_or(0));
    let seconds = arguments.next().unwrap_or(600);
    let megabytes = arguments.next().unwrap_or(256).max(1);
    let threads = arguments.next().unwrap_or(2).max(1);
    let heap = match Heap::new(&Config::best(megabytes as usize * 1_000_000)) {
        Ok(heap) => heap,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    heap.measure_processor_time(true);
    let (walked, damaged, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut first = heap.mutator();
    let shelves = first.allocate_array(SHELVES, |_| Edge::<Node>::null()).ok().and_then(|root| first.global(&root));
    let Some(shelves) = shelves else {
        eprintln!("the heap is too small");
        return ExitCode::FAILURE;
    };
    // About half of the heap stays live: a shelf holds a tree of some kilobytes.
    let depth = (megabytes * 1_000_000 / 2 / SHELVES as u64 / 350).max(1).ilog2();
    first.park(|| {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (heap, shelves) = (heap.clone(), &shelves);
                let (walked, damaged, refused) = (&walked, &damaged, &refused);
                scope.spawn(move || {
                    let mutator = heap.mutator();
                    let Some(shelves) = shelves.local(&mutator) else { return };
                    let mut key = thread + 1;
                    while Instant::now() < deadline {
                        key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let shelf = &shelves[(key >> 33) as usize % SHELVES];
                        match tree(&mutator, key >> 8, depth) {
                            Ok(root) => assert!(shelf.set(&mutator, Some(&root)).is_ok(), "one heap"),
                            Err(_) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                                assert!(shelf.set(&mutator, None).is_ok(), "one heap");
                            }
                        }
                        let other = &shelves[(key >> 43) as usize % SHELVES];
                        if let Some(root) = other.get(&mutator) {
                            match walk(&mutator, &root) {
                                Some(count) => walked.fetch_add(count, Ordering::Relaxed),
                                None => damaged.fetch_add(1, Ordering::Relaxed),
                            };
                        }
                    }
                });
            }
        });
    });
    let sound = first.verify();
    let statistics = heap.statistics();
    println!(
        "{seconds} s, {threads} threads, {megabytes} MB: {} MB allocated in {} objects, {} collections, {} nodes checked",
        statistics.bytes / 1_000_000,
        statistics.objects,
        statistics.collections,
        walked.load(Ordering::Relaxed)
    );
    println!(
        "longest pause {:?} ({:?} of processor time, {:?} where not preempted), {} preempted, {} above the bound, {} allocations refused",
        statistics.longest_pause,
        statistics.longest_processor,
        statistics.longest_undisturbed,
        statistics.preempted_pauses,
        statistics.pauses_above_bound,
        refused.load(Ordering::Relaxed)
    );
    for (power, count) in statistics.histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
        println!("  from {:>12?}: {count}", Duration::from_nanos(1 << power));
    }
    let mut pauses = heap.pauses();
    pauses.sort_by_key(|pause| std::cmp::Reverse(pause.effort.map(|effort| effort.processor)));
    println!("those with the most processor time:");
    show(&pauses);
    pauses.sort_by_key(|pause| std::cmp::Reverse(pause.length));
    println!("the longest by the clock on the wall, of the {} with the most processor time:", pauses.len());
    show(&pauses);
    if let Err(violation) = &sound {
        eprintln!("{violation}");
    }
    if damaged.load(Ordering::Relaxed) > 0 || sound.is_err() {
        eprintln!("{} damaged trees", damaged.load(Ordering::Relaxed));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
