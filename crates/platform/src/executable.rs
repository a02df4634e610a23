//! Memory for generated code.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

/// Lowest and highest address of all generated code that there was.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Whether an address may be one of generated code. A handler of signals may ask.
pub fn may_hold(address: usize) -> bool {
    (LOWEST.load(Ordering::Relaxed)..HIGHEST.load(Ordering::Relaxed)).contains(&address)
}

/// Bytes of a page.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Pages of code that may be run and not written. They are given back when this is dropped.
#[derive(Debug)]
pub struct Executable {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping is tied to no thread.
unsafe impl Send for Executable {}
// SAFETY: nothing writes it after it was made.
unsafe impl Sync for Executable {}

impl Executable {
    /// So many bytes, rounded up to pages, which `write` fills before they become executable. `None`: the system gives
    /// no memory, or allows no generated code.
    pub fn new(bytes: usize, write: impl FnOnce(&mut [u8])) -> Option<Executable> {
        let size = bytes.max(1).checked_next_multiple_of(rustix::param::page_size())?;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), size, access, MapFlags::PRIVATE)
        };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        let made = Executable { start, size };
        // SAFETY: the mapping is writable, at least as long, and nobody else's.
        write(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) });
        // SAFETY: the pages are those of this mapping, and no reference into them is left.
        unsafe { rustix::mm::mprotect(start.as_ptr().cast(), size, MprotectFlags::READ | MprotectFlags::EXEC) }.ok()?;
        LOWEST.fetch_min(start.addr().get(), Ordering::Relaxed);
        HIGHEST.fetch_max(start.addr().get() + size, Ordering::Relaxed);
        Some(made)
    }

    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// All bytes of the pages.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the pages can be read for as long as this is there, and nothing writes them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }

    /// Bytes of the pages.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; who dropped it has made sure that nothing runs in it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[cfg_attr(miri, ignore = "Miri runs no machine code")]
    fn what_was_written_runs() {
        // mov eax, 42; ret
        let code = [0xb8, 42, 0, 0, 0, 0xc3];
        let block = Executable::new(code.len(), |room| room.copy_from_slice(&code)).unwrap();
        // SAFETY: the bytes are those of a function of this type.
        let function = unsafe { std::mem::transmute::<*mut u8, extern "C" fn() -> i32>(block.start().as_ptr()) };
        assert_eq!(function(), 42);
        assert_eq!(block.bytes()[..code.len()], code);
        let first = block.start().addr().get();
        assert!(may_hold(first) && may_hold(first + block.size() - 1) && !may_hold(0));
    }
}
