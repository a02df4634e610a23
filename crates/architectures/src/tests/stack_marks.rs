//! Stack markers of the shared heap, with frames of one slot: what an engine would see.

use atoll_heap::{Architecture, Collection, HeapOptions};
use atoll_term::{Build, Term, Word};

use super::{OPTIONS, Process, shared, shared_with, world};

const MARKER: Word = 0x6000_0000_0000;
const ADDRESS: Word = 0x7000_0000_0000;

/// A call: a frame with a list of one number, and an address that tells it.
fn call(process: &mut Process, number: usize) {
    process.reserve(2);
    let term = process.cons(Term::small(number as i64), Term::NIL);
    process.push(term);
    // SAFETY: a return address has no pointer's tag.
    process.push(unsafe { Term::from_word(ADDRESS + 8 * number as Word) });
}

/// A return, as an engine does it: gives whether it was by way of the marker.
fn return_from(process: &mut Process, number: usize) -> bool {
    let mut word = process.pop().word();
    let is_marker = word == MARKER;
    if is_marker {
        let markers = process.architecture.stack_markers().unwrap();
        word = markers.marker(&process.mutator).unwrap().1;
        // SAFETY: the test runs this process.
        unsafe { markers.cut(&mut process.mutator) };
    }
    assert_eq!(word, ADDRESS + 8 * number as Word);
    assert_eq!(process.pop().head(), Term::small(number as i64));
    is_marker
}

fn scanned(process: &mut Process) -> usize {
    let before = process.mutator.stack_words();
    process.collect(Collection::default()).unwrap();
    assert_eq!(process.mutator.stack_words(), before);
    before - crate::shared::clean_words(&process.mutator)
}

#[test]
fn what_has_not_changed_is_not_scanned() {
    let (_, _guard) = shared::shared();
    let architecture = shared_with(false);
    let placed = architecture.stack_markers().unwrap();
    placed.use_marker(MARKER);
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &HeapOptions { minimum_words: 50_000, ..OPTIONS }, Term::NIL);
    for number in 0..10_000 {
        call(&mut process, number);
    }
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    assert!(scanned(&mut process) < 2_000, "what the major collection saw is old after a minor one");
    assert!(scanned(&mut process) < 2_000);
    let mut number = 10_000;
    let mut markers = 0;
    // Down and up again in waves, each deeper than the one before.
    for wave in 1..=20 {
        for _ in 0..400 * wave {
            number -= 1;
            markers += usize::from(return_from(&mut process, number));
        }
        for round in 0..300 * wave {
            call(&mut process, number);
            number += 1;
            if round % 100 == 0 {
                scanned(&mut process);
            }
        }
        if wave % 5 == 0 {
            process.collect(Collection { major: true, ..Collection::default() }).unwrap();
        }
        if number < 400 * (wave + 1) {
            break;
        }
    }
    assert!(markers > 0);
    // An exception leaves many frames at once.
    let left = number / 2;
    process.mutator.stack = process.mutator.stack.wrapping_add(2 * (number - left));
    // SAFETY: the test runs this process.
    unsafe { placed.cut(&mut process.mutator) };
    number = left;
    scanned(&mut process);
    call(&mut process, number);
    scanned(&mut process);
    return_from(&mut process, number);
    while number > 0 {
        number -= 1;
        return_from(&mut process, number);
        if number % 500 == 0 {
            scanned(&mut process);
        }
    }
    assert!(placed.marker(&process.mutator).is_none());
}
