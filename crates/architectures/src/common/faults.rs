//! Faults that a run is asked to put into its own heap, so that tests see such a run fail as a whole:
//! `ATOLL_BREAK_HEAP` names the invariant that is to be broken. Builds without debug assertions have none of this.

use atoll_term::Word;

/// Puts a pointer that leads nowhere into the first word of a run, if there is one, and this invariant is to be broken.
///
/// # Safety
/// The run is the caller's, and a verifier looks at it before anything else does.
pub(crate) unsafe fn put(invariant: &str, start: *mut Word, words: usize) {
    if words > 0 && is_wanted(invariant) {
        // SAFETY: as the caller's.
        unsafe { *start = atoll_term::Term::cons_at(std::ptr::dangling_mut::<Word>()).word() }
    }
}

/// Whether this run is to break the invariant.
#[cfg(debug_assertions)]
pub(crate) fn is_wanted(invariant: &str) -> bool {
    use std::sync::OnceLock;
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    WANTED.get_or_init(|| std::env::var("ATOLL_BREAK_HEAP").ok()).as_deref() == Some(invariant)
}

/// Whether this run is to break the invariant: never.
#[cfg(not(debug_assertions))]
pub(crate) fn is_wanted(_invariant: &str) -> bool {
    false
}
