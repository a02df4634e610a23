//! Reserved address ranges: addresses first, memory when it is touched.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Miri knows no other mappings than these, and takes their memory at once.
const MAPPING: MapFlags = if cfg!(miri) { MapFlags::PRIVATE } else { MapFlags::PRIVATE.union(MapFlags::NORESERVE) };

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
        let page = rustix::param::page_size();
        let bytes = bytes.max(1).checked_next_multiple_of(page).ok_or(OutOfMemory { bytes })?;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MAPPING)
        };
        let start = start.ok().and_then(|start| NonNull::new(start.cast::<u8>())).ok_or(OutOfMemory { bytes })?;
        Ok(Reservation { start, bytes })
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
        let page = rustix::param::page_size();
        let from = offset.next_multiple_of(page);
        let to = (offset + bytes).min(self.bytes) / page * page;
        if from < to && cfg!(miri) {
            // Miri has no `madvise`.
            // SAFETY: as below.
            unsafe { self.start.as_ptr().add(from).write_bytes(0, to - from) };
        } else if from < to {
            // SAFETY: the pages lie inside this mapping, and the caller has given up their contents.
            let _ =
                unsafe { rustix::mm::madvise(self.start.as_ptr().add(from).cast(), to - from, Advice::LinuxDontNeed) };
        }
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
