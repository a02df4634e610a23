//! The phases of a cycle, in steps that any scheduler does (`work.rs`).

use std::sync::TryLockError;
use std::sync::atomic::Ordering;

use atoll_heap::counters;
use atoll_heap::lanes::Outcome;
use atoll_heap::{Mutator, RootSet, world};
use atoll_platform::clock::monotonic;

use super::Unified;
use super::epoch::{Epoch, Phase};
use super::full::{Found, Pace, overdraft};
use super::roots::{Portion, Walk};
use super::space::{LINE_WORDS, SECTION_LINES, Sweep, Swept};
use super::state::State;
use super::threads::{Local, local};
use super::work::{begins, waited};
use crate::common::report::trace;

/// Lines that are allocated between two cycles, at least. More would not fit the processor's caches, less makes objects
/// old that would soon have died.
pub(super) const LEAST_LINES: usize = if cfg!(test) { 512 } else { (8 << 20) / (LINE_WORDS * 8) };
/// Lines that are allocated between two cycles, at most, while much of it lives: then it is marking that takes time.
const MOST_LINES: usize = 4 * LEAST_LINES;
/// What is allocated between two cycles doubles where more than one line in so many survives, and halves where fewer
/// than one in so many do.
const MANY_LIVE: usize = 8;
const FEW_LIVE: usize = 32;
/// Lines that are allocated before the first cycle of a heap of so many bytes.
pub(super) fn first_budget(heap_bytes: usize) -> usize {
    LEAST_LINES.min(heap_bytes / (LINE_WORDS * 8) / 4)
}
/// As many processes have a line allocated for each of them between two cycles, because a cycle visits them.
const PROCESSES_PER_LINE: usize = 2;
/// A cycle frees what is young. When the lines that cannot be taken have become more by three eighths and so many, a
/// full marking begins: dead old objects are in them, or keep apart what is free.
const GROWTH_LINES: usize = if cfg!(test) { 1 << 10 } else { (512 << 10) / (LINE_WORDS * 8) };
/// When so many times the lines at which a cycle begins have been taken, and a part of what is in use, and the cycle
/// has not ended, threads that allocate work for it at each buffer, up to the time that they may be kept, and rest for
/// a little longer.
const OVERDRAWN: usize = 3;
/// Bytes outside of the heap that are allocated between two cycles, at least.
pub(super) const LEAST_OFF_HEAP: usize = 4 << 20;

/// What most steps are worth, four times: words marked.
pub(super) const WORDS: usize = if cfg!(test) { 64 } else { 1 << 12 };
/// Words marked, and sections swept, in one step.
const MARKED: usize = WORDS / 4;
const SECTIONS: usize = if cfg!(test) { 1 } else { 16 };
/// Sections swept in one step where marks are taken over, in each of which that takes as long as to mark so many words.
const TAKEN_OVER: usize = if cfg!(test) { 1 } else { 2 };
const TAKE_OVER_WORDS: usize = 1 << 10;
const OBJECTS: usize = if cfg!(test) { 4 } else { 256 };
/// Sections whose memory is given back after a cycle: the system takes tens of microseconds for each.
const GIVEN_BACK: usize = 4;
/// Time slices in a row, without a moment with nothing to run, after which a thread works for a cycle.
const SLICES: u32 = 8;

/// What a cycle needs to know, in the hands of the thread that drives it.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) walk: Walk,
    /// The next section to sweep.
    section: usize,
    /// The sweep takes over the marks of a full marking.
    takes_over: bool,
    off_heap_is_swept: bool,
    found: Swept,
    /// Lines with marked objects after the last cycle.
    marked: usize,
    /// Lines to be allocated between two cycles, unless there are many processes, or little room.
    young: usize,
    /// Lines that could not be taken after the last full marking.
    occupied: usize,
    /// How far the one that is on has to be.
    pace: Pace,
    started: i64,
}

impl Driver {
    pub(super) fn new() -> Driver {
        Driver {
            walk: Walk::new(),
            section: 0,
            takes_over: false,
            off_heap_is_swept: false,
            found: Swept::default(),
            marked: 0,
            young: LEAST_LINES,
            occupied: 0,
            pace: Pace::default(),
            started: 0,
        }
    }
}

impl Unified {
    #[inline(always)]
    pub(super) fn epoch(&self) -> Epoch {
        Epoch::of(self.epoch.load(Ordering::SeqCst))
    }

    fn set_epoch(&self, cycle: u32, phase: Phase) {
        self.epoch.store(Epoch::new(cycle, phase).number(), Ordering::SeqCst);
    }

    /// Whether barriers have something to do.
    #[inline(always)]
    pub(super) fn finds_roots(&self) -> bool {
        self.epoch().finds_roots()
    }

    /// Whether the present cycle looks for all roots, because it begins a full marking.
    pub(super) fn wants_all_roots(&self) -> bool {
        self.wants_all_roots.load(Ordering::Relaxed)
    }

    /// Calls `use_it` with what this thread keeps. A thread that is no scheduler keeps nothing afterwards.
    pub(super) fn with_local<R>(&self, use_it: impl FnOnce(&mut Local) -> R) -> R {
        local(&self.threads, |local| {
            if local.stops != self.stops.load(Ordering::Acquire) {
                self.make_void(local);
            }
            if !local.is_away() {
                return use_it(local);
            }
            // Neither does a stopped world wait for it.
            let _at_work = self.at_work.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            self.hear(local);
            let result = use_it(local);
            self.leave(local);
            result
        })
    }

    /// After a collection in a stopped world: what the thread had is free, and belongs to nobody.
    fn make_void(&self, local: &mut Local) {
        local.stops = self.stops.load(Ordering::Acquire);
        local.top = super::buffer::NOWHERE;
        local.limit = super::buffer::NOWHERE;
        local.nursery.leave();
        local.owned = None;
        local.untold = 0;
        local.grey = Found::default();
        local.cycle = self.stopped_in.load(Ordering::Acquire);
    }

    /// The thread stands between time slices: it hears of the epoch, which is returned.
    #[inline]
    pub(super) fn hear(&self, local: &mut Local) -> Epoch {
        let epoch = self.epoch();
        if local.heard() != epoch.number() {
            self.hear_of(local, epoch);
        }
        epoch
    }

    #[cold]
    fn hear_of(&self, local: &mut Local, epoch: Epoch) {
        if local.stops != self.stops.load(Ordering::Acquire) {
            self.make_void(local);
        }
        let cycle = epoch.allocates_for();
        if local.cycle != cycle {
            self.leave_lines(local);
            local.cycle = cycle;
            local.paid = 0;
        }
        self.give_grey(local, epoch);
        local.hears(epoch.number());
    }

    fn give_grey(&self, local: &mut Local, epoch: Epoch) {
        if local.grey_of == epoch.cycle() {
            self.give(&mut local.grey);
        } else {
            local.grey = Found::default();
        }
    }

    /// The thread keeps nothing.
    fn leave(&self, local: &mut Local) {
        self.leave_lines(local);
        local.buffers = 0;
        self.give_grey(local, self.epoch());
    }

    /// A scheduler is about to run a process.
    pub(super) fn begin_slice(&self, mutator: &mut Mutator) {
        let works = local(&self.threads, |local| {
            if local.is_away() {
                local.set_away(false);
            }
            let is_idle = self.hear(local).is_idle();
            super::buffer::take(local, mutator);
            self.resume_nursery(local, mutator, is_idle);
            let state = State::of_mut(mutator);
            state.running = true;
            state.has_run = true;
            if is_idle {
                return false;
            }
            local.slices += 1;
            let works = local.slices >= SLICES || local.unpaid > 0;
            if works {
                local.slices = 0;
            }
            works
        });
        if works {
            self.pay_cycle(SLICES as usize * WORDS / 8);
            local(&self.threads, |local| self.hear_before(local, mutator));
        }
    }

    /// As [`Unified::hear`], in the middle of a time slice, where the process may lose its buffer. Whether it has to be
    /// scanned before it goes on.
    #[inline]
    pub(super) fn hear_running(&self, mutator: &mut Mutator) -> bool {
        let hears = local(&self.threads, |local| {
            let hears = local.heard() != self.epoch().number();
            if hears {
                super::buffer::give_back(local, mutator);
                self.hear(local);
                super::buffer::take(local, mutator);
            }
            hears
        });
        hears && self.wants_scan(mutator)
    }

    /// As [`Unified::hear`], where a process that has not begun to run has borrowed the buffer.
    fn hear_before(&self, local: &mut Local, mutator: &mut Mutator) {
        if local.heard() != self.epoch().number() {
            super::buffer::give_back(local, mutator);
            self.hear(local);
            super::buffer::take(local, mutator);
        }
    }

    /// A scheduler has run a process.
    pub(super) fn end_slice(&self, mutator: &mut Mutator) {
        self.flush_counters(mutator);
        State::of_mut(mutator).running = false;
        self.with_local(|local| super::buffer::give_back(local, mutator));
    }

    /// Whether the process that this thread is about to run has to be scanned first.
    #[inline]
    pub(super) fn wants_scan(&self, mutator: &Mutator) -> bool {
        // Without a cycle, what this thread keeps need not be asked for: so at most slices.
        !self.epoch().is_idle()
            && local(&self.threads, |local| {
                let epoch = Epoch::of(local.heard());
                epoch.phase() == Phase::Scan && State::of(mutator).is_wanted(epoch.cycle())
            })
    }

    /// Scans a process that this thread is about to run.
    pub(super) fn scan_own(&self, mutator: &mut Mutator, roots: &mut dyn RootSet) {
        let started = begins();
        let mut grey = Found::new(self.wants_all_roots());
        let cycle = local(&self.threads, |local| Epoch::of(local.heard()).cycle());
        self.scan(mutator, roots, cycle, true, &mut grey);
        self.give(&mut grey);
        self.rest(started, 0);
    }

    pub(super) fn is_due(&self) -> bool {
        self.full.is_marked()
            || self.taken.load(Ordering::Relaxed) >= self.budget.load(Ordering::Relaxed)
            || self.off_heap_bytes.load(Ordering::Relaxed) >= self.off_heap_budget.load(Ordering::Relaxed)
            || self.wants_cycle_under_stress()
    }

    /// Begins a cycle, unless another thread does.
    pub(crate) fn begin(&self) {
        let Ok(mut driver) = self.driver.try_lock() else { return };
        let epoch = self.epoch();
        if epoch.phase() != Phase::Idle {
            return;
        }
        let occupied = driver.found.occupied;
        let is_nearly_full = self.space.fixed_lines().is_some_and(|lines| occupied > lines / 4 * 3);
        let is_due = is_nearly_full
            || self.base.settings.is_stressed()
            || occupied > driver.occupied + driver.occupied / 8 * 3 + GROWTH_LINES;
        let begins_full = is_due && self.full.is_off();
        if begins_full {
            driver.pace = self.begin_full(epoch.next_cycle(), occupied);
        }
        self.wants_all_roots.store(begins_full, Ordering::Relaxed);
        let most_taken = OVERDRAWN * self.budget.load(Ordering::Relaxed) + overdraft(occupied);
        self.most_taken.store(most_taken, Ordering::Relaxed);
        driver.walk = Walk::new();
        driver.section = 0;
        driver.takes_over = false;
        driver.off_heap_is_swept = false;
        driver.found = Swept::default();
        driver.started = monotonic();
        self.taken.store(0, Ordering::Relaxed);
        self.helped.store(0, Ordering::Relaxed);
        self.off_heap_bytes.store(0, Ordering::Relaxed);
        self.set_epoch(epoch.next_cycle(), Phase::Prepare);
    }

    /// This scheduler is about to sleep, or has slept.
    pub(super) fn set_away(&self, is_away: bool) {
        let _at_work = self.at_work.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        local(&self.threads, |local| {
            if local.is_away() == is_away {
                return;
            }
            if is_away {
                self.hear(local);
                self.leave(local);
            }
            local.set_away(is_away);
            if !is_away {
                self.hear(local);
            }
        });
    }

    fn give(&self, found: &mut Found) {
        found.give(&self.greys, &self.full.greys);
    }

    /// One step of the cycle: the words that it was worth. `None`: there is nothing to do here and now.
    pub(super) fn step(&self) -> Option<usize> {
        let Ok(_at_work) = self.at_work.try_read() else { return None };
        let epoch = self.epoch();
        if epoch.phase() == Phase::Idle {
            return None;
        }
        match self.driver.try_lock() {
            Ok(mut driver) => {
                // Another thread may have been faster.
                if self.epoch() == epoch && self.drive(&mut driver, epoch) {
                    let takes_over = epoch.phase() == Phase::Sweep && driver.takes_over;
                    return Some(if takes_over { TAKEN_OVER * TAKE_OVER_WORDS } else { WORDS / 4 });
                }
            }
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => {}
        }
        if !matches!(epoch.phase(), Phase::Globals | Phase::Scan | Phase::Mark) {
            return None;
        }
        // SAFETY: what is grey are whole objects, and nothing is freed before all are marked.
        let words = unsafe { self.greys.mark(&self.space, MARKED) };
        (words > 0).then_some(words)
    }

    /// Does what one thread at a time can do; whether there was anything.
    fn drive(&self, driver: &mut Driver, epoch: Epoch) -> bool {
        let cycle = epoch.cycle();
        let mut grey = Found::new(self.wants_all_roots());
        match epoch.phase() {
            Phase::Idle => return false,
            Phase::Prepare => {
                if !self.threads.have_heard(epoch.number()) {
                    return false;
                }
                self.off_heap.settle();
                self.set_epoch(cycle, Phase::Globals);
            }
            Phase::Globals => {
                let portion = self.find_global(&mut driver.walk, &mut grey);
                self.give(&mut grey);
                if portion == Portion::Done {
                    self.set_epoch(cycle, Phase::Scan);
                }
            }
            Phase::Scan => {
                let all_know = self.threads.have_heard(epoch.number());
                let portion = self.find_in_processes(&mut driver.walk, &mut grey, all_know);
                self.give(&mut grey);
                match portion {
                    Portion::More => {}
                    Portion::Waiting => return false,
                    Portion::Done => self.set_epoch(cycle, Phase::Mark),
                }
            }
            Phase::Mark => {
                if !self.threads.have_heard(epoch.number()) || !self.greys.is_done() {
                    return false;
                }
                driver.takes_over = self.takes_over_full();
                if driver.takes_over {
                    self.most_taken.fetch_add(overdraft(driver.pace.occupied()), Ordering::Relaxed);
                }
                self.off_heap.begin(driver.takes_over);
                self.set_epoch(cycle, Phase::Sweep);
            }
            Phase::Sweep => self.sweep_some(driver, cycle, false),
        }
        true
    }

    fn sweep_some(&self, driver: &mut Driver, cycle: u32, void: bool) {
        if !driver.off_heap_is_swept {
            driver.off_heap_is_swept = self.off_heap.sweep(&self.space, driver.takes_over, OBJECTS);
            return;
        }
        let sweep = Sweep { cycle, takes_over: driver.takes_over, void };
        let most = if sweep.takes_over { TAKEN_OVER } else { SECTIONS };
        match self.space.sweep(driver.section, most, sweep, &mut driver.found) {
            Some(next) => driver.section = next,
            None => {
                self.end(driver, void);
                self.set_epoch(cycle, Phase::Idle);
            }
        }
    }

    /// Everything dead is freed: decides when the next cycle begins, and gives memory back.
    fn end(&self, driver: &mut Driver, void: bool) {
        let Swept { marked, new, occupied, freed } = driver.found;
        let is_full = void || driver.takes_over;
        if driver.takes_over {
            self.end_full();
        }
        if is_full {
            driver.occupied = occupied;
        } else if self.full.is_on() {
            self.keep_pace(&mut driver.pace, occupied);
        }
        let before = std::mem::replace(&mut driver.marked, marked);
        if !is_full {
            driver.young = young_lines(driver.young, marked.saturating_sub(before), freed);
        }
        let processes = world().processes() / PROCESSES_PER_LINE;
        let mut budget = driver.young.max(processes);
        if let Some(lines) = self.space.fixed_lines() {
            // A cycle needs room while it is on.
            budget = budget.min(lines.saturating_sub(occupied) / 2).max(SECTION_LINES);
        }
        self.budget.store(budget, Ordering::Relaxed);
        self.off_heap_budget.store(LEAST_OFF_HEAP.max(self.off_heap.old_bytes()), Ordering::Relaxed);
        let most = if void { usize::MAX } else { GIVEN_BACK };
        self.space.give_back((2 * budget + new).div_ceil(SECTION_LINES), most);
        self.report(driver, is_full, (marked + new) * LINE_WORDS);
    }

    fn report(&self, driver: &Driver, is_full: bool, live: usize) {
        let counters = counters::counters();
        let reclaimed = (driver.found.freed * LINE_WORDS) as u64;
        counters::record_cycle(is_full, Outcome { live: live as u64, reclaimed });
        counters.live_words.store(live as u64, Ordering::Relaxed);
        let before = self.used.swap(live as i64, Ordering::Relaxed);
        counters::used_changed(live as i64 - before);
        if self.base.settings.trace {
            trace(format_args!(
                "gc unified {}: {live} words live, {} lines freed, {} sections, {} ns from its beginning",
                if is_full { "major" } else { "minor" },
                driver.found.freed,
                self.space.backed(),
                monotonic() - driver.started,
            ));
        }
    }

    /// A whole cycle that decides about everything, in a stopped world. The one that was on is given up, and a full
    /// marking.
    pub(super) fn collect_stopped(&self, stopped: &mut dyn atoll_heap::StoppedWorld) {
        let started = begins();
        // Schedulers without work may be in the middle of a step, which is short.
        let _nobody_works = self.at_work.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut driver = self.driver();
        let cycle = self.epoch().next_cycle();
        *driver = Driver { started, ..Driver::new() };
        self.greys.clear();
        self.off_heap.give_up();
        self.give_up_full();
        self.wants_all_roots.store(true, Ordering::Relaxed);
        self.space.forget_marks(cycle.wrapping_sub(1));

        let mut found = Found::default();
        stopped.each_mutator(&mut |mutator, roots| self.scan_stopped(mutator, roots, cycle, &mut found));
        // SAFETY: the roots are readable.
        stopped.each_global_slice(&mut |start, terms| unsafe { found.shade_run(&self.space, start.cast(), terms) });
        self.stored.each_word(&mut |start, words| {
            // SAFETY: as above.
            unsafe { found.shade_run(&self.space, start, words) };
        });
        let mut grey = found.cycle;
        while !grey.is_empty() {
            // SAFETY: what is grey are whole objects, and nothing is freed meanwhile.
            unsafe { grey.mark(&self.space, usize::MAX) };
        }
        self.off_heap.begin(true);
        self.taken.store(0, Ordering::Relaxed);
        self.off_heap_bytes.store(0, Ordering::Relaxed);
        self.stopped_in.store(cycle, Ordering::Release);
        self.stops.fetch_add(1, Ordering::Release);
        while Epoch::new(cycle, Phase::Idle) != self.epoch() {
            self.sweep_some(&mut driver, cycle, true);
        }
        waited(started);
        if self.base.settings.verify {
            super::verify::verify(self, stopped);
        }
    }
}

/// Lines to be allocated before the next cycle, after one with so many, of which these have survived and died.
fn young_lines(lines: usize, survived: usize, died: usize) -> usize {
    let decided = survived + died;
    if survived * MANY_LIVE > decided {
        (lines * 2).min(MOST_LINES)
    } else if survived * FEW_LIVE < decided {
        (lines / 2).max(LEAST_LINES)
    } else {
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_much_survives_there_are_fewer_cycles() {
        assert_eq!(young_lines(LEAST_LINES, 2, 8), 2 * LEAST_LINES);
        assert_eq!(young_lines(MOST_LINES, 8, 0), MOST_LINES);
        assert_eq!(young_lines(2 * LEAST_LINES, 1, 15), 2 * LEAST_LINES);
        assert_eq!(young_lines(2 * LEAST_LINES, 1, 40), LEAST_LINES);
        assert_eq!(young_lines(LEAST_LINES, 0, 0), LEAST_LINES);
    }
}
