//! The plan of a limited address space.
//!
//! A machine reserves far more addresses than it will use, for addresses cost nothing, unless `ulimit -v` limits them.
//! Then each reservation takes a part of the limit that this plan gives it, whatever is free at that moment: the one
//! that came first would otherwise leave too little for the others, and whether a machine starts would depend on which
//! power of two fits the limit. What the plan leaves is for all that is allocated as it is needed.

use std::sync::OnceLock;

use crate::memory::{OutOfMemory, Reservation};

/// What addresses are reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The one heap of an architecture that has one.
    Heap,
    /// Objects that never move.
    Immovable,
    /// The message area, which lies behind these.
    MessageArea,
    /// The native stack of a scheduler.
    SchedulerStack,
    /// Those of all threads that stand in for schedulers.
    StandIns,
}

impl Share {
    /// The limit divided by that is its part. An architecture has a heap, or a message area, or neither.
    fn divisor(self) -> usize {
        match self {
            Share::Heap => 2,
            Share::MessageArea => 4,
            Share::Immovable | Share::StandIns => 8,
            Share::SchedulerStack => 32,
        }
    }

    /// Bytes that it may take at most; half of all addresses, or less, where they are not limited.
    pub fn most(self) -> usize {
        limit() / self.divisor()
    }

    /// Reserves so many bytes for it, halved until both the plan and the system allow it, so many times at most. The
    /// smallest is asked for, whatever the plan says.
    ///
    /// # Errors
    /// The system does not give the smallest.
    pub fn reserve(self, bytes: usize, halvings: usize) -> Result<Reservation, OutOfMemory> {
        let planned = (0..halvings).map(|step| bytes >> step).filter(|bytes| *bytes <= self.most());
        match planned.into_iter().find_map(|bytes| Reservation::new(bytes).ok()) {
            Some(reservation) => Ok(reservation),
            None => Reservation::new(bytes >> halvings),
        }
    }
}

/// Addresses that the plan is about, in bytes: those that this process may use (`ulimit -v`), without what it used when
/// this was asked first. An allocator may have taken a gigabyte by then.
fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
        let limit = limit.and_then(|bytes| usize::try_from(bytes).ok());
        limit.map_or(usize::MAX, |bytes| bytes.saturating_sub(used()))
    })
}

/// Addresses that this process uses now, in bytes; 0 where the system does not tell.
fn used() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().next().and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * rustix::param::page_size()
}

/// Where addresses are limited, leaves them to the machine, and makes the plan. The C library, whose memory only a few
/// libraries use, would take 64 MB of them for each thread, and 128 for a moment, as long as there are any. To be
/// called before threads are started.
pub fn save() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if limit() < usize::MAX {
        // SAFETY: sets a figure of the C library's allocator.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_each_architecture_leave_something() {
        // Two schedulers, and a fortieth of a heap for what `unified` knows of it.
        let always = [Share::Immovable, Share::StandIns, Share::SchedulerStack, Share::SchedulerStack];
        let sum: usize = always.iter().map(|part| part.most()).sum();
        let all = limit();
        assert!(sum + Share::Heap.most() + Share::Heap.most() / 20 < all / 8 * 7);
        assert!(sum + Share::MessageArea.most() < all / 8 * 7);
    }

    #[test]
    fn what_the_system_refuses_is_halved() {
        let bytes = Share::Heap.reserve(1 << 47, 30).expect("a part of it").bytes();
        assert!(bytes < 1 << 47 && bytes.is_power_of_two());
        assert!(Share::Heap.reserve(usize::MAX / 2 + 1, 1).is_err());
    }
}
