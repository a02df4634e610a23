//! Messages, spawn arguments and stored terms: the ways into the area, and the barrier, which stands here alone. While
//! roots are being found or objects marked, whatever object of the area enters a message or a stored term is greyed.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::counters::area;
use atoll_heap::{Fragment, Message, Mutator, build_window, debt};
use atoll_term::{Header, Term, Word};

use super::uses::{Shape, Way, kind_of};
use super::{Hybrid, copy};
use crate::common::message::by_reference;
use crate::common::sizing::extent;
use crate::common::small;
use crate::common::stored::StoredTerms;
use crate::private::send as private;
use crate::private::state::State;

/// Words up to which a message is copied to its receiver as under `private`: it costs less than an object of the area.
const SMALL_MESSAGE: usize = 32;
/// Words from which on the copies of a message are noted for the next time.
const NOTED: usize = 64;

#[inline(never)]
pub(super) fn send(hybrid: &Hybrid, mut sender: Option<&mut Mutator>, term: Term) -> Message {
    let immovable = hybrid.private.immovable;
    let area = &hybrid.area;
    let started = private::start(&hybrid.private);
    // What leads nowhere has nothing to do with the area.
    if !term.is_pointer() {
        return private::counted(&hybrid.private, sender, by_reference(term), started);
    }
    let is_private = !immovable.contains(term);
    // SAFETY: the term is whole.
    let alone = if is_private { unsafe { small::copy_alone(term, immovable) } } else { None };
    if let Some((fragment, small::Refers::ToNothing)) = alone {
        return private::counted(&hybrid.private, sender, fragment, started);
    }
    // Others see what was built from now on.
    area.close_window();
    // SAFETY: the term is whole.
    let shape = unsafe { Shape::of(term) };
    let is_long = is_private && alone.is_none();
    if let Some(sender) = sender.as_deref_mut().filter(|sender| is_long && !State::of(sender).knows_terms())
        && area.uses.is_as_before(shape)
    {
        return copied(hybrid, sender, term, started);
    }
    let watched = area.uses.is_watching().then(|| {
        let weight = area.uses.weight(shape);
        area.uses.passes(term, weight, area.bounds, immovable);
        weight
    });
    if is_private {
        // SAFETY: the term is whole.
        let small = || unsafe { small::copy_of_several(term, immovable) };
        if let Some(fragment) = alone.map(|(fragment, _)| fragment).or_else(small) {
            return publish(hybrid, private::counted(&hybrid.private, sender, fragment, started));
        }
    }
    let weight = watched.unwrap_or_else(|| area.uses.weight(shape));
    let Some(sender) = sender else {
        let fragment = private::send(&hybrid.private, None, term);
        return publish(hybrid, fragment);
    };
    let term = if is_private && State::of(sender).has_copies() {
        area.finder.copies.replace(sender, term, immovable)
    } else {
        term
    };
    let way = match term.is_pointer() && !immovable.contains(term) {
        // SAFETY: the sender's terms are whole.
        true => unsafe { way(hybrid, sender, term, shape, weight) },
        false => Way::Share,
    };
    if way == Way::Copy {
        return copied(hybrid, sender, term, started);
    }
    // A thread that is no scheduler has no mutator of the area; what it sends is copied.
    if area.with(|_| ()).is_none() {
        return publish(hybrid, private::send(&hybrid.private, Some(sender), term));
    }
    // What is sampled of a kind that is not shared says nothing of where its parts should be built.
    let tells = !matches!(way, Way::Sample { is_usual: false });
    let (copy, words) = place(hybrid, sender, term, tells);
    if matches!(way, Way::Sample { .. }) && words > 0 {
        // SAFETY: a whole term.
        area.uses.watch(unsafe { kind_of(term) }, term, copy, immovable, area.finder.cycle());
    }
    private::count(&hybrid.private, sender, words);
    if let Some(started) = started {
        private::timed(words, started);
    }
    by_reference(copy)
}

/// A message that is no small one, as a copy for its receiver.
fn copied(hybrid: &Hybrid, sender: &mut Mutator, term: Term, started: Option<i64>) -> Message {
    let message = private::send_long(&hybrid.private, sender, term, started);
    let uses = &hybrid.area.uses;
    if uses.decides() && uses.remember(sender, term, message.used(), hybrid.private.immovable) {
        State::of_mut(sender).set_remembered(true);
    }
    publish(hybrid, message)
}

/// How a term that lies on the sender's heap gets to its receiver.
///
/// # Safety
/// The term is a pointer to a whole object.
unsafe fn way(hybrid: &Hybrid, sender: &Mutator, term: Term, shape: Shape, weight: u8) -> Way {
    let uses = &hybrid.area.uses;
    let immovable = hybrid.private.immovable;
    // SAFETY: as the caller says.
    let shared = unsafe {
        if uses.decides() {
            let kind = kind_of(term);
            match uses.way(kind, shape, weight, hybrid.area.finder.cycle()) {
                Way::Copy if State::of(sender).is_remembered() => {
                    if !uses.is_remembered(sender, kind, term, immovable) {
                        return Way::Copy;
                    }
                    Way::Share
                }
                Way::Copy => return Way::Copy,
                shared => shared,
            }
        } else {
            Way::Share
        }
    };
    // SAFETY: as above.
    if unsafe { is_small(hybrid, term) } { Way::Copy } else { shared }
}

/// The term in immovable memory: as it is, or its copy in the area. Words copied. `tells`: the sites of what is copied
/// hear of it.
fn place(hybrid: &Hybrid, owner: &mut Mutator, term: Term, tells: bool) -> (Term, usize) {
    let immovable = hybrid.private.immovable;
    if !term.is_pointer() {
        return (term, 0);
    }
    if immovable.contains(term) {
        shade(hybrid, term);
        return (term, 0);
    }
    // SAFETY: the term lies on the heap of a process that this thread runs.
    let (copy, words) =
        hybrid.area.with_any(|mutator| unsafe { copy::copy(&hybrid.area, mutator, owner, term, immovable, tells) });
    area().words_copied.fetch_add(words as u64, Ordering::Relaxed);
    if tells {
        hybrid.area.feedback.count(words, 0);
    }
    debt::owe_words(words);
    if words >= NOTED {
        hybrid.area.finder.copies.note(owner, term, copy, immovable);
        State::of_mut(owner).set_has_copies(true);
    }
    (copy, words)
}

/// A fragment for a term that is to be kept outside of processes, in the area.
pub(super) fn store(hybrid: &Hybrid, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
    let immovable = hybrid.private.immovable;
    hybrid.area.uses.passes(term, 1, hybrid.area.bounds, immovable);
    let term = if State::of(owner).has_copies() && term.is_pointer() && !immovable.contains(term) {
        hybrid.area.finder.copies.replace(owner, term, immovable)
    } else {
        term
    };
    let (term, words) = place(hybrid, owner, term, true);
    let stored = StoredTerms::hold(term);
    if !(1..NOTED).contains(&words) {
        // It lay in the area before, or may be sent once more.
        // SAFETY: it was made just now.
        unsafe { stored.as_ref() }.lend();
    }
    stored
}

/// The barrier for one term.
fn shade(hybrid: &Hybrid, term: Term) {
    if let Some(object) = hybrid.area.bounds.object(term) {
        hybrid.area.with(|mutator| mutator.barrier(object));
    }
}

/// The barrier for a message.
pub(super) fn shade_all(hybrid: &Hybrid, message: &Message) {
    if hybrid.area.is_marking() {
        hybrid.area.with(|mutator| {
            hybrid.area.finder.scan_fragment(message, &mut |object| mutator.barrier(object));
        });
    }
}

fn publish(hybrid: &Hybrid, message: Message) -> Message {
    shade_all(hybrid, &message);
    message
}

/// Whether what a message of this term would copy has few words.
///
/// # Safety
/// The term is a pointer to a whole object.
unsafe fn is_small(hybrid: &Hybrid, term: Term) -> bool {
    let immovable = hybrid.private.immovable;
    let mut pending = [term; SMALL_MESSAGE];
    let mut waiting = 1;
    let mut words = 0;
    while waiting > 0 {
        waiting -= 1;
        let term = pending[waiting];
        // SAFETY: parts of a whole term are whole.
        unsafe {
            let (object_words, fields, count): (usize, *mut Word, usize) = extent(term);
            words += object_words;
            if words > SMALL_MESSAGE {
                return false;
            }
            for index in 0..count {
                let part = Term::from_word(*fields.add(index));
                if part.is_pointer() && !immovable.contains(part) {
                    if waiting == SMALL_MESSAGE {
                        return false;
                    }
                    pending[waiting] = part;
                    waiting += 1;
                }
            }
        }
    }
    true
}

/// Builds an object of the area directly, and opens a window for the next ones; `None` if a part of it is private, or
/// this thread is no scheduler.
pub(super) fn build(hybrid: &Hybrid, header: Option<Header>, fields: &[Term]) -> Option<Term> {
    let immovable = hybrid.private.immovable;
    if fields.iter().any(|field| field.is_pointer() && !immovable.contains(*field)) {
        return None;
    }
    let words = fields.len() + usize::from(header.is_some());
    hybrid.area.with(|mutator| {
        hybrid.area.open_window(mutator);
        let object = build_window(|window| window.take(words)).unwrap_or_else(|| {
            area().words_built.fetch_add(words as u64, Ordering::Relaxed);
            let object = hybrid.area.allocate(mutator, words, false).as_ptr();
            // The window lay in the gap that this came out of.
            hybrid.area.open_window(mutator);
            object
        });
        let mut place = object;
        // SAFETY: the new object has room for the header and the fields.
        unsafe {
            if let Some(header) = header {
                *place = header.word();
                place = place.add(1);
            }
            for field in fields {
                if let Some(part) = hybrid.area.bounds.object(*field) {
                    mutator.barrier(part);
                }
                *place = field.word();
                place = place.add(1);
            }
        }
        // SAFETY: the object was filled, and lies in the area.
        unsafe { if header.is_some() { Term::boxed_at(object) } else { Term::cons_at(object) } }
    })
}
