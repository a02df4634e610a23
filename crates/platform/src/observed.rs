//! What another thread of this program is doing, as the operating system sees it.

/// A thread that others look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    number: i32,
    clock: libc::clockid_t,
}

impl Observed {
    /// The calling thread.
    pub fn this_thread() -> Observed {
        let mut clock = libc::CLOCK_MONOTONIC;
        // SAFETY: the thread lives, and the place is ours. Miri has no such function.
        if !cfg!(miri) && unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) } != 0 {
            clock = libc::CLOCK_MONOTONIC;
        }
        Observed { number: rustix::thread::gettid().as_raw_nonzero().get(), clock }
    }

    /// CPU time in nanoseconds that it has used; 0 when it is gone.
    pub fn cpu(self) -> i64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the place is ours; a clock that is no more gives an error, and leaves zeros.
        unsafe { libc::clock_gettime(self.clock, &raw mut time) };
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// Whether it waits for something other than a processor; false when it is gone.
    pub fn waits(self) -> bool {
        let line = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.number)).unwrap_or_default();
        // The state follows the name, which stands in parentheses and may have any characters.
        line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D', 'T', 't']))
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thread_is_seen_to_work_and_to_wait() {
        let ((tell, told), (go, wait)) = (channel(), channel::<()>());
        let thread = std::thread::spawn(move || {
            tell.send(Observed::this_thread()).unwrap();
            let work = Instant::now();
            while Observed::this_thread().cpu() < 20_000_000 && work.elapsed() < Duration::from_secs(10) {}
            tell.send(Observed::this_thread()).unwrap();
            wait.recv().unwrap_err();
        });
        let observed = told.recv().unwrap();
        assert_eq!(told.recv().unwrap(), observed);
        let until = Instant::now() + Duration::from_secs(10);
        while !observed.waits() {
            assert!(Instant::now() < until, "it waits for what does not come");
        }
        assert!(observed.cpu() >= 20_000_000);
        assert!(!Observed::this_thread().waits(), "this thread runs");
        drop(go);
        thread.join().unwrap();
    }
}
