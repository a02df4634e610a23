//! Nurseries of the unified heap: what a process has shown nobody, it collects alone.

use atoll_heap::{Architecture, Collection, ConcurrentRoots, Message};
use atoll_term::{Build, OffHeapBinary, Term};

use super::unified::unified;
use super::{OPTIONS, Process, contents, rounds, world};
use crate::Unified;

/// A process that has a nursery.
fn begun(architecture: &'static Unified) -> Process {
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve_within_slice(8);
    assert!(architecture.has_nursery(&process.mutator));
    process
}

/// Fills more than a nursery.
fn fill(process: &mut Process) {
    for round in 0..1_000 {
        process.reserve_within_slice(100);
        process.list((0..50).map(|index| Term::small(round * index)));
    }
}

/// Allocates until the process has a nursery, and more than a few words free.
fn begins(architecture: &Unified, process: &mut Process) -> bool {
    (0..10_000).any(|_| {
        process.reserve(100);
        process.list((0..50).map(Term::small));
        process.mutator.free_words() >= 8 && architecture.has_nursery(&process.mutator)
    })
}

/// A list of small integers among the roots, and the hash of what is in it.
fn rooted(process: &mut Process) -> u64 {
    process.reserve_within_slice(200);
    let list = process.list((0..100).map(Term::small));
    process.roots.push(list);
    contents(list)
}

fn out(architecture: &Unified, process: &mut Process) {
    // SAFETY: this thread has run the process, whose terms are roots.
    unsafe { architecture.schedule_out(&mut process.mutator) }
}

fn back(architecture: &Unified, process: &mut Process) {
    // SAFETY: this thread runs the process, whose terms are roots.
    unsafe { architecture.schedule_in(&mut process.mutator) }
}

/// Without a cycle, dead objects with parts outside of the heap give these back, and the memory is used again.
#[test]
fn what_nobody_was_shown_dies_without_a_cycle() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let binary = OffHeapBinary::from_bytes(&[7; 1000], 1000);
    // SAFETY: this test's own count lives until the release below.
    let head = unsafe { binary.as_ref() };
    let mut process = begun(architecture);
    let expected = rooted(&mut process);
    let before = architecture.progress();
    for round in 0..rounds(3_000) {
        process.reserve_within_slice(40);
        head.retain();
        let handle = process.binary_handle(binary);
        let part = process.sub_bits(handle, 8, 80);
        let part = process.cons(part, Term::NIL);
        if round % 100 == 0 {
            process.roots.push(part);
        }
    }
    let kept = process.roots.len() - 2;
    // What was made since the last collection is less than a nursery.
    assert!((kept + 1..kept + 700).contains(&head.owners()), "{} owners of {kept}", head.owners());
    assert_eq!(architecture.progress().0, before.0);
    assert_eq!(contents(process.roots[1]), expected);
    assert!(process.roots[2..].iter().all(|list| list.head().is_bitstring()));
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    assert_eq!(head.owners(), 1 + kept);
    drop(process);
    let mut last = Process::new(architecture, &OPTIONS, Term::NIL);
    last.collect(Collection { major: true, ..Collection::default() }).unwrap();
    assert_eq!(head.owners(), 1);
    // SAFETY: the last count is this test's.
    unsafe { OffHeapBinary::release(binary) };
}

/// A loop that allocates in built-in functions alone is never short of room where it is collected. All of what this one
/// allocates is some 250 times as much as what a cycle begins for.
#[test]
fn what_functions_allocate_dies_without_cycles_too() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let expected = rooted(&mut process);
    let before = architecture.progress();
    for _ in 0..rounds(40_000) {
        process.list((0..50).map(Term::small));
        if !process.mutator.is_calm() && architecture.wants_collection(&process.mutator) {
            process.hear();
            process.collect(Collection { stack_words: 1, ..Collection::default() }).unwrap();
        }
    }
    let cycles = architecture.progress().0 - before.0;
    assert!(cycles < 10, "{cycles} cycles");
    assert_eq!(contents(process.roots[1]), expected);
}

#[test]
fn what_others_have_been_shown_stays_where_it_is() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut receiver = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut sender = begun(architecture);
    let expected = rooted(&mut sender);
    let message = architecture.send(&mut sender.mutator, sender.roots[1]);
    assert!(!architecture.has_nursery(&sender.mutator));
    fill(&mut sender);
    assert_eq!(contents(message.term()), expected);
    let received = receiver.take(message);
    receiver.roots.push(received);

    let expected = rooted(&mut sender);
    fill(&mut sender);
    rooted(&mut sender);
    let row = architecture.store(&mut sender.mutator, sender.roots[2]);
    // SAFETY: it was made just now, and is given up below.
    unsafe { architecture.link_stored(row) };
    sender.roots.clear();
    fill(&mut sender);
    // SAFETY: as above.
    assert_eq!(contents(unsafe { row.as_ref() }.term()), expected);
    // SAFETY: nobody uses it any more.
    unsafe { architecture.discard_stored(row) };
    assert_eq!(contents(receiver.roots[1]), expected);
}

#[test]
fn messages_from_outside_of_the_heap_are_not_in_a_nursery() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let message = Message::compose(|heap| heap.list((0..100).map(Term::small)));
    // SAFETY: the process has the message, whose term nobody else holds.
    assert!(unsafe { architecture.receive(&mut process.mutator, &message) });
    let expected = contents(message.term());
    // It may stay in the mailbox.
    fill(&mut process);
    assert_eq!(contents(message.term()), expected);
    message.free_empty();
}

/// What is allocated first after a stopped world, such as the answer to who asked for the collection, asks for no
/// other.
#[test]
fn a_process_without_a_buffer_gets_one_and_is_calm() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    process.collect(Collection { major: true, stack_words: 1, ..Collection::default() }).unwrap();
    process.tuple(&[Term::NIL; 3]);
    assert!(process.mutator.is_calm());
}

/// A built-in function that cannot collect gets other buffers, and may complete an object of the first one then.
#[test]
fn a_nursery_goes_on_where_a_function_gets_more_room() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    // A large object does not become part of it: nobody is to copy that.
    for (elements, goes_on) in [(10, true), (1_000, true), (1_900, true), (20_000, false)] {
        assert!(begins(architecture, &mut process));
        let tuple = process.tuple(&[Term::NIL]);
        let mut list = Term::NIL;
        for number in 0..elements {
            list = process.cons(Term::small(number), list);
        }
        assert_eq!(architecture.has_nursery(&process.mutator), goes_on);
        // SAFETY: the tuple has one element, and nobody else uses it.
        unsafe { *tuple.word_pointer(0) = list.word() };
        let expected = contents(list);
        process.roots.push(tuple);
        fill(&mut process);
        fill(&mut process);
        let tuple = process.roots.pop().unwrap();
        assert_eq!(contents(tuple.tuple_elements().unwrap()[0]), expected);
    }
}

/// Another process gets the buffer, or something is allocated in it for one that does not run.
#[test]
fn a_nursery_ends_where_the_buffer_serves_others() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let expected = rooted(&mut process);
    out(architecture, &mut process);
    let mut other = Process::new(architecture, &OPTIONS, Term::NIL);
    assert_eq!(rooted(&mut other), expected);
    out(architecture, &mut other);
    back(architecture, &mut process);
    fill(&mut process);
    assert_eq!([contents(process.roots[1]), contents(other.roots[1])], [expected; 2]);

    rooted(&mut process);
    assert!(architecture.has_nursery(&process.mutator));
    out(architecture, &mut process);
    let list = other.list((0..100).map(Term::small));
    other.roots.push(list);
    back(architecture, &mut process);
    fill(&mut process);
    let roots = [process.roots[1], process.roots[2], other.roots[1], other.roots[2]];
    assert_eq!(roots.map(contents), [expected; 4]);
    back(architecture, &mut other);
}

/// A process may be collected while it does not run, when it has lent its buffer back.
#[test]
fn who_does_not_run_has_no_nursery() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let expected = rooted(&mut process);
    out(architecture, &mut process);
    assert!(!architecture.has_nursery(&process.mutator));
    process.mutator.off_heap_bytes = 1 << 20;
    process.collect(Collection::default()).unwrap();
    process.collect(Collection { heap_words: 8, ..Collection::default() }).unwrap();
    back(architecture, &mut process);
    fill(&mut process);
    assert_eq!(contents(process.roots[1]), expected);
}

/// What a process has allocated elsewhere may refer into a nursery that it had here.
#[test]
fn a_nursery_ends_when_its_process_runs_elsewhere() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let expected = rooted(&mut process);
    out(architecture, &mut process);
    let handed = Handed(&mut process);
    let elsewhere = || handed.run(architecture);
    std::thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
    back(architecture, &mut process);
    fill(&mut process);
    assert_eq!(contents(process.roots[1].head()), expected);
}

/// Many a thread wakes for a moment, and loses what it leaves of a buffer.
#[test]
fn a_thread_that_slept_takes_short_buffers_first() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let short = 16 * 32;
    let takes_long = |process: &mut Process| {
        (0..100).any(|_| {
            process.reserve_within_slice(100);
            process.list((0..50).map(Term::small));
            process.mutator.free_words() > short
        })
    };
    for _ in 0..3 {
        assert!(takes_long(&mut process));
        out(architecture, &mut process);
        architecture.thread_sleeps();
        back(architecture, &mut process);
        process.reserve_within_slice(8);
        assert!(process.mutator.free_words() <= short);
    }
}

/// A process that one thread at a time uses.
struct Handed<'a>(&'a mut Process);

// SAFETY: the thread that hands it over waits for the other one.
unsafe impl Send for Handed<'_> {}

impl Handed<'_> {
    /// Runs the process on this thread, which is to sleep then.
    fn run(self, architecture: &'static Unified) {
        super::enter_for(architecture);
        let process = self.0;
        back(architecture, process);
        process.reserve_within_slice(2);
        let list = process.cons(process.roots[1], Term::NIL);
        process.roots[1] = list;
        process.reserve_within_slice(400);
        assert!(architecture.has_nursery(&process.mutator));
        out(architecture, process);
        architecture.thread_sleeps();
    }
}

/// While a cycle is on, it is the cycle that finds what is dead.
#[test]
fn a_nursery_ends_when_a_cycle_begins() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = begun(architecture);
    let before = architecture.progress().0;
    architecture.begin();
    assert!(!architecture.has_nursery(&process.mutator));
    rooted(&mut process);
    process.reserve_within_slice(10_000);
    assert!(!architecture.has_nursery(&process.mutator));
    // Others begin, and between two of them there is one again.
    assert!(begins(architecture, &mut process));
    assert!(architecture.progress().0 > before);
}
