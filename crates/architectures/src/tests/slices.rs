//! Large heaps of `private`, collected in slices while their process goes on.

use atoll_heap::counters::counters;
use atoll_heap::lanes::Kind as Of;
use atoll_heap::{Architecture, Collection, HeapOptions};
use atoll_term::{Build, Kind, Term, Word};

use super::random::{churn, counts};
use super::{OPTIONS, Process, contents, real_words, rounds};

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
    let architecture = private(2_000, 100);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let old = tree(&mut process, if cfg!(miri) { 6 } else { 8 });
    process.roots.push(old);
    let hash = contents(old);
    let majors = counters().lanes.collections(Of::Major).count;
    // Trees come and go; half of each lives for ten rounds.
    let mut kept: Vec<u64> = Vec::new();
    for round in 0..if cfg!(miri) { 80 } else { 200 } {
        let new = tree(&mut process, if cfg!(miri) { 3 } else { 5 });
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
