//! Large heaps of `private`, collected in slices while their process goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use atoll_heap::counters::counters;
use atoll_heap::lanes::Kind as Of;
use atoll_heap::{Architecture, Collection, HeapOptions};
use atoll_term::{Build, Kind, Term, Word};

use super::random::{churn, counts};
use super::{OPTIONS, Process, contents, enter, real_words, rounds, verified, world};

/// `private` with heaps that count as large above this many words, and slices as short as can be.
fn private(above: usize, step: usize) -> &'static dyn Architecture {
    let private = super::private();
    private.set_slices(above, 0, step);
    private
}

#[test]
fn random_graphs_outlive_cycles() {
    let all = [(1, 64, 1), (2, 200, 7), (3, 200, 64), (4, 1_000, 20), (5, 500, 5_000)];
    for (seed, above, step) in all.into_iter().take(if cfg!(miri) { 2 } else { 5 }) {
        churn(private(above, step), &OPTIONS, seed, 20_000);
    }
    churn(private(100, 3), &HeapOptions { full_sweep_after: 0, ..OPTIONS }, 100, 5_000);
    churn(private(100, 9), &HeapOptions { full_sweep_after: 5, minimum_words: 13, ..OPTIONS }, 101, 10_000);
}

#[test]
fn cycles_give_counts_back() {
    counts(private(64, 1));
    counts(private(300, 50));
}

/// A tree of tuples with a list at each leaf; the depth bounds its size.
fn tree(process: &mut Process, depth: usize) -> Term {
    if depth == 0 {
        process.reserve(40);
        return process.list((0..20).map(Term::small));
    }
    let left = tree(process, depth - 1);
    process.push(left);
    let right = tree(process, depth - 1);
    process.push(right);
    process.reserve(3);
    let (right, left) = (process.pop(), process.pop());
    process.tuple(&[left, right])
}

#[test]
fn a_large_heap_is_collected_while_it_changes() {
    let architecture = private(if cfg!(miri) { 500 } else { 2_000 }, 100);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let old = tree(&mut process, if cfg!(miri) { 4 } else { 8 });
    process.roots.push(old);
    let hash = contents(old);
    let majors = counters().lanes.collections(Of::Major).count;
    // Trees come and go; half of each lives for ten rounds.
    let mut kept: Vec<u64> = Vec::new();
    for round in 0..if cfg!(miri) { 100 } else { 200 } {
        let new = tree(&mut process, if cfg!(miri) { 2 } else { 5 });
        let half = new.tuple_elements().unwrap()[round % 2];
        process.roots.push(half);
        kept.push(contents(half));
        if kept.len() > 10 {
            process.roots.remove(2);
            kept.remove(0);
        }
        for (term, hash) in process.roots[2..].iter().zip(&kept) {
            assert_eq!(contents(*term), *hash, "round {round}");
        }
    }
    assert_eq!(contents(process.roots[1]), hash);
    assert!(counters().lanes.collections(Of::Major).count > majors + 3, "cycles have ended");
    let live: usize = process.roots.iter().map(|term| real_words(*term)).sum();
    let sizes = architecture.sizes(&process.mutator);
    assert!(sizes.old_used >= live / 2 && sizes.old_used < 6 * live, "{} for {live}", sizes.old_used);
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let sizes = architecture.sizes(&process.mutator);
    assert_eq!(sizes.old_used + sizes.young_used, live);
}

/// While a heap grows, its cycles copy nothing, and its young generation is short; when most has died, they copy the
/// rest.
#[test]
#[cfg_attr(miri, ignore = "a heap that tells whether it grows takes Miri too long")]
fn what_stayed_while_all_lived_is_given_back_when_it_dies() {
    let (above, rounds) = (50_000, 4_000);
    let architecture = private(above, 100);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let majors = counters().lanes.collections(Of::Major).count;
    for _ in 0..rounds {
        let new = tree(&mut process, 2);
        process.roots.push(new);
    }
    let live: usize = process.roots.iter().map(|term| real_words(*term)).sum();
    let hash = contents(process.roots[rounds / 2]);
    let grown = architecture.sizes(&process.mutator);
    assert!(grown.old_block < 2 * live, "{} words for {live}", grown.old_block);
    // Half of the roots' words may be free.
    assert!(grown.young_block < above / 4 / 8 * 4 + rounds, "{} words are young", grown.young_block);
    assert!(counters().lanes.collections(Of::Major).count > majors, "cycles have ended");
    process.roots.drain(1..rounds / 2);
    process.roots.truncate(2);
    // Enough becomes old for cycles to follow.
    for _ in 0..2 * rounds {
        let new = tree(&mut process, 2);
        process.roots.insert(2, new);
        process.roots.truncate(rounds / 20);
    }
    assert_eq!(contents(process.roots[1]), hash);
    let sizes = architecture.sizes(&process.mutator);
    assert!(sizes.old_block < grown.old_block / 2, "{} words are left of {}", sizes.old_block, grown.old_block);
}

/// Garbage that became old later than what lives is freed without a copy of that.
#[test]
#[cfg_attr(miri, ignore = "a heap that tells whether it grows takes Miri too long")]
fn what_is_oldest_stays_while_garbage_behind_it_is_freed() {
    let (above, rounds) = (50_000, 2_000);
    let architecture = private(above, 100);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    for _ in 0..rounds {
        let new = tree(&mut process, 2);
        process.roots.push(new);
    }
    let (place, hash) = (process.roots[1].pointer(), contents(process.roots[1]));
    let live: usize = process.roots.iter().map(|term| real_words(*term)).sum();
    let first = process.roots.len();
    // Enough becomes old for several cycles.
    for _ in 0..10 * rounds {
        let new = tree(&mut process, 2);
        process.roots.insert(first, new);
        process.roots.truncate(first + rounds / 20);
    }
    assert_eq!((process.roots[1].pointer(), contents(process.roots[1])), (place, hash));
    let sizes = architecture.sizes(&process.mutator);
    // Eleven times as many became old.
    assert!(sizes.old_block < 6 * live, "{} words for {live}", sizes.old_block);
}

#[test]
fn a_major_collection_that_is_asked_for_gives_a_cycle_up() {
    let architecture = private(500, 1);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    for round in 0..if cfg!(miri) { 15 } else { 60 } {
        let term = tree(&mut process, 3 + round % 3);
        process.roots.push(term);
        if process.roots.len() > 12 {
            process.roots.remove(1);
        }
        if round % 7 == 3 {
            let hibernate = round % 2 == 0;
            let hashes: Vec<u64> = process.roots.iter().map(|term| contents(*term)).collect();
            process.collect(Collection { major: true, hibernate, ..Collection::default() }).unwrap();
            let live: usize = process.roots.iter().map(|term| real_words(*term)).sum();
            let sizes = architecture.sizes(&process.mutator);
            assert_eq!(sizes.old_used + sizes.young_used, live);
            assert_eq!(process.roots.iter().map(|term| contents(*term)).collect::<Vec<_>>(), hashes);
        }
    }
}

#[test]
fn a_match_context_may_move_on_during_a_cycle() {
    let architecture = private(200, 8);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve(50);
    let bits = process.binary(&[9; 40]);
    let hash = contents(bits);
    let context =
        process.scanned_object(Kind::MatchContext, 0, &[Term::small(0), Term::small(0), Term::small(320), bits]);
    process.roots.push(context);
    for position in 1..rounds(2_000) as i64 {
        // As an instruction that reads bits does.
        let context = process.roots[1];
        // SAFETY: the second word is the position.
        unsafe { *context.word_pointer(1) = Term::small(position).word() as Word };
        let garbage = tree(&mut process, 2);
        process.roots.push(garbage);
        if process.roots.len() > 40 {
            process.roots.truncate(3);
        }
        process.collect(Collection::default()).unwrap();
        let terms = process.roots[1].boxed_terms();
        assert_eq!((terms[1], terms[2]), (Term::small(position), Term::small(320)));
        assert_eq!(contents(terms[3]), hash);
    }
}

/// Works for the heap as schedulers do that have nothing to run, until it is dropped.
struct Helper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Helper {
    fn of(architecture: &'static dyn Architecture) -> Helper {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            enter();
            let work = architecture.idle_work().unwrap();
            let mut count = 0;
            while !stopped.load(Ordering::Relaxed) {
                // SAFETY: this thread holds no term.
                count += usize::from(unsafe { work.work() });
                std::thread::yield_now();
            }
            architecture.concurrent_roots().into_iter().for_each(|collector| collector.thread_sleeps());
            count
        });
        Helper { stop, thread: Some(thread) }
    }

    /// How often it had something to do.
    fn ends(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

#[test]
fn other_threads_help_while_a_process_changes_its_heap_and_sends_of_it() {
    help(private(if cfg!(miri) { 200 } else { 2_000 }, if cfg!(miri) { 50 } else { 10 }));
    // `hybrid` reserves more addresses than Miri can give.
    if cfg!(miri) {
        return;
    }
    let hybrid: &crate::Hybrid = Box::leak(Box::new(crate::Hybrid::new(&verified()).unwrap()));
    hybrid.set_slices(2_000, 0, 10);
    help(hybrid);
}

fn help(architecture: &'static dyn Architecture) {
    let _running = world::enter(architecture);
    let helpers = [Helper::of(architecture), Helper::of(architecture)];
    let mut helped = 0;
    for repeat in 0..if cfg!(miri) { 1 } else { 10 } {
        let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
        let mut receiver = Process::new(architecture, &OPTIONS, Term::NIL);
        let old = tree(&mut process, if cfg!(miri) { 5 } else { 9 });
        process.roots.push(old);
        let hash = contents(old);
        let bits = process.binary(&[9; 40]);
        let context =
            process.scanned_object(Kind::MatchContext, 0, &[Term::small(0), Term::small(0), Term::small(320), bits]);
        process.roots.push(context);
        for round in 0..if cfg!(miri) { 6 } else { 100 + repeat } {
            let new = tree(&mut process, if cfg!(miri) { 3 } else { 5 });
            process.roots.push(new);
            if process.roots.len() > 10 {
                process.roots.remove(3);
            }
            let context = process.roots[2];
            // SAFETY: the second word is the position, which an instruction that reads bits changes like this.
            unsafe { AtomicU64::from_ptr(context.word_pointer(1)) }.store(Term::small(round).word(), Ordering::Relaxed);
            for turn in 0..if cfg!(miri) { 2 } else { 10 } {
                // Its parts are the same, so that objects are marked while it is copied. They are different ones each
                // time, and deep in it, for `hybrid` looks for copies that it has.
                process.reserve(100);
                let path = round * 10 + turn;
                let deeper = |term: Term, level: i64| term.tuple_elements().unwrap()[(path >> level & 1) as usize];
                let half = (0..if cfg!(miri) { 2 } else { 5 }).fold(process.roots[1], deeper);
                let twice = process.tuple(&[half, half]);
                let twice = process.tuple(&[Term::NIL, twice]);
                let twice = process.tuple(&[Term::NIL, twice]);
                let whole = contents(twice);
                let is_whole = |term: Term| contents(term) == whole;
                let stored = super::stored::store(architecture, &mut process, twice);
                // SAFETY: the test's own, which it uses no more once it is discarded.
                unsafe {
                    assert!(is_whole(stored.as_ref().term()), "round {round}");
                    architecture.discard_stored(stored);
                }
                let sent = process.send_to(&mut receiver, twice);
                assert!(is_whole(sent), "round {round}");
            }
            receiver.collect(Collection { major: true, ..Collection::default() }).unwrap();
            assert_eq!(contents(process.roots[1]), hash, "round {round}");
            assert_eq!(process.roots[2].boxed_terms()[1], Term::small(round));
        }
        // Half of them end in the middle of a cycle.
        if repeat % 2 == 0 {
            process.collect(Collection { major: true, ..Collection::default() }).unwrap();
            assert_eq!(contents(process.roots[1]), hash);
        }
    }
    for helper in helpers {
        helped += helper.ends();
    }
    assert!(helped > 0, "nobody helped");
}
