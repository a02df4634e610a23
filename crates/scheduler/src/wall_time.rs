//! How long schedulers have had something to do: measured from when it is switched on, which costs a busy scheduler
//! nothing and one that runs out of work a look at the clock.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use atoll_platform::clock;

/// One scheduler's time without work.
#[derive(Default)]
pub struct Idle {
    /// It has no work.
    rests: AtomicBool,
    /// Since when it has none (monotonic nanoseconds); 0 if it has work, or nothing is measured.
    since: AtomicI64,
    /// Nanoseconds before that.
    before: AtomicI64,
}

impl Idle {
    /// Whether it has no work.
    pub fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }
}

/// Whether it is measured, and since when.
#[derive(Default)]
pub struct WallTime {
    on: AtomicBool,
    start: AtomicI64,
}

impl WallTime {
    /// Switches measuring on or off; `idle` gives each scheduler's time. Returns what it was before.
    pub fn switch<'a>(&self, on: bool, idle: impl Iterator<Item = &'a Idle>) -> bool {
        let old = self.on.load(Ordering::Acquire);
        if on == old {
            return old;
        }
        let now = clock::monotonic();
        self.start.store(now, Ordering::Release);
        self.on.store(on, Ordering::Release);
        for idle in idle {
            idle.before.store(0, Ordering::Relaxed);
            idle.since.store(if on && idle.rests.load(Ordering::Relaxed) { now } else { 0 }, Ordering::Relaxed);
        }
        old
    }

    /// A scheduler has run out of work.
    pub fn rest(&self, idle: &Idle) {
        idle.rests.store(true, Ordering::Relaxed);
        if self.on.load(Ordering::Relaxed) {
            idle.since.store(clock::monotonic(), Ordering::Relaxed);
        }
    }

    /// It looks for work again.
    pub fn work(&self, idle: &Idle) {
        idle.rests.store(false, Ordering::Relaxed);
        let since = idle.since.load(Ordering::Relaxed);
        if since != 0 {
            idle.before.fetch_add(clock::monotonic() - since, Ordering::Relaxed);
            idle.since.store(0, Ordering::Relaxed);
        }
    }

    /// Nanoseconds with work, and all nanoseconds, of each scheduler; nothing if they are not measured.
    pub fn read<'a>(&self, idle: impl Iterator<Item = &'a Idle>) -> Option<Vec<(i64, i64)>> {
        if !self.on.load(Ordering::Acquire) {
            return None;
        }
        let now = clock::monotonic();
        let all = now - self.start.load(Ordering::Acquire);
        let active = |idle: &Idle| {
            let since = idle.since.load(Ordering::Relaxed);
            let present = if since == 0 { 0 } else { now - since };
            all - (idle.before.load(Ordering::Relaxed) + present).clamp(0, all)
        };
        Some(idle.map(|idle| (active(idle), all)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_work_is_not_active() {
        let (wall, idle) = (WallTime::default(), [Idle::default(), Idle::default()]);
        assert_eq!(wall.read(idle.iter()), None);
        wall.rest(&idle[1]);
        assert!(!wall.switch(true, idle.iter()));
        std::thread::sleep(std::time::Duration::from_millis(5));
        let times = wall.read(idle.iter()).unwrap();
        assert_eq!(times[0].0, times[0].1);
        assert!(times[1].0 < 5_000_000 && times[1].1 >= 5_000_000, "{times:?}");
        wall.work(&idle[1]);
        let before = wall.read(idle.iter()).unwrap()[1];
        std::thread::sleep(std::time::Duration::from_millis(2));
        let after = wall.read(idle.iter()).unwrap()[1];
        assert!(after.0 - before.0 >= 2_000_000);
        assert!(wall.switch(false, idle.iter()));
        assert_eq!(wall.read(idle.iter()), None);
    }
}
