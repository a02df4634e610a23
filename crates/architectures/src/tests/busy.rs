//! Processes of `private` that are collected often in a time slice get more room, as long as there is some to lend.

use atoll_heap::HeapOptions;
use atoll_term::{Build, Term};

use super::{OPTIONS, Process, private};

/// Fills the heap until it was collected so many times.
fn fill(process: &mut Process, collections: usize) {
    for _ in 0..collections {
        let free = process.mutator.free_words();
        for _ in 0..free / 2 {
            process.cons(Term::NIL, Term::NIL);
        }
        process.reserve(2);
    }
}

/// The process's time slice ends, and the next begins.
fn next_slice(process: &mut Process) {
    // SAFETY: the test runs this process.
    unsafe {
        process.architecture.schedule_out(&mut process.mutator);
        process.architecture.schedule_in(&mut process.mutator);
    }
}

fn block(process: &Process) -> usize {
    process.architecture.sizes(&process.mutator).young_block
}

#[test]
fn a_process_that_is_collected_often_has_room_for_as_long_as_it_is() {
    let architecture = private();
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    for _ in 0..8 {
        fill(&mut process, 1);
        next_slice(&mut process);
    }
    assert!(block(&process) <= 233, "one collection in a slice: {} words", block(&process));
    fill(&mut process, 20);
    assert!((2_000..9_000).contains(&block(&process)), "twenty in a slice: {} words", block(&process));
    assert!(architecture.lent() >= block(&process));
    for _ in 0..4 {
        next_slice(&mut process);
    }
    fill(&mut process, 1);
    assert!(block(&process) <= 377, "one in five slices: {} words", block(&process));
    assert_eq!(architecture.lent(), 0);
}

#[test]
fn processes_that_wait_with_room_do_not_get_more_than_there_is_to_lend() {
    let architecture = private();
    let mut waiting = Vec::new();
    for _ in 0..2_000 {
        let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
        fill(&mut process, 20);
        waiting.push(process);
    }
    let words: usize = waiting.iter().map(block).sum();
    assert!(words < (1 << 22) + 2_000 * 610, "{words} words");
    assert!(block(&waiting[0]) > 2_000);
    assert!(block(&waiting[1_999]) <= 610, "the last: {} words of {words}", block(&waiting[1_999]));
    drop(waiting);
    assert_eq!(architecture.lent(), 0);
}

#[test]
fn a_process_with_a_limit_has_no_more_room_than_it_needs() {
    let architecture = private();
    let options = HeapOptions { maximum_words: 100_000, ..OPTIONS };
    let mut process = Process::new(architecture, &options, Term::NIL);
    fill(&mut process, 20);
    assert!(block(&process) <= 233);
}
