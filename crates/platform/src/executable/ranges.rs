//! Where generated code lies, for handlers of signals: they may take no lock, and what they ask must not be freed.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The addresses of one mapping. Ranges are never freed: one that is empty is used again.
#[derive(Debug)]
pub(super) struct Range {
    start: AtomicUsize,
    /// The address behind it; 0 of an empty one.
    end: AtomicUsize,
    /// Does not change any more once the range is in the list.
    next: AtomicPtr<Range>,
}

/// All ranges, the newest first.
static FIRST: AtomicPtr<Range> = AtomicPtr::new(null_mut());
/// The empty ones.
static EMPTY: Mutex<Vec<&Range>> = Mutex::new(Vec::new());

/// Whether an address is one of pages with generated code. A handler of signals may ask.
pub fn may_hold(address: usize) -> bool {
    // SAFETY: a range in the list stays there for as long as the program runs.
    let mut next = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    while let Some(range) = next {
        let start = range.start.load(Ordering::Acquire);
        let is_inside = (start..range.end.load(Ordering::Acquire)).contains(&address);
        // Both are those of one mapping if the range has not become another one's meanwhile.
        if is_inside && range.start.load(Ordering::Relaxed) == start {
            return true;
        }
        // SAFETY: as above.
        next = unsafe { range.next.load(Ordering::Relaxed).as_ref() };
    }
    false
}

/// Notes a mapping of `bytes` from `start` on.
pub(super) fn note(start: usize, bytes: usize) -> &'static Range {
    let empty = EMPTY.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(range) = empty {
        range.start.store(start, Ordering::Release);
        range.end.store(start + bytes, Ordering::Release);
        return range;
    }
    let range = Box::leak(Box::new(Range {
        start: AtomicUsize::new(start),
        end: AtomicUsize::new(start + bytes),
        next: AtomicPtr::new(FIRST.load(Ordering::Relaxed)),
    }));
    while let Err(first) =
        FIRST.compare_exchange_weak(*range.next.get_mut(), range, Ordering::AcqRel, Ordering::Relaxed)
    {
        *range.next.get_mut() = first;
    }
    range
}

/// The mapping is about to be given back.
pub(super) fn forget(range: &'static Range) {
    range.end.store(0, Ordering::Release);
    EMPTY.lock().unwrap_or_else(PoisonError::into_inner).push(range);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses that are nobody's: the last ones of the address space.
    const PLACE: usize = usize::MAX - (1 << 20);

    #[test]
    fn what_lies_between_two_mappings_is_none() {
        let (low, high) = (note(PLACE, 100), note(PLACE + 1000, 100));
        let held = |offset| may_hold(PLACE + offset);
        assert!(held(0) && held(99) && held(1000) && held(1099));
        assert!(!held(100) && !held(500) && !held(999) && !held(1100));
        forget(low);
        assert!(!held(0) && !held(99) && held(1000));
        let again = note(PLACE + 200, 10);
        assert!(held(200) && held(209) && !held(210) && !held(0));
        forget(again);
        forget(high);
        assert!(!held(200) && !held(1000));
    }
}
