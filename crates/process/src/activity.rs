//! Which processes were active (ran, or were sent a signal) since a collector last asked to forget: a bit for each
//! index of the process table.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use atoll_platform::{OutOfMemory, Reservation};

const BITS: usize = u64::BITS as usize;

/// The bits. Nothing is noted before the first call of [`Activity::forget`]: until then all count as active.
pub(crate) struct Activity {
    followed: AtomicBool,
    bits: Reservation,
}

impl Activity {
    /// For a table of this size.
    pub(crate) fn new(limit: usize) -> Result<Activity, OutOfMemory> {
        let bits = Reservation::new(limit.div_ceil(BITS) * size_of::<AtomicU64>())?;
        Ok(Activity { followed: AtomicBool::new(false), bits })
    }

    fn group(&self, group: usize) -> &AtomicU64 {
        debug_assert!(group * size_of::<AtomicU64>() < self.bits.bytes());
        // SAFETY: the group lies in the reservation, whose memory is zero at first.
        unsafe { &*self.bits.start().as_ptr().cast::<AtomicU64>().add(group) }
    }

    /// Whether activity is noted.
    pub(crate) fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Relaxed)
    }

    /// The process at this index is active.
    #[inline]
    pub(crate) fn note(&self, index: usize) {
        if self.is_followed() {
            let (group, bit) = (self.group(index / BITS), 1 << (index % BITS));
            if group.load(Ordering::Relaxed) & bit == 0 {
                group.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Visits the indices below `top` of those that were active. No thread notes anything meanwhile.
    pub(crate) fn each(&self, top: usize, mut visit: impl FnMut(usize)) {
        for group in 0..top.div_ceil(BITS) {
            let mut bits = self.group(group).load(Ordering::Relaxed);
            while bits != 0 {
                visit(group * BITS + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// From now on only those at the indices below `top` count as active for which `still` holds. No thread notes
    /// anything meanwhile.
    pub(crate) fn forget(&self, top: usize, still: impl Fn(usize) -> bool) {
        let was_followed = self.followed.swap(true, Ordering::Relaxed);
        for group in 0..top.div_ceil(BITS) {
            let before = if was_followed { self.group(group).load(Ordering::Relaxed) } else { u64::MAX };
            if before == 0 {
                continue;
            }
            let kept = (0..BITS).filter(|bit| before >> bit & 1 != 0 && still(group * BITS + bit));
            let bits = kept.fold(0, |bits, bit| bits | 1 << bit);
            self.group(group).store(bits, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_active_is_found_until_it_is_forgotten() {
        let activity = Activity::new(1000).unwrap();
        let active = || {
            let mut found = Vec::new();
            activity.each(1000, |index| found.push(index));
            found
        };
        activity.note(3);
        assert!(!activity.is_followed() && active().is_empty());
        activity.forget(1000, |index| index == 70);
        assert_eq!(active(), [70]);
        for index in [3, 999, 3, 64] {
            activity.note(index);
        }
        assert_eq!(active(), [3, 64, 70, 999]);
        activity.forget(1000, |index| index % 2 == 0);
        assert_eq!(active(), [64, 70]);
    }
}
