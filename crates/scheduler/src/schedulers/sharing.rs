//! How long a queue has to be crowded before another scheduler takes part in its work.
//!
//! At once, as a rule. But to wake a scheduler costs some ten microseconds, and a process that moves brings its heap
//! along from one core to another. Where a scheduler soon has nothing to do again, as with a server whose clients wait
//! for its answers, two may get less done than one. Whether they do depends on the program, so it is tried: while
//! processes are taken from other queues often, there is a short trial now and then of both ways in turn, and the one
//! in which more reductions are done in a time is kept until the next.

use atoll_platform::sync::{AtomicI64, AtomicUsize, Mutex, Ordering};

/// Nanoseconds for which a queue is crowded, where schedulers are patient: half a time slice, at whose end another
/// scheduler is woken in any case.
const PATIENCE: i64 = 500_000;
/// Mean nanoseconds from one process that is taken to the next that are often.
const OFTEN: i64 = 100_000;
/// One way in a trial, in nanoseconds.
const WINDOW: i64 = 2_500_000;
/// Both ways take turns. For each the best window counts: in others, the machine may have done something else.
const WINDOWS: usize = 4;
/// Nanoseconds from one trial to the next, at first, and after several with the same outcome.
const SHORTEST_HOLD: i64 = 25_000_000;
const LONGEST_HOLD: i64 = 200_000_000;
/// How much more must be done with patience for it to be chosen, as a logarithm, and to stay chosen: as much work on
/// one core as on two leaves the other to somebody else.
const GAIN: f64 = 0.02;
const LOSS: f64 = -0.1;

/// What the schedulers of a machine know of this.
#[derive(Default)]
pub(super) struct Sharing {
    patience: AtomicI64,
    /// Processes taken from crowded queues.
    taken: AtomicUsize,
    /// When the course takes its next step.
    next: AtomicI64,
    course: Mutex<Course>,
}

impl Sharing {
    /// Nanoseconds for which a queue must be crowded before another scheduler takes part.
    #[inline]
    pub(super) fn patience(&self) -> i64 {
        self.patience.load(Ordering::Relaxed)
    }

    /// A scheduler has taken a process from a crowded queue.
    pub(super) fn has_taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Goes on, if it is time. `reductions` gives those that all processes have done.
    pub(super) fn go_on(&self, now: i64, reductions: impl FnOnce() -> u64) {
        if now < self.next.load(Ordering::Relaxed) {
            return;
        }
        let mut course = self.course.lock();
        if now >= self.next.load(Ordering::Relaxed) {
            let until = course.step(Seen { now, reductions: reductions(), taken: self.taken.load(Ordering::Relaxed) });
            self.next.store(until, Ordering::Relaxed);
            let patience = if course.is_patient() { PATIENCE } else { 0 };
            self.patience.store(patience, Ordering::Relaxed);
        }
    }
}

/// What can be seen from outside at a time.
#[derive(Clone, Copy, Default)]
struct Seen {
    now: i64,
    reductions: u64,
    taken: usize,
}

/// The course of trials.
#[derive(Default)]
struct Course {
    /// When the present step began.
    began: Seen,
    /// The window of a trial; `None`: what was found best is kept.
    window: Option<usize>,
    /// Whether the last trial was for patience, and how long that is kept.
    choice: bool,
    hold: i64,
    /// Most reductions in a nanosecond of this trial, without and with patience.
    most: [f64; 2],
    /// The logarithm of how much more was done with patience, of all trials: each counts as much as all before.
    lead: f64,
}

impl Course {
    fn is_patient(&self) -> bool {
        self.window.map_or(self.choice, |window| window % 2 == 1)
    }

    /// The present step is over; gives the time at which the next one will be.
    fn step(&mut self, seen: Seen) -> i64 {
        let time = (seen.now - self.began.now).max(1);
        match self.window {
            None => {
                let often = (seen.taken - self.began.taken) as i64 * OFTEN >= time;
                if often || self.choice {
                    (self.window, self.most) = (Some(0), [0.0; 2]);
                } else {
                    (self.hold, self.lead) = (SHORTEST_HOLD, 0.0);
                }
            }
            Some(window) => {
                let rate = (seen.reductions - self.began.reductions) as f64 / time as f64;
                let most = &mut self.most[window % 2];
                *most = most.max(rate);
                self.window = Some(window + 1).filter(|next| *next < WINDOWS);
                if self.window.is_none() {
                    self.choose();
                }
            }
        }
        self.began = seen;
        seen.now + if self.window.is_some() { WINDOW } else { self.hold }
    }

    fn choose(&mut self) {
        let [without, with] = self.most;
        if without > 0.0 && with > 0.0 {
            self.lead = (self.lead + (with / without).ln()) / 2.0;
        }
        let choice = self.lead > if self.choice { LOSS } else { GAIN };
        self.hold = if choice == self.choice { (self.hold * 2).min(LONGEST_HOLD) } else { SHORTEST_HOLD };
        self.choice = choice;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A program that does so many reductions in a microsecond without patience, and with; one process is taken each
    /// `apart` nanoseconds. Whether schedulers are patient with it after a second, and how long they were.
    fn after_a_second(rates: [u64; 2], apart: i64) -> (bool, i64) {
        let sharing = Sharing::default();
        let (mut reductions, mut patient) = (0, 0);
        for now in (1000..1_000_000_000).step_by(1000) {
            let is_patient = sharing.patience() > 0;
            reductions += rates[usize::from(is_patient)];
            patient += if is_patient { 1000 } else { 0 };
            if now % apart == 0 {
                sharing.has_taken();
            }
            sharing.go_on(now, || reductions);
        }
        (sharing.course.lock().choice, patient / 1_000_000)
    }

    #[test]
    fn the_way_in_which_more_is_done_is_kept() {
        let (choice, patient) = after_a_second([20, 30], 10_000);
        assert!(choice && patient > 900, "patient for {patient} ms");
        let (choice, patient) = after_a_second([30, 20], 10_000);
        assert!(!choice && patient < 50, "patient for {patient} ms");
    }

    #[test]
    fn nothing_is_tried_where_little_is_taken() {
        assert_eq!(after_a_second([20, 30], 150_000), (false, 0));
    }

    #[test]
    fn what_makes_no_difference_is_left() {
        let (choice, patient) = after_a_second([100, 101], 10_000);
        assert!(!choice && patient < 50, "patient for {patient} ms");
    }
}
