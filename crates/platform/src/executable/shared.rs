//! Pages of a file in memory, which are executable from the start and are never written where they are mapped.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

use super::{Executable, LINE, Pages};

/// Pages with room for more code.
#[derive(Debug)]
pub(super) struct Open {
    file: OwnedFd,
    pages: Arc<Pages>,
    used: usize,
}

impl Open {
    pub(super) fn new(bytes: usize) -> Option<Open> {
        let size = bytes.checked_next_multiple_of(rustix::param::page_size())?;
        let file = rustix::fs::memfd_create("atoll-code", MemfdFlags::CLOEXEC).ok()?;
        rustix::fs::ftruncate(&file, size as u64).ok()?;
        let access = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new mapping at an address of the system's choice touches no existing memory.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), size, access, MapFlags::SHARED, &file, 0) };
        Some(Open { file, pages: Arc::new(Pages::mapped(start, size)?), used: 0 })
    }

    pub(super) fn room(&self) -> usize {
        self.pages.size - self.used
    }

    pub(super) fn put(&mut self, code: &[u8]) -> Option<Executable> {
        let offset = self.used;
        let mut written = 0;
        while written < code.len() {
            let at = (offset + written) as u64;
            match rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.file, &code[written..], at)).ok()? {
                0 => return None,
                more => written += more,
            }
        }
        let size = code.len().next_multiple_of(LINE).min(self.room());
        self.used += size;
        Some(Executable { pages: self.pages.clone(), offset, length: code.len(), size })
    }
}
