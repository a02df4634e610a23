//! A segment under its lock. The number of its rows stands beside it as well, with a version, so that the rows of a
//! table are counted without locks unless a thread is writing (`ets:info(Table, size)`).

use std::ops::{Deref, DerefMut};

use atoll_platform::sync::{AtomicU32, AtomicUsize, Ordering, RwLock, RwLockWriteGuard, fence};
use smallvec::SmallVec;

use crate::segment::Segment;

#[repr(align(64))]
pub(crate) struct Locked {
    segment: RwLock<Segment>,
    /// Odd while a thread may write.
    version: AtomicU32,
    rows: AtomicUsize,
}

/// The right to write.
pub(crate) struct Writing<'a> {
    segment: RwLockWriteGuard<'a, Segment>,
    of: &'a Locked,
}

impl Locked {
    /// An empty one: see [`Segment::new`].
    pub(crate) fn new(skip: u32) -> Locked {
        Locked { segment: RwLock::new(Segment::new(skip)), version: AtomicU32::new(0), rows: AtomicUsize::new(0) }
    }

    #[inline]
    pub(crate) fn read(&self) -> impl Deref<Target = Segment> {
        self.segment.read()
    }

    #[inline]
    pub(crate) fn write(&self) -> Writing<'_> {
        let segment = self.segment.write();
        // Who sees what is written below sees this first.
        self.version.store(self.version.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        Writing { segment, of: self }
    }

    /// The rows of all of them at one moment; `None` if a thread was writing.
    pub(crate) fn count(all: &[Locked]) -> Option<usize> {
        let mut versions: SmallVec<[u32; 64]> = SmallVec::with_capacity(all.len());
        let mut rows = 0;
        for one in all {
            let version = one.version.load(Ordering::Acquire);
            if version % 2 == 1 {
                return None;
            }
            versions.push(version);
            rows += one.rows.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        // Between the two passes, nobody wrote anywhere.
        let same = all.iter().zip(versions).all(|(one, version)| one.version.load(Ordering::Relaxed) == version);
        same.then_some(rows)
    }
}

impl Drop for Writing<'_> {
    #[inline]
    fn drop(&mut self) {
        self.of.rows.store(self.segment.rows, Ordering::Relaxed);
        self.of.version.store(self.of.version.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

impl Deref for Writing<'_> {
    type Target = Segment;

    #[inline]
    fn deref(&self) -> &Segment {
        &self.segment
    }
}

impl DerefMut for Writing<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Segment {
        &mut self.segment
    }
}
