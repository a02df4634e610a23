//! Work that each of the machine's threads does once, between what it does otherwise: schedulers between two slices,
//! threads for dirty calls between two calls. No thread waits for the others; the last one does what comes after it.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::system::System;

type Work = Box<dyn Fn() + Send + Sync>;
type After = Box<dyn FnOnce() + Send>;

/// The rounds of one machine.
#[derive(Default)]
pub struct Rounds {
    /// That of the last round that has begun.
    number: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Threads that take part in the next round.
    threads: usize,
    /// Those that some thread has not done yet.
    going: Vec<Arc<Round>>,
    /// How sleeping threads are woken, for each kind of threads.
    wakers: Vec<fn()>,
}

struct Round {
    number: u64,
    work: Work,
    /// Threads that have not done it.
    left: AtomicUsize,
    after: Mutex<Option<After>>,
}

impl fmt::Debug for Rounds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Rounds({})", self.number.load(Ordering::Relaxed))
    }
}

thread_local! {
    /// The last round that this thread has done, if it takes part.
    static DONE: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Rounds {
    /// This thread takes part from the next round on, for as long as the machine lives.
    pub fn take_part(&self) {
        let mut state = self.state.lock();
        if DONE.get().is_none() {
            state.threads += 1;
            DONE.set(Some(self.number.load(Ordering::Relaxed)));
        }
    }

    /// Threads of some kind may sleep: they are woken so. A function that is given twice counts once.
    pub fn wakes(&self, waker: fn()) {
        let mut state = self.state.lock();
        if !state.wakers.iter().any(|known| std::ptr::fn_addr_eq(*known, waker)) {
            state.wakers.push(waker);
        }
    }

    /// Has all threads that take part do this, and the last of them what comes after it.
    pub fn begin(&self, work: impl Fn() + Send + Sync + 'static, after: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        if state.threads == 0 {
            drop(state);
            work();
            return after();
        }
        let number = self.number.load(Ordering::Relaxed) + 1;
        let (left, after) = (AtomicUsize::new(state.threads), Mutex::new(Some(Box::new(after) as After)));
        state.going.push(Arc::new(Round { number, work: Box::new(work), left, after }));
        self.number.store(number, Ordering::Release);
        let wakers = state.wakers.clone();
        drop(state);
        System::get().schedule().wake_all();
        wakers.into_iter().for_each(|wake| wake());
    }

    /// The number of the last round that has begun; it changes when there is something to do.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// Does what this thread has not done yet, if it takes part.
    #[cold]
    pub fn run(&self) {
        let Some(done) = DONE.get() else { return };
        let state = self.state.lock();
        DONE.set(Some(self.number.load(Ordering::Relaxed)));
        let new: Vec<Arc<Round>> = state.going.iter().filter(|round| round.number > done).cloned().collect();
        drop(state);
        for round in new {
            (round.work)();
            if round.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.state.lock().going.retain(|other| other.number != round.number);
                let after = round.after.lock().take();
                after.into_iter().for_each(|after| after());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn each_way_to_wake_threads_is_known_once() {
        fn one() {}
        fn other() {
            std::hint::black_box(1);
        }
        let rounds = Rounds::default();
        [one, other, one].iter().for_each(|waker: &fn()| rounds.wakes(*waker));
        assert_eq!(rounds.state.lock().wakers.len(), 2);
    }

    #[test]
    fn each_thread_that_took_part_before_does_a_round_once_and_then_the_rest_follows() {
        let rounds = Arc::new(Rounds::default());
        let (worked, is_after) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let joined = Arc::new(Barrier::new(4));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (rounds, joined) = (rounds.clone(), joined.clone());
                std::thread::spawn(move || {
                    rounds.take_part();
                    rounds.take_part();
                    joined.wait();
                    joined.wait();
                    rounds.run();
                    rounds.run();
                })
            })
            .collect();
        joined.wait();
        {
            // As `begin` does it, which also wakes the threads of a machine.
            let mut state = rounds.state.lock();
            let (worked, at_end, is_after) = (worked.clone(), worked.clone(), is_after.clone());
            let after: After = Box::new(move || {
                assert_eq!(at_end.load(Ordering::Relaxed), 3);
                is_after.store(true, Ordering::Relaxed);
            });
            let left = AtomicUsize::new(state.threads);
            state.going.push(Arc::new(Round {
                number: 1,
                work: Box::new(move || {
                    worked.fetch_add(1, Ordering::Relaxed);
                }),
                left,
                after: Mutex::new(Some(after)),
            }));
            rounds.number.store(1, Ordering::Relaxed);
        }
        // This one comes too late to take part.
        rounds.take_part();
        rounds.run();
        joined.wait();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(worked.load(Ordering::Relaxed), 3);
        assert!(is_after.load(Ordering::Relaxed));
        assert!(rounds.state.lock().going.is_empty());
    }
}
