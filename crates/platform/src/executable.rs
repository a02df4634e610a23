//! Memory for generated code: written first, executable afterwards, never both at once.
//!
//! [`CodeSpace`] is a file in memory, of which some pages are mapped for execution before there is anything in them;
//! code gets there by writing to the file. So no access to a page ever changes, which would interrupt each processor
//! that runs a thread of this process, and functions lie close to each other. Where there are no such files, or where
//! somebody has to find code by its address in memory without a file (`perf`) or write into it (a debugger), each piece
//! of code has pages of its own.

use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

mod ranges;
#[cfg(target_os = "linux")]
mod shared;

pub use ranges::may_hold;

use ranges::Range;

/// Bytes that a processor's caches keep together: code begins at a multiple of them.
const LINE: usize = 64;
/// Bytes of pages that are mapped at a time.
const PAGES: usize = 1 << 18;

/// A mapping for execution. It is given back when it is dropped.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    size: usize,
    range: &'static Range,
}

// SAFETY: a mapping is tied to no thread.
unsafe impl Send for Pages {}
// SAFETY: what is read of it was written before anybody knew of it, and nothing writes it afterwards.
unsafe impl Sync for Pages {}

impl Pages {
    fn mapped(start: rustix::io::Result<*mut std::ffi::c_void>, size: usize) -> Option<Pages> {
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        Some(Pages { start, size, range: ranges::note(start.addr().get(), size) })
    }

    /// Pages of their own with this code from `offset` on.
    fn of(code: &[u8], offset: usize) -> Option<Pages> {
        let size = (offset + code.len()).max(1).checked_next_multiple_of(rustix::param::page_size())?;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), size, access, MapFlags::PRIVATE)
        };
        let pages = Pages::mapped(start, size)?;
        let start = pages.start.as_ptr();
        // SAFETY: the mapping is writable, long enough, and nobody else's; afterwards it is never written again.
        unsafe {
            start.add(offset).copy_from_nonoverlapping(code.as_ptr(), code.len());
            rustix::mm::mprotect(start.cast(), size, MprotectFlags::READ | MprotectFlags::EXEC).ok()?;
        }
        Some(pages)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        ranges::forget(self.range);
        // SAFETY: the mapping is ours; who dropped what lies in it has made sure that nothing runs there.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

/// A piece of code, which may be run and not written. Its memory is given back when all that lies in the same pages has
/// been dropped.
#[derive(Debug)]
pub struct Executable {
    pages: Arc<Pages>,
    offset: usize,
    length: usize,
    /// Bytes that are in nobody else's use.
    size: usize,
}

impl Executable {
    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: the code lies in the pages.
        unsafe { self.pages.start.add(self.offset) }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the pages can be read for as long as this is there, and nothing writes these bytes.
        unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.length) }
    }

    /// Bytes of memory that it takes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: usize) -> bool {
        let first = self.start().addr().get();
        (first..first + self.length).contains(&address)
    }
}

/// Where a machine puts its code.
#[derive(Debug)]
pub struct CodeSpace {
    /// Each piece of code has pages of its own, which belong to no file.
    is_apart: bool,
    #[cfg(target_os = "linux")]
    open: Option<shared::Open>,
    /// Pieces that have pages of their own.
    alone: usize,
}

impl CodeSpace {
    /// An empty space. `is_apart`: each piece of code has pages of its own, which belong to no file.
    pub fn new(is_apart: bool) -> CodeSpace {
        CodeSpace {
            is_apart,
            #[cfg(target_os = "linux")]
            open: None,
            alone: 0,
        }
    }

    /// A copy of this code, which does not depend on its address. `None`: the system gives no memory, or allows no
    /// generated code.
    pub fn put(&mut self, code: &[u8]) -> Option<Executable> {
        #[cfg(target_os = "linux")]
        if !self.is_apart
            && let Some(made) = self.put_in_file(code)
        {
            return Some(made);
        }
        self.is_apart = true;
        // All of them would begin in the same few lines of a processor's cache. So the code begins in another line for
        // each number, if its pages have room for that; the factor has no divisor in common with what pages have of
        // lines.
        self.alone += 1;
        let spare = code.len().next_multiple_of(rustix::param::page_size()) - code.len();
        let offset = self.alone.wrapping_mul(11) % (spare / LINE + 1) * LINE;
        let pages = Pages::of(code, offset)?;
        let size = pages.size;
        Some(Executable { pages: Arc::new(pages), offset, length: code.len(), size })
    }

    #[cfg(target_os = "linux")]
    fn put_in_file(&mut self, code: &[u8]) -> Option<Executable> {
        if self.open.as_ref().is_none_or(|open| open.room() < code.len()) {
            self.open = Some(shared::Open::new(code.len().max(PAGES))?);
        }
        self.open.as_mut()?.put(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[cfg_attr(miri, ignore = "Miri runs no machine code")]
    fn what_was_written_runs() {
        for is_apart in [false, true] {
            let mut space = CodeSpace::new(is_apart);
            // More than fits into the first pages.
            let blocks: Vec<Executable> = (0..5000u32)
                .map(|number| {
                    // mov eax, number; ret
                    let [a, b, c, d] = number.to_le_bytes();
                    space.put(&[0xb8, a, b, c, d, 0xc3]).unwrap()
                })
                .collect();
            for (number, block) in blocks.iter().enumerate() {
                // SAFETY: the bytes are those of a function of this type.
                let function =
                    unsafe { std::mem::transmute::<*mut u8, extern "C" fn() -> u32>(block.start().as_ptr()) };
                assert_eq!(function(), number as u32);
                assert_eq!((block.bytes().len(), block.bytes()[0]), (6, 0xb8));
                let first = block.start().addr().get();
                assert!(may_hold(first) && may_hold(first + 5) && !may_hold(0));
                assert!(block.contains(first) && block.contains(first + 5) && !block.contains(first + 6));
                assert!(is_apart || block.size() == LINE);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files in memory")]
    fn code_longer_than_usual_pages_has_room() {
        let mut space = CodeSpace::new(false);
        let short = space.put(&[1; 100]).unwrap();
        let long = space.put(&vec![2; PAGES + 1]).unwrap();
        let next = space.put(&[3; 100]).unwrap();
        assert!(long.size() > PAGES);
        assert!(long.bytes().iter().all(|byte| *byte == 2));
        assert_eq!((short.bytes(), next.bytes()), (&[1; 100][..], &[3; 100][..]));
    }
}
