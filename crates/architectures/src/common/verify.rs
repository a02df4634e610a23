//! The verifier's core: walks runs of whole objects and root words, and reports every word that breaks a rule.

use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_term::{Header, Kind, Term, Word};

/// Violations found in this run; tests ask for it.
pub(crate) static VIOLATIONS: AtomicUsize = AtomicUsize::new(0);

/// Reports a violation of the invariant with this identifier.
#[cold]
pub(crate) fn violation(invariant: &str, place: *const Word, word: Word) {
    VIOLATIONS.fetch_add(1, Ordering::Relaxed);
    eprintln!("atoll: heap invariant {invariant} broken: {word:#018x} at {place:p}");
}

/// Checks words that hold terms: `allowed` says whether a pointer may lead to an address.
///
/// # Safety
/// The run is readable.
pub(crate) unsafe fn check_run(
    start: *const Word,
    words: usize,
    invariant: &str,
    allowed: &dyn Fn(*const Word) -> bool,
) {
    for index in 0..words {
        // SAFETY: the caller vouches for the run.
        unsafe { check_pointer(start.add(index), invariant, allowed) }
    }
}

unsafe fn check_pointer(place: *const Word, invariant: &str, allowed: &dyn Fn(*const Word) -> bool) {
    // SAFETY: the place is readable, and so is what an allowed pointer leads to.
    unsafe {
        let term = Term::from_word(*place);
        if !term.is_pointer() {
            return;
        }
        if !allowed(term.pointer()) {
            violation(invariant, place, term.word());
        } else if Term::from_word(*term.pointer()).is_header() != term.is_boxed() {
            violation("H1 (a boxed pointer leads to a header, a cons to none)", place, term.word());
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
    allowed: &dyn Fn(*const Word) -> bool,
) -> usize {
    let mut index = 0;
    let mut off_heap = 0;
    while index < words {
        // SAFETY: the index stays inside the run.
        unsafe {
            let place = start.add(index);
            if !Term::from_word(*place).is_header() {
                check_run(place, (words - index).min(2), invariant, allowed);
                if words - index < 2 {
                    violation("H2 (objects end inside their block)", place, *place);
                }
                index += 2;
                continue;
            }
            let header = Header::from_word(*place);
            if header.object_words() > words - index || !is_plausible(header) {
                violation("H2 (objects end inside their block)", place, *place);
                return off_heap;
            }
            off_heap += usize::from(header.has_off_heap_part());
            if !header.is_opaque() {
                check_run(place.add(1), header.arity(), invariant, allowed);
                for word in 1..header.object_words() {
                    if Term::from_word(*place.add(word)).is_header() {
                        violation("H3 (no header or forwarding inside a scanned object)", place, *place.add(word));
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
