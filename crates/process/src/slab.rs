//! Memory for processes: blocks of exactly their size, reused, never given back. A general allocator would round each
//! up to a size class, which a million processes would pay for.

use std::ptr::NonNull;

use parking_lot::Mutex;

use crate::process::Process;

/// Processes whose memory is asked of the system at once.
const CHUNK: usize = 256;

struct Free(Vec<NonNull<Process>>);

// SAFETY: free blocks belong to the list that holds them.
unsafe impl Send for Free {}

static FREE: Mutex<Free> = Mutex::new(Free(Vec::new()));

/// Moves a process into a block of its own.
pub fn place(process: Process) -> NonNull<Process> {
    let mut free = FREE.lock();
    if free.0.is_empty() {
        let chunk: &'static mut [std::mem::MaybeUninit<Process>] = Box::leak(Box::new_uninit_slice(CHUNK));
        free.0.extend(chunk.iter_mut().rev().map(|block| NonNull::from(block).cast::<Process>()));
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
