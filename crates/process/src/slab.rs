//! Memory for processes: blocks of exactly their size, reused, never given back. A general allocator would round each
//! up to a size class, which a million processes would pay for.

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

/// Moves a process into a block of its own.
pub fn place(process: Process) -> NonNull<Process> {
    let mut free = FREE.lock();
    if free.0.is_empty() {
        let chunk = Reservation::new(CHUNK_BYTES).unwrap_or_else(|error| out_of_memory(error.bytes));
        let first = chunk.start().cast::<Process>();
        std::mem::forget(chunk);
        // SAFETY: the blocks lie in the chunk, which is never given back.
        free.0.extend((0..CHUNK_BYTES / size_of::<Process>()).rev().map(|index| unsafe { first.add(index) }));
    }
    let Some(block) = free.0.pop() else { unreachable!("a chunk was just added") };
    drop(free);
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
    FREE.lock().0.push(process);
}

/// A process that waits shall fit into a few hundred bytes, its first heap block included.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Process>() <= 288);
