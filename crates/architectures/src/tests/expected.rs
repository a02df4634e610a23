//! Sizes of first blocks, as processes that began alike lead to expect.

use atoll_heap::{Architecture, Collection, HeapOptions};
use atoll_term::{Build, Term};

use super::{OPTIONS, Process};

fn begun(architecture: &'static dyn Architecture, name: &str, options: &HeapOptions) -> Process {
    let mut process = Process::new(architecture, options, Term::NIL);
    let function = (Term::atom(1), Term::atom(name.bytes().fold(0, |sum, byte| sum * 7 + u32::from(byte))));
    architecture.first_blocks().unwrap().begins(&mut process.mutator, function, Term::NIL);
    process
}

/// Builds a list of `words` words that lives, 20 at a time, and says how often the process was collected or moved.
fn build(process: &mut Process, words: usize) -> usize {
    let mut moved = 0;
    for _ in 0..words / 20 {
        let before = process.mutator.stack_base;
        process.reserve(20);
        moved += usize::from(process.mutator.stack_base != before);
        let list = process.roots[0];
        process.roots[0] = (0..10).fold(list, |list, number| process.cons(Term::small(number), list));
    }
    moved
}

fn block(process: &Process) -> usize {
    process.architecture.sizes(&process.mutator).young_block
}

#[test]
fn a_process_gets_the_heap_that_those_like_it_needed() {
    for name in ["private", "hybrid"] {
        let architecture = super::by_name(name);
        let mut moved: Vec<usize> = (0..8).map(|_| build(&mut begun(architecture, name, &OPTIONS), 2_000)).collect();
        assert!(moved[0] > 3, "{moved:?}");
        assert_eq!(moved.pop(), Some(1), "{moved:?}");
        // Others do not, nor do those with a limit, nor does a process that has not asked for any room.
        let mut other = begun(architecture, "another", &OPTIONS);
        other.reserve(20);
        assert_eq!(block(&other), 233);
        let mut limited = begun(architecture, name, &HeapOptions { maximum_words: 100_000, ..OPTIONS });
        limited.reserve(20);
        assert_eq!(block(&limited), 233);
        assert!(block(&begun(architecture, name, &OPTIONS)) < 20);
    }
}

#[test]
fn a_crowd_is_lent_a_megabyte_and_small_ones_lower_what_is_expected() {
    let architecture = super::by_name("private");
    for _ in 0..8 {
        build(&mut begun(architecture, "crowd", &OPTIONS), 2_000);
    }
    let crowd = |members: usize| {
        let begin = |_| {
            let mut process = begun(architecture, "crowd", &OPTIONS);
            process.reserve(20);
            process
        };
        let crowd: Vec<Process> = (0..members).map(begin).collect();
        crowd.iter().map(block).sum::<usize>()
    };
    let words = crowd(1_000);
    assert!((1_000 * 233 + 100_000..1_000 * 233 + (1 << 17)).contains(&words), "{words}");
    // What was lent came back, but the crowd used little.
    assert_eq!(crowd(1), 233);
}

#[test]
fn one_large_process_among_small_ones_does_not_count() {
    let architecture = super::by_name("private");
    for _ in 0..50 {
        build(&mut begun(architecture, "mixed", &OPTIONS), 8_000);
        for _ in 0..100 {
            build(&mut begun(architecture, "mixed", &OPTIONS), 100);
        }
    }
    let mut process = begun(architecture, "mixed", &OPTIONS);
    process.reserve(20);
    assert_eq!(block(&process), 233);
}

#[test]
fn a_first_block_is_moved_with_all_that_points_into_it() {
    for name in ["private", "hybrid"] {
        let architecture = super::by_name(name);
        let mut heap = atoll_term::ScratchHeap::new();
        let binary = heap.binary(&[7; 1_000]);
        let list = heap.list([binary, Term::small(1), binary]);
        let mut process = Process::new(architecture, &OPTIONS, list);
        let (before, contents) = (process.roots[0], super::contents(list));
        process.push(before);
        process.reserve(100);
        assert_ne!(process.roots[0].word(), before.word());
        assert_eq!(process.pop().word(), process.roots[0].word());
        assert_eq!(super::contents(process.roots[0]), contents);
        process.collect(atoll_heap::Collection { major: true, ..Default::default() }).unwrap();
        assert_eq!(super::contents(process.roots[0]), contents);
    }
}

#[test]
fn a_process_gets_the_stack_that_those_like_it_needed() {
    let stack = |process: &Process| crate::common::stack::block_words(&process.mutator);
    for name in ["shared", "unified"] {
        let architecture = super::by_name(name);
        let mut first = begun(architecture, "deep", &OPTIONS);
        let least = stack(&first);
        (0..15).for_each(|number| first.push(Term::small(number)));
        assert!(stack(&first) >= 15 && least < 15, "{name}: {least}");
        let second = begun(architecture, "deep", &OPTIONS);
        assert_eq!(stack(&second), stack(&first), "{name}");
        assert_eq!(stack(&begun(architecture, "flat", &OPTIONS)), least, "{name}");
        (0..15).rev().for_each(|number| assert_eq!(first.pop(), Term::small(number), "{name}"));
        // One that will sleep for long gives back what it does not use.
        first.collect(Collection { hibernate: true, ..Collection::default() }).unwrap();
        assert_eq!(stack(&first), least, "{name}");
    }
}
