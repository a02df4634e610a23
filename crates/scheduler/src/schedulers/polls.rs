//! Who looks after file descriptors: one scheduler at a time, the last one to sleep, or a busy one now and then.

use std::time::Duration;

use atoll_platform::clock;
use atoll_platform::sync::{AtomicBool, Ordering};
use atoll_process::microstates::{State, charged};

use super::Schedulers;
use crate::contract::Poll;

/// Nanoseconds after which a busy scheduler looks after file descriptors.
const BUSY_POLL: i64 = 200_000;

impl Schedulers {
    /// The turn to poll, if there is something to poll for and no other scheduler polls.
    pub(super) fn take_turn(&self) -> Option<Turn<'_>> {
        let poll = *self.poll.get()?;
        let free = poll.is_needed() && !self.polling.swap(true, Ordering::Acquire);
        // Made only if it is free: dropping a turn ends it.
        free.then(|| Turn { poll, polling: &self.polling })
    }

    /// Looks after file descriptors now and then, when all schedulers have so much to do that none waits for them.
    pub(super) fn poll_while_busy(&self) {
        if self.polling.load(Ordering::Relaxed) || !self.poll.get().is_some_and(|poll| poll.is_needed()) {
            return;
        }
        let now = clock::monotonic();
        if now - self.polled.load(Ordering::Relaxed) < BUSY_POLL {
            return;
        }
        if let Some(turn) = self.look(now) {
            turn.tell();
        }
    }

    /// Asks for what is ready, without waiting.
    pub(super) fn look(&self, now: i64) -> Option<Turn<'_>> {
        let turn = self.take_turn()?;
        self.polled.store(now, Ordering::Relaxed);
        charged(State::CheckIo, || turn.poll.wait(Duration::ZERO)).then_some(turn)
    }
}

/// The turn of one scheduler to poll.
pub(super) struct Turn<'a> {
    poll: &'static dyn Poll,
    polling: &'a AtomicBool,
}

impl Turn<'_> {
    /// Waits until something is ready, or it is interrupted, or for so long.
    pub(super) fn wait(&self, limit: Duration) {
        self.poll.wait(limit);
    }

    /// Tells what was found ready, and ends the turn.
    pub(super) fn tell(self) {
        self.poll.tell();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.polling.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::contract::{NoEnd, Scheduling};

    struct Always;

    impl Poll for Always {
        fn is_needed(&self) -> bool {
            true
        }

        fn is_awaited(&self) -> bool {
            true
        }

        fn wait(&self, _limit: Duration) -> bool {
            true
        }

        fn tell(&self) {}

        fn interrupt(&self) {}

        fn is_working(&self) -> bool {
            false
        }

        fn no_end(&self, _: NoEnd) {}
    }

    #[test]
    fn only_one_has_the_turn_to_poll() {
        let schedulers = Schedulers::new(2);
        schedulers.prepare(&Always, |_, _| {});
        let turn = schedulers.take_turn().expect("nobody polls");
        assert!(schedulers.take_turn().is_none());
        assert!(schedulers.take_turn().is_none(), "who asked in vain did not end the turn");
        turn.tell();
        assert!(schedulers.take_turn().is_some());
    }
}
