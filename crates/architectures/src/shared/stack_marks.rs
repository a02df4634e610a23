//! Generational stack scanning (Cheng, Harper, Lee 1998): finds the part of a stack that a minor collection need not
//! scan.
//!
//! Only the newest frame of a stack changes. Each collection replaces a return address near the top of the stack by the
//! address of an engine's code, the stack marker. Until the process returns to it, all words from there to the stack's
//! base stay as they are. A part that is unchanged through two collections, of which the second was a minor one, refers
//! to nothing young, because survivors of two are old: minor collections do not scan it again.
//!
//! When the process returns to the marker, or an exception goes past it, a marker is placed further down.
//!
//! Lengths are counted from the base, so that they stay right when the stack moves.

use std::sync::atomic::Ordering;

use atoll_heap::Mutator;
use atoll_term::{Term, Word};

use super::Shared;
use super::state::State;

/// A marker is placed this many words below the top ...
const DISTANCE: usize = 64;
/// ... or this part of the stack, if it is more.
const PART: usize = 32;

/// The place of the marker. There is one if the stack is covered.
fn slot(mutator: &Mutator, covered: u32) -> *mut Word {
    mutator.stack_base.wrapping_sub(covered as usize)
}

/// See [`atoll_heap::Architecture::stack_marker`].
pub(super) fn marker(mutator: &Mutator) -> Option<(*const Word, Word)> {
    let state = State::of(mutator);
    (state.covered > 0).then(|| (slot(mutator, state.covered).cast_const(), state.returns_to))
}

/// Words at the base that refer to nothing young.
pub(crate) fn clean_words(mutator: &Mutator) -> usize {
    State::of(mutator).clean as usize
}

/// The process has left frames: if the marker was among them there is a new one.
pub(super) fn cut(shared: &Shared, mutator: &mut Mutator) {
    let state = State::of_mut(mutator);
    if state.covered as usize > mutator.stack_words() {
        // SAFETY: the marker was in a frame that was left.
        unsafe { place(shared, mutator) }
        let state = State::of_mut(mutator);
        state.clean = state.clean.min(state.covered);
    }
}

/// A collection visits this stack: all of it, or what is not clean.
pub(super) fn advance(shared: &Shared, mutator: &mut Mutator, is_major: bool) {
    let State { covered, returns_to, .. } = *State::of(mutator);
    State::of_mut(mutator).clean = if is_major { 0 } else { covered };
    if covered as usize + 2 * distance(mutator) > mutator.stack_words() {
        return;
    }
    // SAFETY: the place of the marker is on the stack.
    unsafe {
        if covered > 0 {
            *slot(mutator, covered) = returns_to;
        }
        place(shared, mutator);
    }
}

fn distance(mutator: &Mutator) -> usize {
    DISTANCE.max(mutator.stack_words() / PART)
}

/// Places a marker at the first return address that is far enough from the top.
///
/// # Safety
/// There is none on the stack.
unsafe fn place(shared: &Shared, mutator: &mut Mutator) {
    let marker = shared.marker.load(Ordering::Relaxed) as Word;
    let farthest = mutator.stack_words().saturating_sub(distance(mutator));
    let mut covered = if marker == 0 { 0 } else { u32::try_from(farthest).unwrap_or(0) };
    while covered > 0 {
        let place = slot(mutator, covered);
        // SAFETY: the word lies on the stack.
        let word = unsafe { Term::from_word(*place) };
        if word.is_header() && !word.is_none() {
            State::of_mut(mutator).returns_to = word.word();
            // SAFETY: as above.
            unsafe { *place = marker };
            break;
        }
        covered -= 1;
    }
    State::of_mut(mutator).covered = covered;
}
