//! Phases 1, 2, 3, 6 and 7, and what both kinds of collection share.

use std::sync::atomic::Ordering;

use atoll_heap::statistics::VERIFY;
use atoll_heap::{Collection, HeapFull, Mutator, OFF_HEAP_BYTES_AT_LEAST, RootSet, join_off_heap, world};
use atoll_platform::clock::monotonic;
use atoll_term::{Term, Word};

use super::state::{Collector, Range, State};
use super::stored::StoredTerms;
use super::{Shared, buffer, limits, major, mark_sweep, minor, parallel, send, stack_marks, verify};
use crate::common::cheney::{Copier, Policy};
use crate::common::counted::{self, Counted};
use crate::common::fragments::FragmentRanges;
use crate::common::report::Report;
use crate::common::{blocks, fibonacci, stack};

/// Words up to which the young generation does not shrink in a minor collection, unless it is larger than the old.
const SMALL: usize = 8_000;
/// The young generation grows while collections take more than this part of the time ...
const TIME_TO_GROW: i64 = 8;
/// ... does not shrink while they take more than this part ...
const TIME_TO_SHRINK: i64 = 32;
/// ... and does not grow for that reason beyond this size.
const LARGEST_FOR_TIME: usize = 1 << 20;

/// What is done with the roots.
pub(super) trait Visit {
    /// Takes a run of root words.
    fn run(&mut self, start: *mut Word, words: usize);
    /// Follows all that was taken so far to its end; gives the words that were copied to either generation until now.
    fn follow(&mut self) -> [usize; 2];
}

/// What the words are that a process with a limit is charged for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// Nobody has a limit.
    Nothing,
    /// Copies of a minor collection: young ones, and those that have become old.
    Minor,
    /// All that is copied.
    All,
    /// All that is old.
    Old,
}

/// The roots of one collection.
pub(super) struct Roots<'a> {
    pub(super) shared: &'a Shared,
    /// The process that asked.
    asker: *mut Mutator,
    /// What is charged to processes with a limit?
    pub(super) charge: Charge,
    /// Is that a check, which visits stacks as they are?
    pub(super) is_check: bool,
    pub(super) is_major: bool,
    /// The process that asked has its live registers on its stack; its other roots are these.
    pub(super) own: &'a mut dyn RootSet,
    pub(super) stored: &'a StoredTerms,
    /// Are processes that were not active since the last major collection roots, and stored terms that are old?
    pub(super) all: bool,
    pub(super) majors: usize,
}

impl Roots<'_> {
    fn each(&self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        if self.all { world().each_mutator(visit) } else { world().each_active(visit) }
    }

    fn has_new_stack(&self, state: &State) -> bool {
        self.all || state.running || state.ran_in == self.majors
    }

    /// Phase 3, and the processes' part of 5: visits every root as a run of words. Takes allocation buffers away, and
    /// off-heap lists over.
    pub(super) fn each_run(&mut self, collector: &mut Collector, to: &mut dyn Visit) {
        // All lists first: their links cannot be read any more when a root of another process has moved an object.
        self.each(&mut |mutator, _| {
            buffer::clear(mutator);
            adopt_off_heap(collector, mutator);
        });
        if self.charge != Charge::Nothing {
            self.each_with_limit(to);
        }
        self.each(&mut |mutator, roots| {
            let done = self.charge != Charge::Nothing && State::of(mutator).maximum_words > 0;
            if !done {
                self.visit_process(mutator, roots, to);
            }
        });
        world().each_global_slice(&mut |start, terms| to.run(start.cast(), terms));
        self.stored.each(self.all, &mut |term| to.run(term.cast(), 1));
        self.own.each_slice(&mut |start, terms| to.run(start.cast(), terms));
    }

    fn visit_process(&self, mutator: &mut Mutator, roots: &mut dyn RootSet, to: &mut dyn Visit) {
        if self.has_new_stack(State::of(mutator)) {
            let clean = if self.is_major || self.is_check { 0 } else { stack_marks::clean_words(mutator) };
            to.run(mutator.stack, mutator.stack_words() - clean);
            if !self.is_check {
                stack_marks::advance(self.shared, mutator, self.is_major);
            }
        }
        roots.each_slice(&mut |start, terms| to.run(start.cast(), terms));
    }

    /// Visits the processes with a limit, and charges what they reach to them.
    fn each_with_limit(&self, to: &mut dyn Visit) {
        let mut before = to.follow();
        for the_asker in [true, false] {
            self.each(&mut |mutator, roots| {
                let is_asker = std::ptr::eq(mutator, self.asker);
                if State::of(mutator).maximum_words > 0 && is_asker == the_asker {
                    self.visit_process(mutator, roots, to);
                    let now = to.follow();
                    limits::charge(mutator, self.charge, [now[0] - before[0], now[1] - before[1]]);
                    before = now;
                }
            });
        }
    }
}

/// Joins a process's list of objects with off-heap parts to the heap's.
pub(super) fn adopt_off_heap(collector: &mut Collector, mutator: &mut Mutator) {
    let list = std::mem::replace(&mut mutator.off_heap, std::ptr::null_mut());
    mutator.off_heap_bytes = 0;
    // SAFETY: both lists consist of whole objects of the heap.
    unsafe { join_off_heap(&mut collector.young_off_heap, list) }
}

pub(super) fn collect(
    shared: &Shared,
    mutator: &mut Mutator,
    request: Collection,
    live: &mut [Term],
    roots: &mut dyn RootSet,
) -> Result<(), HeapFull> {
    send::flush_counters(mutator);
    let epoch = shared.epoch.load(Ordering::Acquire);
    let is_due = limits::is_due(mutator, &request)?;
    let stack_room = blocks::words_between(mutator.stack_limit, mutator.stack);
    let had_room = mutator.free_words() >= request.heap_words
        && stack_room >= request.stack_words
        && !limits::is_spared(mutator, epoch);
    stack::reserve(mutator, request.stack_words);
    if request.hibernate {
        stack::trim(mutator, request.stack_words);
        return Ok(());
    }
    let wants_room = !request.major && !had_room && !is_due;
    if wants_room && (mutator.free_words() >= request.heap_words || buffer::refill(shared, mutator, request.heap_words))
    {
        return Ok(());
    }

    // While this thread waits, another may collect; then the live registers are found on the stack.
    stack::reserve(mutator, live.len() + request.stack_words);
    mutator.stack = mutator.stack.wrapping_sub(live.len());
    // SAFETY: the stack has room for the live registers.
    unsafe { std::ptr::copy_nonoverlapping(live.as_ptr().cast(), mutator.stack, live.len()) };
    // The world hands this mutator out too, so from here on it is reached through a pointer alone of which the compiler
    // must believe that the calls below know it.
    let pointer = std::hint::black_box(std::ptr::from_mut(mutator));
    let started = monotonic();
    world().stop();
    // SAFETY: the caller's mutator; nobody else uses it between here and the return, but for the calls to the world.
    let this = || unsafe { &mut *pointer };
    let collected = shared.epoch.load(Ordering::Acquire) != epoch;
    let mut result = Ok(());
    if !(wants_room && collected && buffer::refill(shared, this(), request.heap_words)) {
        collect_stopped(shared, pointer, is_due, &request, roots, started);
        if is_due {
            result = limits::check(this(), &request);
            let epoch = shared.epoch.load(Ordering::Acquire);
            limits::judged(this(), if result.is_err() { epoch } else { 0 });
        }
        if this().free_words() < request.heap_words {
            let refilled = buffer::refill(shared, this(), request.heap_words);
            debug_assert!(refilled, "a collection leaves the room that was asked for");
        }
    }
    world().resume();
    let mutator = this();
    // SAFETY: the live registers lie on top of the stack.
    unsafe { std::ptr::copy_nonoverlapping(mutator.stack, live.as_mut_ptr().cast(), live.len()) };
    mutator.stack = mutator.stack.wrapping_add(live.len());
    stack::reserve(mutator, request.stack_words);
    result
}

/// Phases 2 to 7 in a stopped world.
fn collect_stopped(
    shared: &Shared,
    asker: *mut Mutator,
    is_due: bool,
    request: &Collection,
    own: &mut dyn RootSet,
    started: i64,
) {
    // SAFETY: the mutator of the process that asked; it is used through this pointer between visits of all.
    let asked = || unsafe { &*asker };
    let collector = &mut *shared.lock();
    let majors = shared.majors.load(Ordering::Relaxed);
    let mature = blocks::words_between(collector.young().start(), collector.mark);
    let used = blocks::words_between(collector.young().start(), shared.young_top.load(Ordering::Relaxed) as *mut Word);
    collector.report_used(used + old_used(collector));
    let old_free = collector.old_words.saturating_sub(old_used(collector));
    let off_heap_limit = OFF_HEAP_BYTES_AT_LEAST + 2 * collector.live_off_heap_bytes;
    let is_major = request.major
        || collector.minors >= usize::from(State::of(asked()).options().full_sweep_after)
        || (collector.old_words > 0 && mature > old_free)
        || collector.old_off_heap_bytes > off_heap_limit;
    let limited = shared.limited.load(Ordering::Relaxed);
    let charge = if limited { Charge::Minor } else { Charge::Nothing };
    let all = is_major || collector.minors == 0;
    let mut roots =
        Roots { shared, asker, charge, is_check: false, is_major, own, stored: &shared.stored, all, majors };
    let need = request.heap_words;
    let moves = collector.mark_sweep.is_none();
    let mut enough = !(is_major && moves) && minor::collect(shared, collector, need, &mut roots, started);
    enough &= !is_major && (!is_due || limits::check(asked(), request).is_ok());
    if !enough {
        let started = if is_major && moves { started } else { monotonic() };
        if moves {
            (roots.all, roots.is_major) = (true, true);
            roots.charge = if limited { Charge::All } else { Charge::Nothing };
            major::collect(shared, collector, need, &mut roots, started);
        } else {
            mark_sweep::collect(shared, collector, &mut roots, started);
        }
    }
    let old = blocks::words_between(collector.old().start(), collector.old_top) * size_of::<Word>();
    let old_start = collector.old().start() as usize;
    shared.stored.sort(!enough, |term| {
        !shared.immovable.contains(term) && (term.pointer() as usize).wrapping_sub(old_start) >= old
    });
    collector.report_used(old_used(collector) + blocks::words_between(collector.young().start(), collector.mark));
    collector.ended = monotonic();
    let limit = OFF_HEAP_BYTES_AT_LEAST + 2 * collector.live_off_heap_bytes;
    shared.off_heap_limit.store(limit, Ordering::Relaxed);
    shared.minors.store(collector.minors, Ordering::Relaxed);
    shared.epoch.fetch_add(1, Ordering::Release);
    if VERIFY.load(Ordering::Relaxed) {
        verify::verify(shared, collector, &mut roots);
    }
}

/// Phases 3 and 4: copies all that the roots reach, on several threads if there is much; gives the new tops.
///
/// # Safety
/// The world is stopped; the roots hold whole terms; the destinations have twice the room of what may be copied.
pub(super) unsafe fn copy<P: Policy + Sync>(
    shared: &Shared,
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: P,
    destinations: (*mut Word, *mut Word),
    before: usize,
) -> (*mut Word, *mut Word) {
    if counted::is_wanted() {
        let mut ranges = FragmentRanges::default();
        ranges.add_run(collector.old().start(), old_extent(collector));
        // SAFETY: as the caller's.
        return unsafe { copy_by(shared, collector, roots, Counted::new(policy, ranges.sort()), destinations, before) };
    }
    // SAFETY: as the caller's.
    unsafe { copy_by(shared, collector, roots, policy, destinations, before) }
}

unsafe fn copy_by<P: Policy + Sync>(
    shared: &Shared,
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: P,
    destinations: (*mut Word, *mut Word),
    before: usize,
) -> (*mut Word, *mut Word) {
    let (young, old) = destinations;
    let is_large = before > shared.parallel_above.load(Ordering::Relaxed);
    let workers = if is_large { shared.workers.load(Ordering::Relaxed) } else { 1 };
    let mut space = collector.mark_sweep.take();
    if workers > 1 || space.is_some() {
        let runs = space.as_mut().map(|space| &mut space.runs);
        // SAFETY: as the caller's.
        let copied = unsafe { parallel::copy(collector, roots, &policy, destinations, workers, runs) };
        collector.old_allocated += copied.promoted;
        collector.mark_sweep = space;
        return copied.tops;
    }
    let mut serial = Serial { copier: Copier::new(policy, young, old), start: [young, old], scanned: [young, old] };
    roots.each_run(collector, &mut serial);
    serial.follow();
    (serial.copier.young, serial.copier.old)
}

/// The copy by one thread.
struct Serial<P> {
    copier: Copier<P>,
    /// Where the copies begin ...
    start: [*mut Word; 2],
    /// ... and up to where they have been scanned.
    scanned: [*mut Word; 2],
}

impl<P: Policy> Visit for Serial<P> {
    fn run(&mut self, start: *mut Word, words: usize) {
        // SAFETY: the roots hold whole terms, and the destinations have room.
        unsafe { self.copier.visit_run(start, words) }
    }

    fn follow(&mut self) -> [usize; 2] {
        let [young, old] = self.scanned;
        // SAFETY: only this copy writes there.
        unsafe { self.copier.scan(young, old) };
        self.scanned = [self.copier.young, self.copier.old];
        [0, 1].map(|which| blocks::words_between(self.start[which], self.scanned[which]))
    }
}

/// Words from the start of the old generation to its end.
pub(super) fn old_extent(collector: &Collector) -> usize {
    blocks::words_between(collector.old().start(), collector.old_top)
}

/// Words in use in the old generation.
pub(super) fn old_used(collector: &Collector) -> usize {
    if collector.mark_sweep.is_some() { collector.old_allocated } else { old_extent(collector) }
}

/// What a collection leaves in the young generation.
pub(super) struct Outcome {
    /// Next free word.
    pub(super) top: *mut Word,
    /// Size before phase 6.
    pub(super) words: usize,
    /// Free words that were asked for.
    pub(super) need: usize,
    /// Words in use before.
    pub(super) used_before: usize,
}

/// Phase 6: the other range becomes the young generation, with the size that the rules give. `factor`: when it
/// shrinks, then to the series' next size above this times what is needed.
///
/// # Safety
/// Everything that lives has left the range in use.
pub(super) unsafe fn settle(
    shared: &Shared,
    collector: &mut Collector,
    outcome: &Outcome,
    factor: usize,
    started: i64,
) {
    // SAFETY: as the caller's.
    unsafe { collector.flip(outcome.used_before) };
    let range: Range = collector.young();
    let needed = blocks::words_between(range.start(), outcome.top) + outcome.need;
    let pause = monotonic() - started;
    let between = (started - collector.ended).max(0);
    let is_minor = factor != major::SHRINK_FACTOR;
    let slow = is_minor && pause * TIME_TO_GROW > between && outcome.words < LARGEST_FOR_TIME;
    let mut words = outcome.words.max(needed);
    collector.grow = needed * 4 > words * 3 || slow;
    let large = !is_minor || words > SMALL || words > collector.old_words;
    if needed * 4 < words && large && !(is_minor && pause * TIME_TO_SHRINK > between) {
        words = words.min(fibonacci::at_least((factor * needed).max(shared.floor.load(Ordering::Relaxed))));
    }
    range.check_room(words);
    collector.young_words = words;
    collector.mark = outcome.top;
    collector.report_size();
    shared.young_top.store(outcome.top as usize, Ordering::Release);
    shared.young_limit.store(range.start().wrapping_add(words) as usize, Ordering::Release);
    shared.young_end.store(range.end(), Ordering::Release);
}

/// Counts a collection and prints its line if asked.
pub(super) fn report(collector: &Collector, is_major: bool, started: i64, before: usize, live: usize) {
    Report {
        architecture: "shared",
        major: is_major,
        started,
        before,
        live,
        young_block: collector.young_words,
        old_block: collector.old_words,
    }
    .record();
}
