//! The phases of a cycle. The threads that allocate or lend their time advance them, one thread at a time, for a slice.

use super::mark::Budget;
use super::memory::{Memory, SWEPT};
use super::{Local, PAGE_BYTES, PAGE_WORDS, Paged};
use crate::heap::Context;
use crate::runtime::{Portion, Runtime, Visitor};
use crate::statistics::{Cause, Usage};
use crate::world::Member;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Root slots scanned between looks at the clock.
const SLOTS: usize = 256;
/// Words allocated between collections for each object or reference that marking looks at: about what it costs to touch
/// them for the first time.
const WORDS_PER_LOOK: u64 = 64;
/// What sweeping a page costs, in looks.
const PAGE_LOOKS: u64 = 4;
/// Words allocated between collections at least, while there is memory: 512 KiB, so that they stay in the cache.
pub(super) const LEAST_WORDS: u64 = 1 << 16;
/// And at most, unless more is live: 32 MiB. What is free beyond that goes back to the system.
const MOST_WORDS: u64 = 1 << 22;
/// Times that a thread yields before it sleeps for others to come by, and for how long.
const YIELDS: u32 = 8;
const WAIT: Duration = Duration::from_micros(50);
/// Words' worth of sweeping between looks at whether an allocation now succeeds.
const SWEPT_WORDS: u64 = 2048;
/// Pages given back to the system between looks at the clock.
const RETURNED: u32 = 32;
/// Finalizable objects looked at between looks at the clock.
const OBJECTS: usize = 64;

#[derive(Debug, Default)]
enum State {
    /// No collection, and nothing to sweep.
    #[default]
    Idle,
    /// Marking is on; every thread must have noticed in this epoch.
    Starting(u32),
    /// Pushing roots.
    Roots {
        members: Vec<Arc<Member>>,
        slot: usize,
        globals: usize,
    },
    /// Scanning.
    Marking,
    /// Nothing was grey; every thread must have polled in this epoch while nothing more was pushed.
    Ending {
        epoch: u32,
        pushed: u64,
    },
    Finalizing,
    Sweeping,
    /// Giving so many pages back to the system.
    Returning(u32),
}

/// The cycle's state, under its lock.
#[derive(Debug, Default)]
pub(super) struct Control {
    state: State,
    cycle: u32,
    /// The epoch in which marking was last switched off.
    idle_epoch: u32,
    completed: u64,
    before: Usage,
    allocated_at_start: u64,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The next phase has begun.
    On,
    /// The time or the words are used up.
    Spent,
    /// Other threads have yet to poll, or to finish their slices.
    Waiting,
    /// No collection is due.
    Rest,
}

impl Paged {
    /// Lets the collector know that this thread is between two accesses of the heap.
    #[inline]
    pub(crate) fn poll(&self, cx: &Context<'_>, local: &Local) {
        if let Some(member) = cx.me {
            cx.world.poll(member);
        }
        self.view(local);
    }

    /// Takes over the phase.
    pub(crate) fn view(&self, local: &Local) {
        let phase = self.phase.load(Ordering::Acquire);
        local.see(phase & 1 == 1, phase >> 1);
    }

    /// Pays for what was allocated: a slice of whatever is to be done.
    pub(super) fn pay(&self, cx: &Context<'_>, local: &Local, since: Instant) -> Cause {
        let phase = self.phase.load(Ordering::Relaxed);
        let debt = local.debt.take();
        let budget = Budget { words: self.price(debt), deadline: Some(since + self.slice) };
        let done = self.work(cx, Some(local), budget);
        // What the time did not suffice for is owed further, but not without end.
        let owed = (budget.words.saturating_sub(done) / self.ratio).min(64 * PAGE_WORDS as u64);
        if self.phase.load(Ordering::Relaxed) & 1 == 1 {
            local.debt.set(owed);
        }
        match (phase & 1, self.phase.load(Ordering::Relaxed) & 1) {
            (0, 1) => Cause::Start,
            (1, 1) => Cause::Increment,
            (1, 0) => Cause::Finish,
            _ => Cause::Memory,
        }
    }

    /// Words to mark for words allocated: by the ratio, or more where free memory would run out before the marking is
    /// done.
    fn price(&self, debt: u64) -> u64 {
        // Not known while another thread has the memory, which may be off its processor; the next slice will ask again.
        let Some(memory) = self.try_memory() else {
            return debt.max(64) * self.ratio;
        };
        let free = memory.free_words().max(1);
        drop(memory);
        let used = self.counters.base.load(Ordering::Relaxed) + self.counters.allocated.load(Ordering::Relaxed)
            - self.counters.at_flip.load(Ordering::Relaxed);
        let marked = self.counters.marked.load(Ordering::Relaxed);
        let needed = used.saturating_sub(marked) * 2 / free;
        debt.max(64) * self.ratio.max(needed)
    }

    /// Works on the cycle within the budget; the words scanned. Any thread may call it; without `local` it is a
    /// helper's.
    pub(crate) fn work(&self, cx: &Context<'_>, local: Option<&Local>, budget: Budget) -> u64 {
        let Ok(mut control) = self.control.try_lock() else {
            return self.help(cx.runtime, budget);
        };
        let mut left = budget;
        loop {
            let before = left.words;
            let step = self.step(&mut control, cx, local, &mut left);
            if step != Step::On || left.words == 0 && before == 0 || budget.is_over() {
                break;
            }
        }
        budget.words - left.words
    }

    /// Does what can be done while another thread has the control.
    fn help(&self, runtime: &dyn Runtime, budget: Budget) -> u64 {
        let marked = self.mark_slice(runtime, budget);
        if marked > 0 {
            return marked;
        }
        let mut left = budget;
        self.sweep(&mut left);
        budget.words - left.words
    }

    /// Works until a collection that began after, or was on at, the call has ended and everything is swept.
    pub(crate) fn complete(&self, cx: &Context<'_>, local: &Local) {
        self.complete_until(cx, local, || None::<()>);
    }

    /// As [`Paged::complete`], but ends as soon as `found` finds something among what was swept.
    pub(super) fn complete_until<T>(
        &self,
        cx: &Context<'_>,
        local: &Local,
        mut found: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let target = self.park_for_control(cx).completed + 1;
        let mut waits = 0;
        loop {
            let mut control = self.park_for_control(cx);
            self.view(local);
            if control.completed >= target && matches!(control.state, State::Idle) {
                return None;
            }
            let sweeping = matches!(control.state, State::Sweeping);
            let step = if !matches!(control.state, State::Idle) {
                let mut budget = if sweeping { Budget { words: SWEPT_WORDS, deadline: None } } else { Budget::ALL };
                self.step(&mut control, cx, Some(local), &mut budget)
            } else if cx.world.all_seen(control.idle_epoch) {
                self.start(&mut control, cx, Some(local));
                Step::On
            } else {
                Step::Waiting
            };
            drop(control);
            if sweeping && let Some(found) = found() {
                return Some(found);
            }
            if step == Step::Waiting {
                waits += 1;
                self.wait_a_little(cx, local, waits);
            }
        }
    }

    /// Lets other threads come by, which may have no processor.
    fn wait_a_little(&self, cx: &Context<'_>, local: &Local, waits: u32) {
        match cx.me {
            Some(member) if waits > YIELDS => {
                cx.world.park(member);
                std::thread::sleep(WAIT);
                cx.world.unpark(member);
                self.view(local);
            }
            _ => {
                self.poll(cx, local);
                std::thread::yield_now();
            }
        }
    }

    /// The control's lock, waited for parked.
    pub(super) fn park_for_control(&self, cx: &Context<'_>) -> std::sync::MutexGuard<'_, Control> {
        if let Some(member) = cx.me {
            cx.world.park(member);
        }
        let control = self.lock_control();
        if let Some(member) = cx.me {
            cx.world.unpark(member);
        }
        control
    }

    /// Whether a cycle is on that is not sweeping yet.
    #[inline]
    pub(crate) fn is_marking(&self) -> bool {
        self.phase.load(Ordering::Acquire) & 1 == 1
    }

    /// Whether a cycle is on, without a lock.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether a cycle is on, sweeping included.
    pub(crate) fn is_collecting(&self, cx: &Context<'_>) -> bool {
        !matches!(self.park_for_control(cx).state, State::Idle)
    }

    fn lock_control(&self) -> std::sync::MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn step(&self, control: &mut Control, cx: &Context<'_>, local: Option<&Local>, budget: &mut Budget) -> Step {
        match &mut control.state {
            State::Idle => {
                if !self.may_be_due() || !cx.world.all_seen(control.idle_epoch) {
                    return Step::Rest;
                }
                self.start(control, cx, local);
                Step::On
            }
            State::Starting(epoch) => {
                if !cx.world.all_seen(*epoch) {
                    return Step::Waiting;
                }
                cx.runtime.begin_roots();
                control.state = State::Roots { members: cx.world.members(), slot: 0, globals: 0 };
                Step::On
            }
            State::Roots { members, slot, globals } => {
                if !self.push_roots(cx, control.cycle, members, slot, globals, budget) {
                    return Step::Spent;
                }
                control.state = State::Marking;
                Step::On
            }
            State::Marking => self.mark_step(control, cx, local, budget),
            State::Ending { epoch, pushed } => {
                let (epoch, pushed) = (*epoch, *pushed);
                let seen = cx.world.all_seen(epoch);
                if !self.is_quiescent() || self.outstanding.begun() != pushed {
                    control.state = State::Marking;
                    return Step::On;
                }
                if !seen {
                    return Step::Waiting;
                }
                self.lock_finalizers().rewind();
                control.state = State::Finalizing;
                Step::On
            }
            State::Finalizing => {
                if !self.finalize(cx.runtime, control.cycle, budget) {
                    return Step::Spent;
                }
                self.flip(control, cx, local);
                Step::On
            }
            State::Sweeping => {
                if !self.sweep(budget) {
                    return Step::Spent;
                }
                if !self.try_memory().is_some_and(|memory| memory.is_swept()) {
                    return Step::Waiting;
                }
                self.judge_worth();
                control.state = State::Returning(self.excess());
                Step::On
            }
            State::Returning(pages) => {
                while *pages > 0 && !self.may_be_due() {
                    let given = self.give_back((*pages).min(RETURNED));
                    *pages = if given == 0 { 0 } else { *pages - given };
                    budget.words = budget.words.saturating_sub(PAGE_LOOKS * given as u64);
                    if budget.words == 0 || budget.is_over() {
                        return Step::Spent;
                    }
                }
                let after = self.usage();
                cx.log.collection(control.before, after);
                control.completed += 1;
                self.busy.store(false, Ordering::Relaxed);
                control.state = State::Idle;
                Step::Rest
            }
        }
    }

    /// Free pages backed by memory beyond what will be allocated before the next collection.
    fn excess(&self) -> u32 {
        let memory = self.memory();
        if memory.backed {
            return 0;
        }
        let live = self.counters.base.load(Ordering::Relaxed);
        let wanted = live.max(MOST_WORDS) / PAGE_WORDS as u64 * 5 / 4;
        (memory.space.idle() as u64).saturating_sub(wanted) as u32
    }

    /// When to collect next even though there is memory left: once so much was allocated that collecting costs less
    /// than going on through memory that is not in the cache; and where the limit is far away, once as much was as is
    /// live.
    fn judge_worth(&self) {
        let counters = &self.counters;
        let cost = counters.looks.load(Ordering::Relaxed) + PAGE_LOOKS * self.memory().looked_at;
        let live = counters.base.load(Ordering::Relaxed);
        let worthwhile = (cost * WORDS_PER_LOOK).clamp(LEAST_WORDS, live.max(MOST_WORDS));
        counters.worthwhile.store(worthwhile, Ordering::Relaxed);
    }

    /// Whether a collection is worth its while, or the free memory just lasts for it. No while another thread has the
    /// memory: those who ask will ask again soon.
    pub(super) fn may_be_due(&self) -> bool {
        self.is_worthwhile() || self.try_memory().is_some_and(|memory| self.is_short(&memory))
    }

    fn is_worthwhile(&self) -> bool {
        if self.stress > 0 {
            return true;
        }
        let counters = &self.counters;
        let since = counters.allocated.load(Ordering::Relaxed) - counters.at_flip.load(Ordering::Relaxed);
        let enough = match &self.least_growth {
            Some(least) => least.load(Ordering::Relaxed).max(counters.base.load(Ordering::Relaxed) * 8) / 8,
            None => counters.worthwhile.load(Ordering::Relaxed),
        };
        since >= enough
    }

    fn is_short(&self, memory: &Memory) -> bool {
        let limit = memory.space.limit() as u64 * PAGE_WORDS as u64;
        let used = limit - memory.space.available() as u64 * PAGE_WORDS as u64;
        memory.free_words() <= (used / self.ratio).max(limit / 32)
    }

    fn start(&self, control: &mut Control, cx: &Context<'_>, local: Option<&Local>) {
        control.before = self.usage();
        self.busy.store(true, Ordering::Relaxed);
        control.cycle = (control.cycle + 1) & (u32::MAX >> 2);
        control.allocated_at_start = self.counters.allocated.load(Ordering::Relaxed);
        self.counters.marked.store(0, Ordering::Relaxed);
        self.counters.looks.store(0, Ordering::Relaxed);
        self.discard_queue();
        self.phase.store(control.cycle << 1 | 1, Ordering::Release);
        let epoch = cx.world.advance();
        control.state = State::Starting(epoch);
        if let Some(local) = local {
            self.poll(cx, local);
        }
    }

    fn push_roots(
        &self,
        cx: &Context<'_>,
        cycle: u32,
        members: &mut Vec<Arc<Member>>,
        slot: &mut usize,
        globals: &mut usize,
        budget: &Budget,
    ) -> bool {
        let mut shade = |object| self.shade(object, cycle);
        while *globals < cx.globals.len() {
            cx.globals.scan(*globals, *globals + SLOTS, &mut shade);
            *globals += SLOTS;
            if budget.is_over() {
                return false;
            }
        }
        while let Some(member) = members.last() {
            if *slot >= member.roots.len() {
                members.pop();
                *slot = 0;
                continue;
            }
            member.roots.scan(*slot, *slot + SLOTS, &mut shade);
            *slot += SLOTS;
            if budget.is_over() {
                return false;
            }
        }
        loop {
            match self.push_portion(cycle, |visitor| cx.runtime.push_roots(SLOTS, visitor)) {
                Portion::Done | Portion::Waiting => return true,
                Portion::More if budget.is_over() => return false,
                Portion::More => {}
            }
        }
    }

    fn push_portion(&self, cycle: u32, push: impl Fn(&mut Visitor<'_>) -> Portion) -> Portion {
        let mut sink = |reference: NonNull<u64>| {
            self.shade(reference.addr().get(), cycle);
            reference
        };
        push(&mut Visitor::new(&mut sink))
    }

    fn mark_step(&self, control: &mut Control, cx: &Context<'_>, local: Option<&Local>, budget: &mut Budget) -> Step {
        let words = self.mark_slice(cx.runtime, *budget);
        budget.words = budget.words.saturating_sub(words);
        if !self.queue.is_empty() {
            return Step::Spent;
        }
        if !self.is_quiescent() {
            return Step::Waiting;
        }
        let pushed = self.outstanding.begun();
        let push = |visitor: &mut Visitor<'_>| cx.runtime.push_changed_roots(SLOTS, visitor);
        loop {
            match self.push_portion(control.cycle, push) {
                Portion::Done => break,
                Portion::Waiting => return Step::Waiting,
                Portion::More if budget.is_over() => return Step::Spent,
                Portion::More => {}
            }
        }
        if self.outstanding.begun() != pushed {
            return Step::On;
        }
        let epoch = cx.world.advance();
        control.state = State::Ending { epoch, pushed };
        if let Some(local) = local {
            self.poll(cx, local);
        }
        Step::On
    }

    fn finalize(&self, runtime: &dyn Runtime, cycle: u32, budget: &Budget) -> bool {
        loop {
            let (mut dead, mut count) = ([0; OBJECTS], 0);
            let done = self.lock_finalizers().step(OBJECTS, |object| {
                if self.is_marked(object, cycle) {
                    return Some(object);
                }
                dead[count] = object;
                count += 1;
                None
            });
            // Without the lock: what the runtime does then may take long, and others may want to register objects.
            dead[..count].iter().for_each(|object| self.finalize_one(runtime, *object));
            if done || budget.is_over() {
                return done;
            }
        }
    }

    fn finalize_one(&self, runtime: &dyn Runtime, object: usize) {
        if let Some(pointer) = NonNull::new(self.area.pointer(object)) {
            // SAFETY: the object is dead; its page is not swept yet, and no thread allocates on it.
            unsafe { runtime.finalize(pointer, self.words_of(object)) };
        }
    }

    /// Finalizes everything: the heap ends.
    pub(crate) fn finalize_all(&self, runtime: &dyn Runtime) {
        for object in self.lock_finalizers().take_all() {
            self.finalize_one(runtime, object);
        }
    }

    /// Marking is over: what is unmarked is garbage from here on.
    fn flip(&self, control: &mut Control, cx: &Context<'_>, local: Option<&Local>) {
        let counters = &self.counters;
        let allocated = counters.allocated.load(Ordering::Relaxed);
        let live = counters.marked.load(Ordering::Relaxed) + allocated - control.allocated_at_start;
        counters.base.store(live, Ordering::Relaxed);
        counters.at_flip.store(allocated, Ordering::Relaxed);
        self.memory().flip(control.cycle);
        self.phase.store(control.cycle << 1, Ordering::Release);
        control.idle_epoch = cx.world.advance();
        control.state = State::Sweeping;
        if let Some(local) = local {
            self.poll(cx, local);
        }
    }

    /// Sweeps within the budget; whether nothing unswept is left for others to begin with. Any thread may call it at
    /// any time.
    ///
    /// The lock is held only to give what was swept and to take more, and a thread with little time does not wait for
    /// it to begin.
    fn sweep(&self, budget: &mut Budget) -> bool {
        let first = if budget.deadline.is_some() { self.try_memory() } else { Some(self.memory()) };
        let Some(mut memory) = first else { return false };
        loop {
            let taken = memory.take_unswept();
            drop(memory);
            if taken.length == 0 {
                return true;
            }
            let found = taken.look(self.table);
            // A swept page costs about as much as scanning a few dozen words.
            budget.words = budget.words.saturating_sub(32 * SWEPT as u64);
            let over = budget.words == 0 || budget.is_over();
            memory = self.memory();
            memory.settle(&taken, &found);
            if over {
                return false;
            }
        }
    }

    /// Gives the memory of at most `pages` free pages back to the system, without the lock while the system is at it;
    /// how many.
    fn give_back(&self, pages: u32) -> u32 {
        let Some((start, length)) = self.memory().space.take_back(pages) else {
            return 0;
        };
        // SAFETY: the pages are free, and this thread's alone until they are given.
        unsafe { self.area.decommit(self.address(start, 0), length as usize * PAGE_BYTES) };
        self.memory().space.give_unbacked(start, length);
        length
    }
}
