//! The state of a process: it waits, is in a run queue, or runs on a scheduler. Also how another thread wakes it.

use atoll_platform::sync::{AtomicU32, Ordering};

/// What a scheduler knows of a process. See [`RunState::wake`] for the transitions.
pub mod state {
    /// It waits; the thread that sends it a signal puts it into a run queue.
    pub const IDLE: u32 = 0;
    /// Is in a run queue.
    pub const QUEUED: u32 = 1;
    /// Runs on a scheduler.
    pub const RUNNING: u32 = 2;
    /// Runs, and a signal has come since it was last looked for.
    pub const RUNNING_PENDING: u32 = 3;
    /// Has ended.
    pub const ENDED: u32 = 4;
}

/// One of [`state`].
#[derive(Debug)]
pub struct RunState(AtomicU32);

impl RunState {
    /// `QUEUED`
    pub fn queued() -> RunState {
        RunState(AtomicU32::new(state::QUEUED))
    }

    /// The state, for information.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// A signal has been pushed: returns whether the caller must put the process into a run queue.
    ///
    /// ```text
    ///   IDLE -> QUEUED (caller enqueues)     RUNNING -> RUNNING_PENDING     others: nothing
    /// ```
    ///
    /// The sender writes the state even if it stays the same, and the thread that takes the process on exchanges it. So
    /// either the next slice sees the signal, or the sender sees `RUNNING` or `IDLE`. With plain loads and stores, each
    /// could miss the other's write.
    #[inline]
    pub fn wake(&self) -> bool {
        let mut now = self.0.load(Ordering::Acquire);
        loop {
            let next = match now {
                state::IDLE => state::QUEUED,
                state::RUNNING => state::RUNNING_PENDING,
                state::ENDED => return false,
                same => same,
            };
            match self.0.compare_exchange_weak(now, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return now == state::IDLE,
                Err(other) => now = other,
            }
        }
    }

    /// A scheduler has taken the process out of its run queue.
    #[inline]
    pub fn start_running(&self) {
        self.0.swap(state::RUNNING, Ordering::AcqRel);
    }

    /// The process waits: returns whether it may sleep. If not, a signal has come and it runs on.
    #[inline]
    pub fn try_sleep(&self) -> bool {
        match self.0.compare_exchange(state::RUNNING, state::IDLE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(_) => {
                self.0.swap(state::RUNNING, Ordering::AcqRel);
                false
            }
        }
    }

    /// Takes a process that waits, as a scheduler that runs it would, visits it and gives it back; false if it does not
    /// wait. `enqueue` puts it into a run queue if it was woken meanwhile.
    pub fn claim(&self, visit: impl FnOnce(), enqueue: impl FnOnce()) -> bool {
        if self.0.compare_exchange(state::IDLE, state::RUNNING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return false;
        }
        visit();
        if !self.try_sleep() {
            self.requeue();
            enqueue();
        }
        true
    }

    /// The process has used its time slice, and goes to a run queue.
    #[inline]
    pub fn requeue(&self) {
        self.0.swap(state::QUEUED, Ordering::AcqRel);
    }

    /// The process has ended.
    pub fn end(&self) {
        self.0.store(state::ENDED, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod loom_model {
    use atoll_heap::Message;
    use loom::sync::Arc;

    use super::*;
    use crate::inbox::Inbox;

    /// A process's inbox and state, and a run queue with room for it alone.
    struct Small {
        inbox: Inbox,
        state: RunState,
        queue: AtomicU32,
    }

    impl Small {
        fn new() -> Arc<Small> {
            Arc::new(Small { inbox: Inbox::default(), state: RunState::queued(), queue: AtomicU32::new(1) })
        }

        fn send(&self) {
            match self.inbox.push(Message::new(0)) {
                Ok(wakes) => {
                    if wakes && self.state.wake() {
                        self.enqueue();
                    }
                }
                Err(_) => panic!("the inbox is open"),
            }
        }

        fn enqueue(&self) {
            assert_eq!(self.queue.swap(1, Ordering::AcqRel), 0, "queued twice");
        }

        /// Takes all messages; how many.
        fn take(&self) -> usize {
            self.inbox.take().count()
        }

        /// What a scheduler does until the process sleeps, or has used a slice; returns how many messages it took.
        fn run(&self, yields: bool) -> usize {
            self.state.start_running();
            let mut taken = 0;
            loop {
                taken += self.take();
                if yields {
                    self.state.requeue();
                    self.enqueue();
                    return taken;
                }
                if self.state.try_sleep() {
                    return taken;
                }
            }
        }

        /// Runs it as often as it is in the queue.
        fn run_all(&self) -> usize {
            let mut taken = 0;
            while self.queue.swap(0, Ordering::AcqRel) == 1 {
                taken += self.run(false);
            }
            taken
        }
    }

    fn model(check: fn()) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(check);
    }

    #[test]
    fn no_wake_up_is_lost() {
        model(|| {
            let process = Small::new();
            let sender = Arc::clone(&process);
            let thread = loom::thread::spawn(move || sender.send());
            let mut taken = process.run_all();
            thread.join().unwrap();
            taken += process.run_all();
            assert_eq!(taken, 1);
        });
    }

    /// What comes behind a signal that wakes nobody wakes the process.
    #[test]
    fn no_wake_up_is_lost_behind_what_wakes_nobody() {
        model(|| {
            let process = Small::new();
            let (sender, quiet) = (Arc::clone(&process), Arc::clone(&process));
            let threads = [
                loom::thread::spawn(move || assert!(quiet.inbox.push_without_waking(Message::new(0)).is_ok())),
                loom::thread::spawn(move || sender.send()),
            ];
            let mut taken = process.run_all();
            for thread in threads {
                thread.join().unwrap();
            }
            taken += process.run_all();
            let left = process.take();
            assert!(taken + left == 2 && left <= 1, "taken {taken}, left {left}");
            // What was left came behind the other, or while nobody sent: alone.
            assert!(taken >= 1);
        });
    }

    #[test]
    fn no_wake_up_is_lost_between_two_senders() {
        model(|| {
            let process = Small::new();
            let senders = [(); 2].map(|()| {
                let sender = Arc::clone(&process);
                loom::thread::spawn(move || sender.send())
            });
            let mut taken = process.run_all();
            for sender in senders {
                sender.join().unwrap();
            }
            taken += process.run_all();
            assert_eq!(taken, 2);
        });
    }

    /// A slice ends while a signal comes, and another scheduler goes on.
    #[test]
    fn no_wake_up_is_lost_when_a_slice_ends() {
        model(|| {
            let process = Small::new();
            let (sender, other) = (Arc::clone(&process), Arc::clone(&process));
            let sending = loom::thread::spawn(move || sender.send());
            let first =
                loom::thread::spawn(
                    move || {
                        if other.queue.swap(0, Ordering::AcqRel) == 1 { other.run(true) } else { 0 }
                    },
                );
            let mut taken = process.run_all();
            sending.join().unwrap();
            taken += first.join().unwrap();
            taken += process.run_all();
            assert_eq!(taken, 1);
        });
    }

    /// A process whose roots are found once in a cycle: by the collector, which claims it while it waits, or by the
    /// scheduler that runs it next.
    struct Rooted {
        small: Small,
        cycle: AtomicU32,
        /// The cycle in which its roots were found last.
        mark: AtomicU32,
        /// What belongs to the thread that has the process: how often its roots were found.
        found: loom::cell::UnsafeCell<usize>,
    }

    impl Rooted {
        fn new() -> Arc<Rooted> {
            Arc::new(Rooted {
                small: Small { inbox: Inbox::default(), state: RunState::queued(), queue: AtomicU32::new(1) },
                cycle: AtomicU32::new(0),
                mark: AtomicU32::new(0),
                found: loom::cell::UnsafeCell::new(0),
            })
        }

        fn is_wanted(&self) -> bool {
            self.mark.load(Ordering::Acquire) != self.cycle.load(Ordering::Acquire)
        }

        fn scan(&self) {
            // SAFETY: the caller has the process; loom checks it.
            self.found.with_mut(|found| unsafe { *found += 1 });
            self.mark.store(self.cycle.load(Ordering::Relaxed), Ordering::Release);
        }

        /// As `system::claim`: whether nothing is left to be done for this process.
        fn claim(&self) -> bool {
            if !self.is_wanted() {
                return true;
            }
            self.small.state.claim(
                || {
                    if self.is_wanted() {
                        self.scan()
                    }
                },
                || self.small.enqueue(),
            );
            !self.is_wanted()
        }

        /// A scheduler takes the process out of the queue, if it is there, and runs it until it sleeps.
        fn run(&self) -> usize {
            if self.small.queue.swap(0, Ordering::AcqRel) == 0 {
                return 0;
            }
            self.small.state.start_running();
            if self.is_wanted() {
                self.scan();
            }
            let mut taken = 0;
            loop {
                // SAFETY: this thread runs the process; loom checks that nobody else has it.
                self.found.with_mut(|found| unsafe { *found += 0 });
                taken += self.small.take();
                if self.small.state.try_sleep() {
                    return taken;
                }
            }
        }
    }

    /// The collector claims while a scheduler runs the process and a signal arrives: the roots are found once, by one
    /// of the two, and the signal is taken.
    #[test]
    fn roots_are_found_once_and_no_wake_up_is_lost() {
        model(|| {
            let process = Rooted::new();
            let (sender, scheduler) = (Arc::clone(&process), Arc::clone(&process));
            let sending = loom::thread::spawn(move || sender.small.send());
            let running = loom::thread::spawn(move || scheduler.run());
            process.cycle.store(1, Ordering::Release);
            process.claim();
            sending.join().unwrap();
            let mut taken = running.join().unwrap();
            taken += process.run();
            // A process that ran when the cycle began is found later, waiting.
            assert!(process.claim(), "a process that waits can be claimed");
            assert_eq!(taken, 1);
            assert_eq!(process.small.state.get(), state::IDLE);
            // SAFETY: all threads have ended.
            process.found.with(|found| assert_eq!(unsafe { *found }, 1));
        });
    }

    /// Two threads that work for the collector claim one process that waits.
    #[test]
    fn two_claims_of_one_process_find_its_roots_once() {
        model(|| {
            let process = Rooted::new();
            process.run();
            process.cycle.store(1, Ordering::Release);
            let (other, sender) = (Arc::clone(&process), Arc::clone(&process));
            let claiming = loom::thread::spawn(move || other.claim());
            let sending = loom::thread::spawn(move || sender.small.send());
            let settled = process.claim();
            let other_settled = claiming.join().unwrap();
            sending.join().unwrap();
            assert_eq!(process.run(), 1);
            assert!(settled || other_settled || process.claim());
            // SAFETY: all threads have ended.
            process.found.with(|found| assert_eq!(unsafe { *found }, 1));
        });
    }
}
