//! The one contiguous address range of a heap, reserved at once and backed by memory only where it is touched.
//!
//! This is the only module that calls the operating system. "Remapping" pages, as the paper does, is here: giving the
//! memory of free pages back ([`Area::decommit`]) and touching as many others, which lets the kernel move page frames
//! between addresses without a mapping of their own for each page.

use crate::error::HeapError;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::Range;

/// Bytes of a new block that are fetched into the cache; the processor sees by itself where the program goes on.
const AHEAD: usize = 1024;

/// A reserved range of addresses. Zeroed wherever it was not written since it was reserved or decommitted.
#[derive(Debug)]
pub(crate) struct Area {
    mapping: *mut u8,
    mapped: usize,
    base: usize,
    bytes: usize,
    /// Whether the mapping ends with this value.
    owned: bool,
}

// SAFETY: an `Area` only owns addresses; who may touch which of them is the business of its users.
unsafe impl Send for Area {}
// SAFETY: as above; the methods of a shared `Area` change nothing but the backing of pages their caller owns.
unsafe impl Sync for Area {}

impl Area {
    /// Reserves `bytes` of addresses, aligned to `align` (a power of two).
    pub(crate) fn reserve(bytes: usize, align: usize) -> Result<Area, HeapError> {
        let mapped = bytes + align;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice overlaps nothing.
        let mapping = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|error| HeapError::Reserve { bytes: mapped, errno: error.raw_os_error() })?;
        let base = (mapping.addr() + align - 1) & !(align - 1);
        Ok(Area { mapping: mapping.cast(), mapped, base, bytes, owned: true })
    }

    /// Addresses that the caller has reserved, and keeps.
    ///
    /// # Safety
    /// `start..start + bytes` is zeroed private anonymous memory, aligned to the pages of the collector, that nobody
    /// else uses and that outlives the area.
    pub(crate) unsafe fn borrowed(start: *mut u8, bytes: usize) -> Area {
        Area { mapping: start, mapped: bytes, base: start.addr(), bytes, owned: false }
    }

    /// The first address.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// All addresses.
    pub(crate) fn range(&self) -> Range<usize> {
        self.base..self.base + self.bytes
    }

    /// A pointer to an address of the range.
    #[inline]
    pub(crate) fn pointer(&self, address: usize) -> *mut u64 {
        self.mapping.with_addr(address).cast()
    }

    /// Asks the processor to fetch what is at an address of the range, without waiting for it.
    #[inline]
    pub(crate) fn prefetch(&self, address: usize) {
        prefetch(self.pointer(address).cast());
    }

    /// Fetches what the program will write to soon: a block that was just allocated, the first of it.
    #[inline]
    pub(crate) fn prefetch_block(&self, address: usize, bytes: usize) {
        for line in (address..address + bytes.min(AHEAD)).step_by(64) {
            self.prefetch(line);
        }
    }

    /// Gives the memory behind whole pages back to the operating system; they read as zero afterwards.
    ///
    /// # Safety
    /// Nothing live may be stored in `address..address + bytes`, which lies in the range, in units of 4 KiB.
    pub(crate) unsafe fn decommit(&self, address: usize, bytes: usize) {
        let start = self.mapping.with_addr(address);
        // SAFETY: the caller owns these pages and keeps nothing in them.
        let result = unsafe { madvise(start.cast(), bytes, Advice::LinuxDontNeed) };
        debug_assert!(result.is_ok(), "madvise on our own mapping");
    }

    /// As [`Area::populate`], with large pages where the range holds whole ones and the system has any.
    pub(crate) fn populate_large(&self, address: usize, bytes: usize) {
        let start = self.mapping.with_addr(address);
        // SAFETY: both advices change no content. The second one keeps the system from making large pages again, behind
        // our back, where memory was given back.
        unsafe {
            let _ = madvise(start.cast(), bytes, Advice::LinuxHugepage);
            self.populate(address, bytes);
            let _ = madvise(start.cast(), bytes, Advice::LinuxNoHugepage);
        }
    }

    /// Backs whole pages with memory now, instead of at their first touch.
    pub(crate) fn populate(&self, address: usize, bytes: usize) {
        let start = self.mapping.with_addr(address);
        // SAFETY: populating changes no content. Where the kernel does not know the advice, the first touch does it.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxPopulateWrite) };
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // SAFETY: the mapping is ours, and the owner that drops the area has no pointer into it left.
        let result = unsafe { munmap(self.mapping.cast(), self.mapped) };
        debug_assert!(result.is_ok(), "munmap of our own mapping");
    }
}

/// Asks the processor to fetch what is at an address, without waiting for it.
#[inline]
pub fn prefetch(pointer: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching has no effect that a program could see, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(pointer.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = pointer;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn decommitted_pages_read_as_zero() {
        let area = Area::reserve(1 << 20, 8192).expect("reserve 1 MiB");
        let pointer = area.pointer(area.base() + 8192);
        assert_eq!(area.base() % 8192, 0);
        // SAFETY: the page is ours and not shared with anybody.
        unsafe {
            pointer.write(7);
            assert_eq!(pointer.read(), 7);
            area.decommit(area.base() + 8192, 8192);
            assert_eq!(pointer.read(), 0);
        }
    }

    #[test]
    fn an_impossible_reservation_is_an_error() {
        assert!(matches!(Area::reserve(1 << 60, 4096), Err(HeapError::Reserve { .. })));
    }
}
