//! How often traced functions are called, and how long processes are in them.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use atoll_heap::Mutator;
use atoll_platform::clock;
use atoll_process::Own;
use atoll_term::{Build, Term};
use parking_lot::Mutex;

/// How often a function was called.
#[derive(Default)]
pub struct Count {
    calls: AtomicU64,
    paused: AtomicBool,
}

impl Count {
    /// One more, unless paused.
    pub fn add(&self) {
        if !self.paused.load(Ordering::Relaxed) {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Calls so far.
    pub fn value(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Counts from zero.
    pub fn restart(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.paused.store(false, Ordering::Relaxed);
    }

    /// Counts no more.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }
}

/// Calls of a function by a process, and nanoseconds.
#[derive(Clone, Copy, Default)]
struct Spent {
    calls: u64,
    nanoseconds: u64,
}

/// Calls and time of a function, by process.
#[derive(Default)]
pub struct Times {
    spent: Mutex<HashMap<Term, Spent>>,
    paused: AtomicBool,
}

impl Times {
    fn charge(&self, pid: Term, calls: u64, nanoseconds: u64) {
        if !self.paused.load(Ordering::Relaxed) {
            let mut spent = self.spent.lock();
            let spent = spent.entry(pid).or_default();
            spent.calls += calls;
            spent.nanoseconds += nanoseconds;
        }
    }

    /// Measures from zero.
    pub fn clear(&self) {
        self.spent.lock().clear();
        self.paused.store(false, Ordering::Relaxed);
    }

    /// Measures no more.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    /// `[{Pid, Calls, Seconds, Microseconds}]`
    pub fn term(&self, heap: &mut Mutator) -> Term {
        let spent: Vec<(Term, Spent)> = self.spent.lock().iter().map(|(pid, spent)| (*pid, *spent)).collect();
        let small = |number: u64| Term::small(number as i64);
        let rows: Vec<Term> = spent
            .into_iter()
            .map(|(pid, Spent { calls, nanoseconds })| {
                let micro = nanoseconds / 1000;
                heap.tuple(&[pid, small(calls), small(micro / 1_000_000), small(micro % 1_000_000)])
            })
            .collect();
        heap.list(rows)
    }
}

/// The measured functions that a process is in, the innermost last, and since when that one runs.
struct Timing {
    pid: Term,
    inside: Vec<Arc<Times>>,
    since: i64,
}

impl Timing {
    /// Charges the innermost function for the time up to now.
    fn charge(&mut self) {
        let now = clock::monotonic();
        if let Some(times) = self.inside.last() {
            times.charge(self.pid, 0, (now - self.since).max(0) as u64);
        }
        self.since = now;
    }
}

fn timing(own: &mut Own) -> Option<&mut Timing> {
    let timing: &mut (dyn Any + Send) = own.rare.as_mut()?.timing.as_deref_mut()?;
    timing.downcast_mut()
}

/// A process enters a measured function; `in_place` of the innermost one, which has called it as its last act.
pub fn enter(pid: Term, own: &mut Own, times: &Arc<Times>, in_place: bool) {
    times.charge(pid, 1, 0);
    if timing(own).is_none() {
        own.rare().timing = Some(Box::new(Timing { pid, inside: Vec::new(), since: clock::monotonic() }));
    }
    let Some(timing) = timing(own) else { return };
    timing.charge();
    if in_place {
        timing.inside.pop();
    }
    timing.inside.push(times.clone());
}

/// A process leaves the innermost measured function.
pub fn leave(own: &mut Own) {
    if let Some(timing) = timing(own) {
        timing.charge();
        timing.inside.pop();
    }
}

/// A process starts (true) or stops running.
pub fn scheduled(own: &mut Own, starts: bool) {
    if let Some(timing) = timing(own) {
        match starts {
            true => timing.since = clock::monotonic(),
            false => timing.charge(),
        }
    }
}
