//! Reserved address ranges: addresses first, memory when it is touched.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Miri knows no other mappings than these, and takes their memory at once.
const MAPPING: MapFlags = if cfg!(miri) { MapFlags::PRIVATE } else { MapFlags::PRIVATE.union(MapFlags::NORESERVE) };

/// Bytes that [`discard_in_portions`] gives back at once.
const PORTION: usize = 1 << 20;

/// The system has no memory or no addresses left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub bytes: usize,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "cannot allocate {} bytes of memory", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

/// A range of addresses that is ours until dropped. Pages take memory from their first use on, and read as zero.
#[derive(Debug)]
pub struct Reservation {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a reservation is a range of addresses and is tied to no thread.
unsafe impl Send for Reservation {}
// SAFETY: its methods on `&self` only read the bounds or ask the system to drop pages that the caller owns.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `bytes` (rounded up to pages) of readable and writable addresses.
    pub fn new(bytes: usize) -> Result<Reservation, OutOfMemory> {
        let page = Reservation::granule();
        let bytes = bytes.max(1).checked_next_multiple_of(page).ok_or(OutOfMemory { bytes })?;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MAPPING)
        };
        let start = start.ok().and_then(|start| NonNull::new(start.cast::<u8>())).ok_or(OutOfMemory { bytes })?;
        Ok(Reservation { start, bytes })
    }

    /// The range, which is the caller's from now on: its first address.
    pub fn into_raw(self) -> NonNull<u8> {
        std::mem::ManuallyDrop::new(self).start
    }

    /// The reservation that [`Reservation::into_raw`] gave out, for which so many bytes were asked.
    ///
    /// # Safety
    /// The range came from there, is of this length, and belongs to the caller.
    pub unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Reservation {
        Reservation { start, bytes: bytes.max(1).next_multiple_of(rustix::param::page_size()) }
    }

    /// Bytes that a reservation is a multiple of: a page.
    pub fn granule() -> usize {
        rustix::param::page_size()
    }

    /// Cuts the range to its first `bytes`, whole pages and less than all: the rest.
    pub fn split_off(&mut self, bytes: usize) -> Reservation {
        assert!(bytes > 0 && bytes < self.bytes && bytes.is_multiple_of(Reservation::granule()), "whole pages");
        // SAFETY: the place lies inside the range, so it is not null.
        let start = unsafe { self.start.add(bytes) };
        let rest = Reservation { start, bytes: self.bytes - bytes };
        self.bytes = bytes;
        rest
    }

    /// First address.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the memory of whole pages inside the range back; they read as zero afterwards.
    ///
    /// # Safety
    /// Nobody uses the contents of `offset..offset + bytes` any more.
    pub unsafe fn discard(&self, offset: usize, bytes: usize) {
        let bytes = bytes.min(self.bytes.saturating_sub(offset));
        // SAFETY: the range lies inside this mapping, and the caller has given up its contents.
        unsafe { discard(self.start.as_ptr().wrapping_add(offset), bytes) }
    }
}

/// Has the system make the pages of a range that have not been touched. It changes nothing of what is in the range, and
/// leaves out what is no memory of this program's.
///
/// # Errors
/// The system does not have that (Linux before 5.14).
pub fn make_pages(start: usize, bytes: usize) -> Result<(), NoSuchAdvice> {
    let page = rustix::param::page_size();
    let from = start / page * page;
    if cfg!(miri) {
        return Ok(());
    }
    let populate = |from: usize, bytes| {
        let range = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: the system writes nothing that a program can see, and only looks at addresses that are not mapped.
        unsafe { rustix::mm::madvise(range, bytes, Advice::LinuxPopulateWrite) }
    };
    // The system answers this also for memory that nobody may write, which the range can have become.
    if populate(from, start + bytes - from) != Err(rustix::io::Errno::INVAL) {
        return Ok(());
    }
    let mine = 0_u8;
    match populate(std::ptr::from_ref(&mine).addr() / page * page, page) {
        Err(rustix::io::Errno::INVAL) => Err(NoSuchAdvice),
        _ => Ok(()),
    }
}

/// The system has no function for what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchAdvice;

impl std::fmt::Display for NoSuchAdvice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("this system cannot make pages ahead")
    }
}

impl std::error::Error for NoSuchAdvice {}

/// Gives the memory of whole pages inside a range back; they read as zero afterwards.
///
/// # Safety
/// The range is private memory of this program, and nobody uses its contents any more.
unsafe fn discard(start: *mut u8, bytes: usize) {
    let page = rustix::param::page_size();
    let from = start.addr().next_multiple_of(page);
    let to = (start.addr() + bytes) / page * page;
    if from < to && cfg!(miri) {
        // Miri has no `madvise`.
        // SAFETY: as below.
        unsafe { start.with_addr(from).write_bytes(0, to - from) };
    } else if from < to {
        // SAFETY: the caller has given up the contents of these pages.
        let _ = unsafe { rustix::mm::madvise(start.with_addr(from).cast(), to - from, Advice::LinuxDontNeed) };
    }
}

/// As [`Reservation::discard`] for any private memory, a portion at a time. While the system takes pages away, other
/// threads that need memory of it wait: for the whole range this can be tens of milliseconds.
///
/// # Safety
/// The range is private memory of this program, and nobody uses its contents any more.
pub unsafe fn discard_in_portions(start: NonNull<u8>, bytes: usize) {
    for offset in (0..bytes).step_by(PORTION) {
        // SAFETY: as the caller's.
        unsafe { discard(start.as_ptr().wrapping_add(offset), PORTION.min(bytes - offset)) }
        std::thread::yield_now();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and a dropped reservation has no users.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_made_without_a_change_of_what_is_there() {
        let range = Reservation::new(1 << 20).unwrap();
        let start = range.start().as_ptr();
        // SAFETY: the byte lies inside the reservation, which only this test knows.
        unsafe { start.write(7) };
        assert_eq!(make_pages(start.addr() + 1, (1 << 20) - 1), Ok(()));
        // SAFETY: as above.
        assert_eq!(unsafe { (start.read(), start.add(1).read()) }, (7, 0));
        // The eighth field behind the name: page faults of this thread for which nothing was read from a disk.
        let faults = || -> usize {
            let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            text.rsplit(')').next().unwrap().split_whitespace().nth(7).unwrap().parse().unwrap()
        };
        let before = if cfg!(miri) { 0 } else { faults() };
        for offset in (0..1 << 20).step_by(4096) {
            // SAFETY: as above.
            unsafe { start.add(offset).write(1) }
        }
        assert!(cfg!(miri) || faults() < before + 128, "256 pages are there");
        if !cfg!(miri) {
            // SAFETY: nobody uses what is there any more.
            unsafe { rustix::mm::mprotect(start.cast(), 1 << 20, rustix::mm::MprotectFlags::empty()) }.unwrap();
        }
        assert_eq!(make_pages(start.addr(), 1 << 20), Ok(()), "nobody may write there");
        let addresses = start.addr();
        drop(range);
        assert_eq!(make_pages(addresses, 1 << 20), Ok(()), "it is nobody's, or another test's");
    }

    #[test]
    fn reserved_pages_read_as_zero_again_after_discard() {
        let range = Reservation::new(if cfg!(miri) { 1 << 20 } else { 1 << 30 }).unwrap();
        let byte = range.start().as_ptr().wrapping_add(8192);
        // SAFETY: the byte lies inside the reservation, which only this test knows.
        unsafe {
            byte.write(7);
            range.discard(4096, 8192);
            assert_eq!(byte.read(), 0);
        }
        assert!(Reservation::new(usize::MAX / 2).is_err());
    }
}
