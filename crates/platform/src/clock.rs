//! Clocks, in nanoseconds: those of the system, and that of a machine, which programs see. A machine has the system's
//! clock unless its scheduler has one of its own.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::{ClockId, Timespec, clock_gettime};

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Monotonic time.
#[inline]
pub fn monotonic() -> i64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time since 1970 (UTC).
#[inline]
pub fn system() -> i64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// CPU time that the calling thread has used; monotonic time under Miri, which has no such clock.
#[inline]
pub fn thread_cpu() -> i64 {
    if cfg!(miri) {
        return monotonic();
    }
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time that this operating system process has used.
#[inline]
pub fn process_cpu() -> i64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// A clock that stands still until it is advanced.
#[derive(Debug)]
pub struct Virtual(AtomicI64);

impl Virtual {
    /// A clock that shows this time.
    pub const fn starting_at(time: i64) -> Virtual {
        Virtual(AtomicI64::new(time))
    }

    /// What it shows.
    pub fn now(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }

    /// So much time passes.
    pub fn advance(&self, nanoseconds: i64) {
        self.0.fetch_add(nanoseconds, Ordering::AcqRel);
    }

    /// Time passes until then, unless that is over.
    pub fn advance_to(&self, time: i64) {
        self.0.fetch_max(time, Ordering::AcqRel);
    }
}

/// System time minus monotonic time where a machine has a clock of its own: monotonic time 0 is the beginning of the
/// year 2000.
const OFFSET_OF_VIRTUAL: i64 = 946_684_800_000_000_000;

thread_local! {
    /// The clock of this thread's machine, if it is not the system's.
    static OWN: Cell<Option<&'static Virtual>> = const { Cell::new(None) };
}

/// This thread's machine has this clock; with `None`, the system's.
pub fn enter(clock: Option<&'static Virtual>) {
    OWN.set(clock);
}

/// Monotonic time as programs of this thread's machine see it. What the machine measures of itself it measures with
/// [`monotonic`].
#[inline]
pub fn now() -> i64 {
    match OWN.get() {
        None => monotonic(),
        Some(own) => own.now(),
    }
}

/// Time since 1970 (UTC) as programs of this thread's machine see it.
#[inline]
pub fn now_since_1970() -> i64 {
    match OWN.get() {
        None => system(),
        Some(own) => own.now() + OFFSET_OF_VIRTUAL,
    }
}

/// System time minus monotonic time of this thread's machine. It is fixed when it is first asked for: time does not
/// warp.
pub fn offset() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    match OWN.get() {
        None => *OFFSET.get_or_init(|| system() - monotonic()),
        Some(_) => OFFSET_OF_VIRTUAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sees_the_clock_of_its_machine() {
        static CLOCK: Virtual = Virtual::starting_at(5);
        let seen = std::thread::spawn(|| {
            enter(Some(&CLOCK));
            CLOCK.advance(2);
            CLOCK.advance_to(3);
            (now(), now_since_1970() - offset())
        });
        assert_eq!(seen.join().expect("the thread does not panic"), (7, 7));
        let before = monotonic();
        assert!((before..=monotonic()).contains(&now()) || now() > before);
    }
}
