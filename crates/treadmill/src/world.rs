//! The threads of a heap, and how a collector agrees with them.
//!
//! Each member thread is running or parked. Running members come by [`World::poll`] now and then. Two kinds of
//! agreement:
//!
//! * a *handshake*: [`World::advance`] starts a new epoch, and [`World::all_seen`] says when each member has polled
//!   since, or is parked. Nobody waits;
//! * *stopping*: [`World::stop`] waits until all other members are parked, which they are at their next poll.
//!
//! Invariants: W1 a member that is parked touches neither objects nor roots; W2 a member that leaves the parked state
//! has seen the epoch of that moment; W3 while the world is stopped no member leaves the parked state.

use crate::roots::RootTable;
use crate::sync::{Arc, AtomicBool, AtomicU32, Condvar, Mutex, Ordering, lock, try_lock};

/// One thread's standing with the collector.
#[derive(Debug)]
pub(crate) struct Member {
    parked: AtomicBool,
    seen: AtomicU32,
    /// The thread's roots.
    pub(crate) roots: RootTable,
}

#[derive(Debug)]
struct State {
    members: Vec<Arc<Member>>,
    stopped: bool,
}

impl State {
    /// Whether any member but `own` is not parked.
    fn is_running(&self, own: Option<&Member>) -> bool {
        self.members.iter().any(|member| {
            !own.is_some_and(|own| std::ptr::eq(own, &**member)) && !member.parked.load(Ordering::Acquire)
        })
    }
}

/// All threads of one heap.
#[derive(Debug)]
pub(crate) struct World {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
    epoch: AtomicU32,
}

impl World {
    pub(crate) fn new() -> World {
        World {
            state: Mutex::new(State { members: Vec::new(), stopped: false }),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
            epoch: AtomicU32::new(0),
        }
    }

    /// Adds the calling thread as a running member, once the world is not stopped.
    pub(crate) fn join(&self) -> Arc<Member> {
        let mut state = lock(&self.state);
        while state.stopped {
            state = self.wait(state);
        }
        let member = Arc::new(Member {
            parked: AtomicBool::new(false),
            seen: AtomicU32::new(self.epoch.load(Ordering::Relaxed)),
            roots: RootTable::new(),
        });
        state.members.push(Arc::clone(&member));
        member
    }

    /// Removes a member; its roots are roots no longer.
    pub(crate) fn leave(&self, member: &Arc<Member>) {
        let mut state = lock(&self.state);
        member.parked.store(true, Ordering::Release);
        self.changed.notify_all();
        // W3: a stopping thread may be walking the roots of all members; it sees a consistent list.
        while state.stopped {
            state = self.wait(state);
        }
        state.members.retain(|other| !Arc::ptr_eq(other, member));
    }

    fn wait<'a>(&self, guard: crate::sync::MutexGuard<'a, State>) -> crate::sync::MutexGuard<'a, State> {
        match self.changed.wait(guard) {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// The epoch that the member has now seen. Waits while the world is stopped.
    #[inline]
    pub(crate) fn poll(&self, member: &Member) -> u32 {
        if self.stopping.load(Ordering::Acquire) {
            self.park(member);
            return self.unpark(member);
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        member.seen.store(epoch, Ordering::Release);
        epoch
    }

    /// Whether the member has something to hear at a poll.
    #[inline]
    pub(crate) fn wants(&self, member: &Member) -> bool {
        self.stopping.load(Ordering::Relaxed)
            || self.epoch.load(Ordering::Relaxed) != member.seen.load(Ordering::Relaxed)
    }

    /// The epoch that members have to hear of; `None` while the world stops or is stopped.
    #[inline]
    pub(crate) fn epoch(&self) -> Option<u32> {
        (!self.stopping.load(Ordering::Relaxed)).then(|| self.epoch.load(Ordering::Relaxed))
    }

    /// From here on the member touches nothing of the heap (W1), until [`World::unpark`].
    pub(crate) fn park(&self, member: &Member) {
        let _state = lock(&self.state);
        member.parked.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Back to running, once the world is not stopped (W3); the epoch seen (W2).
    pub(crate) fn unpark(&self, member: &Member) -> u32 {
        let mut state = lock(&self.state);
        while state.stopped {
            state = self.wait(state);
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        member.seen.store(epoch, Ordering::Release);
        member.parked.store(false, Ordering::Release);
        epoch
    }

    /// Starts an epoch.
    pub(crate) fn advance(&self) -> u32 {
        let _state = lock(&self.state);
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Whether every member has polled in this epoch or a later one, or is parked. No where a thread is just joining,
    /// leaving, parking or the like: the caller asks again, rather than wait for a thread that may be off its
    /// processor.
    pub(crate) fn all_seen(&self, epoch: u32) -> bool {
        let Some(state) = try_lock(&self.state) else { return false };
        state.members.iter().all(|member| {
            member.parked.load(Ordering::Acquire) || member.seen.load(Ordering::Acquire).wrapping_sub(epoch) as i32 >= 0
        })
    }

    /// Waits until all members but `own` are parked, and keeps them so until [`World::resume`].
    ///
    /// Only one thread at a time may stop the world: the callers hold their collector's lock.
    pub(crate) fn stop(&self, own: Option<&Member>) {
        let mut state = lock(&self.state);
        state.stopped = true;
        self.stopping.store(true, Ordering::Release);
        while state.is_running(own) {
            state = self.wait(state);
        }
    }

    /// As [`World::stop`], but for so long at most; whether the world stands still. If not, it goes on.
    #[cfg(not(loom))]
    pub(crate) fn stop_within(&self, own: Option<&Member>, limit: std::time::Duration) -> bool {
        let mut state = lock(&self.state);
        state.stopped = true;
        self.stopping.store(true, Ordering::Release);
        let waited = self.changed.wait_timeout_while(state, limit, |state| state.is_running(own));
        let stopped = !waited.unwrap_or_else(|poisoned| poisoned.into_inner()).1.timed_out();
        if !stopped {
            self.resume();
        }
        stopped
    }

    /// No thread is waited for where models are checked.
    #[cfg(loom)]
    pub(crate) fn stop_within(&self, _own: Option<&Member>, _limit: std::time::Duration) -> bool {
        false
    }

    /// Lets the others run again.
    pub(crate) fn resume(&self) {
        let mut state = lock(&self.state);
        state.stopped = false;
        self.stopping.store(false, Ordering::Release);
        self.changed.notify_all();
    }

    /// The members of this moment.
    pub(crate) fn members(&self) -> Vec<Arc<Member>> {
        lock(&self.state).members.clone()
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::atomic::AtomicUsize;

    /// W2: what a thread wrote before it polled in the new epoch is seen by each thread that sees the handshake done.
    #[test]
    fn a_handshake_publishes_what_came_before() {
        loom::model(|| {
            let world = Arc::new(World::new());
            let member = world.join();
            let cell = Arc::new(AtomicUsize::new(0));
            let epoch = world.advance();
            let thread = {
                let (world, member, cell) = (world.clone(), member.clone(), cell.clone());
                loom::thread::spawn(move || {
                    cell.store(1, Ordering::Relaxed);
                    world.poll(&member);
                })
            };
            if world.all_seen(epoch) {
                assert_eq!(cell.load(Ordering::Relaxed), 1);
            }
            thread.join().expect("the thread ends");
            assert!(world.all_seen(epoch));
        });
    }

    /// W3: between stop and resume nobody else runs.
    #[test]
    fn stopping_excludes_the_others() {
        loom::model(|| {
            let world = Arc::new(World::new());
            let own = world.join();
            let other = world.join();
            let busy = Arc::new(AtomicUsize::new(0));
            let thread = {
                let (world, busy) = (world.clone(), busy.clone());
                loom::thread::spawn(move || {
                    busy.store(1, Ordering::Relaxed);
                    busy.store(0, Ordering::Relaxed);
                    world.poll(&other);
                    busy.store(1, Ordering::Relaxed);
                    busy.store(0, Ordering::Relaxed);
                    world.leave(&other);
                })
            };
            world.stop(Some(&own));
            assert_eq!(busy.load(Ordering::Relaxed), 0);
            world.resume();
            thread.join().expect("the thread ends");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_stop_that_is_in_vain_ends() {
        let world = World::new();
        let (own, other) = (world.join(), world.join());
        assert!(!world.stop_within(Some(&own), Duration::from_millis(1)));
        assert!(!world.wants(&other), "the world goes on");
        world.park(&other);
        assert!(world.stop_within(Some(&own), Duration::from_millis(1)));
        assert!(world.wants(&own));
        world.resume();
        world.unpark(&other);
    }

    #[test]
    fn parked_members_count_as_seen() {
        let world = World::new();
        let member = world.join();
        let epoch = world.advance();
        assert!(!world.all_seen(epoch) && world.wants(&member));
        world.park(&member);
        assert!(world.all_seen(epoch));
        assert_eq!(world.unpark(&member), epoch);
        assert!(!world.wants(&member));
        world.leave(&member);
        assert!(world.members().is_empty());
    }
}
