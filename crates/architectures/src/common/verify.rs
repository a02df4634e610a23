//! The verifier's core: walks runs of whole objects and root words, and ends the run at the first word that breaks a
//! rule.
//!
//! Invariants of every heap:
//! * H1: a boxed pointer leads to a header, a cons pointer to none.
//! * H2: objects end inside their block, and have as many words as their kind can have.
//! * H3: no header, and nothing that a collector has put in its place, lies inside a scanned object.

use std::fmt::{self, Display, Formatter};

use atoll_heap::{Mutator, pid_of};
use atoll_platform::ending;
use atoll_term::{Header, Kind, Term, Word, text};

const H1: &str = "H1 (a boxed pointer leads to a header, a cons to none)";
const H2: &str = "H2 (objects end inside their block)";
const H3: &str = "H3 (no header or forwarding inside a scanned object)";

/// Whose memory is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// One process's.
    Process(*const Mutator),
    /// The heap of all processes, which one of them asked to collect.
    All(*const Mutator),
    /// The message area.
    Area,
    /// The heap of all processes, while one of them runs.
    Heap,
}

/// What part of it.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// A stack.
    Stack,
    /// Other roots.
    Roots,
    /// Somewhere in the heap.
    Heap,
    /// A message that was not taken.
    Message,
    /// An object, by its first word.
    Object(*const Word),
    /// What is noted of the heap beside its objects.
    Books,
}

impl Display for Whose {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (words, mutator) = match self {
            Whose::Process(mutator) => ("process", *mutator),
            Whose::All(mutator) => ("the heap of all, collected for process", *mutator),
            Whose::Area => return out.write_str("the message area"),
            Whose::Heap => return out.write_str("the heap of all"),
        };
        match pid_of(mutator) {
            Some(pid) => write!(out, "{words} {}", text::to_string(pid)),
            None => write!(out, "{words} with the mutator at {mutator:p}"),
        }
    }
}

impl Display for Part {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Part::Stack => out.write_str("on the stack"),
            Part::Roots => out.write_str("in a root"),
            Part::Heap => out.write_str("in the heap"),
            Part::Message => out.write_str("in a message"),
            Part::Books => out.write_str("in what is noted of the heap"),
            Part::Object(start) => {
                // SAFETY: the caller that names an object vouches for its first word.
                let first = unsafe { Term::from_word(*start) };
                if !first.is_header() {
                    return write!(out, "in the cons at {start:p}");
                }
                let header = Header::from_word(first.word());
                write!(out, "in the {:?} of {} words at {start:p}", header.kind(), header.object_words())
            }
        }
    }
}

/// Ends the run, and a test that expects it: the invariant with this identifier is broken by a word.
#[cold]
pub(crate) fn violation(invariant: &str, whose: Whose, part: Part, place: *const Word, word: Word) -> ! {
    broken(&format!("atoll: heap invariant {invariant} is broken: {word:#018x} at {place:p}, {part}; {whose}"))
}

/// Ends the run with this report.
#[cold]
pub(crate) fn broken(report: &str) -> ! {
    #[cfg(test)]
    expected::found(report);
    ending::crash_broken(report)
}

/// Checks words that hold terms: `allowed` says whether a pointer may lead to an address.
///
/// # Safety
/// The run is readable.
pub(crate) unsafe fn check_run(
    start: *const Word,
    words: usize,
    invariant: &str,
    whose: Whose,
    part: Part,
    allowed: &dyn Fn(*const Word) -> bool,
) {
    for index in 0..words {
        // SAFETY: the caller vouches for the run.
        unsafe { check_pointer(start.add(index), invariant, whose, part, allowed) }
    }
}

unsafe fn check_pointer(
    place: *const Word,
    invariant: &str,
    whose: Whose,
    part: Part,
    allowed: &dyn Fn(*const Word) -> bool,
) {
    // SAFETY: the place is readable, and so is what an allowed pointer leads to.
    unsafe {
        let term = Term::from_word(*place);
        if !term.is_pointer() {
            return;
        }
        if !allowed(term.pointer()) {
            violation(invariant, whose, part, place, term.word());
        }
        if Term::from_word(*term.pointer()).is_header() != term.is_boxed() {
            violation(H1, whose, part, place, term.word());
        }
    }
}

/// Checks a run of whole objects; gives the number of objects with off-heap parts in it.
///
/// # Safety
/// The run is readable.
pub(crate) unsafe fn check_objects(
    start: *const Word,
    words: usize,
    invariant: &str,
    whose: Whose,
    allowed: &dyn Fn(*const Word) -> bool,
) -> usize {
    let mut index = 0;
    let mut off_heap = 0;
    while index < words {
        // SAFETY: the index stays inside the run.
        unsafe {
            let place = start.add(index);
            let part = Part::Object(place);
            if !Term::from_word(*place).is_header() {
                if words - index < 2 {
                    violation(H2, whose, part, place, *place);
                }
                check_run(place, 2, invariant, whose, part, allowed);
                index += 2;
                continue;
            }
            let header = Header::from_word(*place);
            if header.object_words() > words - index || !is_plausible(header) {
                violation(H2, whose, part, place, *place);
            }
            off_heap += usize::from(header.has_off_heap_part());
            if !header.is_opaque() {
                check_run(place.add(1), header.arity(), invariant, whose, part, allowed);
                for word in 1..header.object_words() {
                    if Term::from_word(*place.add(word)).is_header() {
                        violation(H3, whose, part, place.add(word), *place.add(word));
                    }
                }
            }
            index += header.object_words();
        }
    }
    off_heap
}

/// Whether an object of this kind can have this many words.
fn is_plausible(header: Header) -> bool {
    let arity = header.arity();
    match header.kind() {
        Kind::Tuple => true,
        Kind::FlatMap | Kind::HashMapNode | Kind::PositiveBig | Kind::NegativeBig => arity >= 1,
        Kind::Fun | Kind::HashMapRoot => arity >= 2,
        Kind::SubBits => arity == 3,
        Kind::MatchContext => arity >= 4,
        Kind::ExternalFun | Kind::Float => arity == 1,
        Kind::Reference => arity == 2 || arity == 3,
        Kind::HeapBits => arity >= 1,
        Kind::BinaryHandle => arity == 2,
        Kind::External => arity >= 3,
        Kind::MagicReference => arity == 4,
    }
}

/// Violations that tests expect.
#[cfg(test)]
pub(crate) mod expected {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use atoll_term::{Term, Word};

    thread_local! {
        static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
    }

    struct Found(String);

    /// A list at this place, whatever is there.
    pub(crate) fn cons_to(place: *const Word) -> Term {
        // SAFETY: nothing but verifiers looks at the terms that tests put in the wrong place.
        unsafe { Term::cons_at(place) }
    }

    /// A boxed object at this place, whatever is there.
    pub(crate) fn boxed_to(place: *const Word) -> Term {
        // SAFETY: as above.
        unsafe { Term::boxed_at(place) }
    }

    /// Unwinds to [`sees`], if it is on the stack of this thread.
    pub(super) fn found(report: &str) {
        if IS_EXPECTED.get() {
            resume_unwind(Box::new(Found(report.to_owned())));
        }
    }

    /// Runs a check that has to find this invariant broken, and no other before it; gives the report.
    pub(crate) fn sees(invariant: &str, check: impl FnOnce()) -> String {
        IS_EXPECTED.set(true);
        let result = catch_unwind(AssertUnwindSafe(check));
        IS_EXPECTED.set(false);
        let Err(payload) = result else { panic!("nothing is found, with {invariant} broken") };
        let Found(report) = *payload.downcast::<Found>().unwrap_or_else(|other| resume_unwind(other));
        assert!(report.starts_with(&format!("atoll: heap invariant {invariant} ")), "{invariant} is broken: {report}");
        report
    }
}
