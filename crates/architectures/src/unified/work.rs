//! Who works for cycles and the full marking, and for how long: any scheduler, a short while at a time. Processes pay
//! for what they take, and rest then.

use std::sync::atomic::Ordering;

use atoll_heap::counters::{self, record_idle_work, record_slice};
use atoll_heap::settings;
use atoll_platform::clock::monotonic;

use super::Unified;
use super::buffer::BUFFER_LINES;
use super::epoch::Phase;
use super::space::LINE_WORDS;
use super::threads::{Local, local};

/// Words marked for each word allocated while a cycle is on.
const MARKED_PER_WORD: usize = 4;
/// Words that a thread has taken since it worked last, from which on it works for what is far behind: those of a long
/// buffer. A process that wakes now and then would work each time, and keep others from as much as a busy one does.
const TAKEN_AT_LEAST: usize = BUFFER_LINES * LINE_WORDS;

impl Unified {
    /// A process has taken a buffer, or wants a collection: begins a cycle if it is time to, or works for it.
    pub(super) fn pay(&self) {
        // After one of them there is a rest. A cycle comes first, for nothing is freed before it ends; once the full
        // marking is late, they take turns.
        let full_first = self.full.is_late() && !local(&self.threads, |local| local.paid_full);
        if full_first {
            self.pay_full();
        }
        if self.epoch().phase() == Phase::Idle {
            if self.is_due() {
                self.begin();
            }
        } else {
            self.pay_cycle(0);
        }
        if !full_first {
            self.pay_full();
        }
    }

    /// Whether there is work for schedulers without processes.
    pub(super) fn has_work(&self) -> bool {
        self.epoch().phase() != Phase::Idle || self.full.is_on()
    }

    /// Waits until this thread works for cycles again.
    #[cfg(test)]
    pub(crate) fn end_rest(&self) {
        while monotonic() < local(&self.threads, |local| local.rests_until) {
            std::thread::yield_now();
        }
    }

    /// Words of help that nobody has been spared yet.
    #[cfg(test)]
    pub(crate) fn helped(&self) -> usize {
        self.helped.load(Ordering::Relaxed)
    }

    /// Works for what this thread has taken, and until at least so many words were marked, but for at most two fifths
    /// of its time, or four ninths if the cycle is far behind.
    pub(super) fn pay_cycle(&self, least: usize) {
        if self.taken.load(Ordering::Relaxed) > self.most_taken.load(Ordering::Relaxed) {
            if local(&self.threads, |local| self.works_behind(monotonic(), local.rests_behind_until, &mut local.unpaid))
            {
                self.work_for(usize::MAX);
            }
            return;
        }
        let words = local(&self.threads, |local| {
            let owed = |local: &mut Local| local.owes(MARKED_PER_WORD).max(least);
            match self.base.settings.is_stressed() {
                // Every chance to work is taken.
                true => owed(local).max(1),
                false if monotonic() < local.rests_until => 0,
                false => owed(local),
            }
        });
        if words > 0 {
            self.work_for(words);
        }
    }

    /// Whether a thread that has taken so many words since, which it pays for then, works now for what is far behind.
    pub(super) fn works_behind(&self, now: i64, rests_until: i64, taken: &mut usize) -> bool {
        let works = now >= rests_until && (*taken >= TAKEN_AT_LEAST || self.base.settings.is_stressed());
        if works {
            *taken = 0;
        }
        works
    }

    /// Works until about so many words were marked, less what schedulers without processes have done, or nothing is to
    /// be done here.
    fn work_for(&self, words: usize) {
        let started = begins();
        let most = settings().max_pause.as_nanos() as i64 / 4;
        let is_overdrawn = words == usize::MAX;
        let words = if is_overdrawn { words } else { words - self.spared(words) };
        if words == 0 {
            return;
        }
        let mut done = 0;
        while done < words && monotonic() - started < most && self.epoch().phase() != Phase::Idle {
            match self.step() {
                Some(step) => done += step,
                // Another thread has not heard of the phase yet, or a process is waited for.
                None if is_overdrawn => std::thread::yield_now(),
                None => break,
            }
        }
        local(&self.threads, |local| local.paid_full = false);
        self.rest(started, done.saturating_sub(words));
    }

    /// So many of these words, at most, as schedulers without processes have worked for nobody yet.
    fn spared(&self, words: usize) -> usize {
        let less = |helped: usize| Some(helped.saturating_sub(words));
        let helped = self.helped.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        helped.unwrap_or_default().min(words)
    }

    /// This thread has worked for the collector since: it has marked so many words more than it owed, and rests
    /// one and a half times as long as that took.
    pub(super) fn rest(&self, started: i64, more: usize) {
        let ended = monotonic();
        // On a busy machine the thread may have stood still, for much longer than it works at once.
        let worked = (ended - started).min(settings().max_pause.as_nanos() as i64 / 2);
        local(&self.threads, |local| {
            local.rests_until = ended + worked / 2 * 3;
            local.rests_behind_until = ended + worked / 4 * 5;
            local.paid += more;
        });
        waited(started);
    }

    /// This scheduler has nothing to run. Whether it has done something.
    pub(super) fn work_idle(&self) -> bool {
        if !self.has_work() {
            return false;
        }
        self.hear_idle();
        let started = begins();
        let most = settings().max_pause.as_nanos() as i64 / 10;
        let mut has_worked = false;
        while monotonic() - started < most {
            if let Some(step) = self.step() {
                self.helped.fetch_add(step, Ordering::Relaxed);
            } else if self.step_full().is_some() {
                self.full.note_help();
            } else {
                break;
            }
            has_worked = true;
            self.hear_idle();
        }
        record_idle_work((monotonic() - started).max(0) as u64);
        has_worked
    }

    /// As [`Unified::hear`], on a scheduler that runs no process. A stopped world does not wait for it, so it must not
    /// be in the middle of this when another thread collects.
    fn hear_idle(&self) {
        let _at_work = self.at_work.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        local(&self.threads, |local| {
            // What it does for the cycle now it need not do when it has a process to run.
            local.slices = 0;
            self.hear(local);
        });
    }
}

/// A thread begins to work for the collector: the time.
pub(super) fn begins() -> i64 {
    counters::work_begins();
    monotonic()
}

/// A thread has worked for the collector since, and its process has waited.
pub(super) fn waited(started: i64) {
    let time = (monotonic() - started).max(0) as u64;
    record_slice(time, time);
}
