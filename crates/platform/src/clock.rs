//! Clocks, in nanoseconds.

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

/// CPU time that the calling thread has used.
#[inline]
pub fn thread_cpu() -> i64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time that this operating system process has used.
#[inline]
pub fn process_cpu() -> i64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}
