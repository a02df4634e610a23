//! Memory for processes: blocks of exactly their size, reused, never given back. A general allocator would round each
//! up to a size class, which a million processes would pay for.

use std::cell::RefCell;
use std::ptr::NonNull;

use atoll_heap::out_of_memory;
use atoll_platform::Reservation;
use parking_lot::Mutex;

use crate::process::Process;

/// Bytes whose addresses are asked of the system at once; memory is used as processes are placed.
const CHUNK_BYTES: usize = 4 << 20;

struct Free(Vec<NonNull<Process>>);

// SAFETY: free blocks belong to the list that holds them.
unsafe impl Send for Free {}

static FREE: Mutex<Free> = Mutex::new(Free(Vec::new()));

/// Blocks that a thread takes from the common list at once, or gives back when it has twice as many: processes begin
/// and end on all threads, which would meet at the list's lock each time.
const BATCH: usize = 32;

/// Free blocks of this thread.
struct Own(Vec<NonNull<Process>>);

impl Drop for Own {
    fn drop(&mut self) {
        FREE.lock().0.append(&mut self.0);
    }
}

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own(Vec::new())) };
}

/// Moves up to so many blocks from the common list, which gets a new chunk if it is empty.
fn take(blocks: &mut Vec<NonNull<Process>>, most: usize) {
    let free = &mut FREE.lock().0;
    if free.is_empty() {
        let chunk = Reservation::new(CHUNK_BYTES).unwrap_or_else(|error| out_of_memory(error.bytes));
        let first = chunk.start().cast::<Process>();
        std::mem::forget(chunk);
        // SAFETY: the blocks lie in the chunk, which is never given back.
        free.extend((0..CHUNK_BYTES / size_of::<Process>()).rev().map(|index| unsafe { first.add(index) }));
    }
    let left = free.len().saturating_sub(most);
    blocks.extend(free.drain(left..));
}

/// Moves a process into a block of its own.
pub fn place(process: Process) -> NonNull<Process> {
    let block = OWN.try_with(|own| {
        let own = &mut own.borrow_mut().0;
        if own.is_empty() {
            take(own, BATCH);
        }
        own.pop()
    });
    let block = block.unwrap_or_else(|_| {
        // This thread is about to end.
        let mut one = Vec::new();
        take(&mut one, 1);
        one.pop()
    });
    let Some(block) = block else { unreachable!("a chunk was just added") };
    // SAFETY: the block is free, large enough, and known to nobody else.
    unsafe { block.as_ptr().write(process) };
    block
}

/// Takes a process's block back.
///
/// # Safety
/// The process came from [`place`], and nobody uses it any more.
pub unsafe fn release(process: NonNull<Process>) {
    // SAFETY: the caller gives the process up.
    unsafe { std::ptr::drop_in_place(process.as_ptr()) };
    let kept = OWN.try_with(|own| {
        let own = &mut own.borrow_mut().0;
        own.push(process);
        if own.len() >= 2 * BATCH {
            FREE.lock().0.extend(own.drain(..BATCH));
        }
    });
    if kept.is_err() {
        FREE.lock().0.push(process);
    }
}

/// A process that waits shall fit into a few hundred bytes, its first heap block included.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Process>() <= 264);
