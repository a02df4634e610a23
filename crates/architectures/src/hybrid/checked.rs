//! The invariant A4 of `mod.rs`: with `--verify-heap` allocation sites whose objects never leave their process, as the
//! message analysis says, tell of all that they build (`feedback.rs`), and each term that is sent or stored is searched
//! for it.

use std::collections::HashSet;

use atoll_heap::Mutator;
use atoll_term::{Term, Word};

use super::Hybrid;
use crate::common::Immovable;
use crate::common::sizing::extent;
use crate::common::verify::{Part, Whose, violation};

const A4: &str = "A4 (what never leaves its process, as the analysis says, is in no message)";

/// A4: of a term that is about to be sent or stored.
pub(super) fn check(hybrid: &Hybrid, sender: Option<&Mutator>, term: Term) {
    let stays = hybrid.area.feedback.never_leave();
    if !stays.is_empty() {
        let whose = sender.map_or(Whose::Area, |sender| Whose::Process(sender));
        // SAFETY: what is sent or stored is whole.
        unsafe { search(term, hybrid.private.immovable, &stays, whose) };
    }
}

/// # Safety
/// The term is whole.
unsafe fn search(root: Term, immovable: Immovable, stays: &HashSet<usize>, whose: Whose) {
    let (mut pending, mut met) = (vec![root], HashSet::new());
    while let Some(term) = pending.pop() {
        if !term.is_pointer() || immovable.contains(term) || !met.insert(term.pointer() as usize) {
            continue;
        }
        if stays.contains(&(term.pointer() as usize)) {
            violation(A4, whose, Part::Message, term.pointer(), term.word());
        }
        // SAFETY: parts of a whole term are whole.
        unsafe {
            let (_, fields, count): (usize, *mut Word, usize) = extent(term);
            pending.extend((0..count).map(|index| Term::from_word(*fields.add(index))));
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::Build;

    use super::*;
    use crate::common::verify::expected::sees;
    use crate::tests::{OPTIONS, Process, by_name};

    #[test]
    fn an_object_that_is_said_to_stay_is_found_inside_of_a_message() {
        let mut process = Process::new(by_name("private"), &OPTIONS, Term::NIL);
        process.reserve(6);
        let stays = process.cons(Term::small(1), Term::NIL);
        let sent = process.cons(Term::small(2), Term::NIL);
        let message = process.cons(sent, sent);
        let whole = process.cons(stays, Term::NIL);
        let whose = Whose::Process(&raw const *process.mutator);
        let look = |term| {
            // SAFETY: the test's own terms.
            unsafe { search(term, Immovable::NONE, &HashSet::from([stays.pointer() as usize]), whose) }
        };
        look(message);
        sees("A4", || look(whole));
        sees("A4", || look(stays));
    }
}
