//! The machine's allocator: it wraps another one and handles its running out of memory. It cannot report that to the
//! caller, so it ends the machine with a dump at once, except for callers that have said that they can do without the
//! memory.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use crate::ending;

thread_local! {
    /// Whether an allocation of this thread may fail.
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, in which the lack of memory is seen as whatever its callee makes of a failed allocation, and does not
/// end the machine.
pub fn may_fail<T>(work: impl FnOnce() -> T) -> T {
    let before = MAY_FAIL.replace(true);
    let result = work();
    MAY_FAIL.set(before);
    result
}

/// An allocator that ends the machine when it has nothing to give.
#[derive(Debug)]
pub struct OrEnd<A>(pub A);

// SAFETY: all that is given out and taken back is the inner allocator's.
unsafe impl<A: GlobalAlloc> GlobalAlloc for OrEnd<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        or_end(unsafe { self.0.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { self.0.realloc(block, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }
}

#[inline(always)]
fn or_end(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        exhausted(bytes);
    }
    block
}

#[cold]
#[inline(never)]
fn exhausted(bytes: usize) {
    if !MAY_FAIL.get() {
        ending::crash_for_want_of_memory("system", bytes);
    }
}
