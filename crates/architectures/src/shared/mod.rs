//! `shared`: one heap for all processes, a stack apart for each; messages and spawn arguments pass pointers
//! (Wilhelmsson §4, Johansson §4).
//!
//! What it cannot do: collect one process without stopping the others; free a process's data when it ends, before the
//! next collection. Settings of one process mean: `max_heap_size`, what is reachable from it first (`limits.rs`);
//! `fullsweep_after`, that a collection it asks for is a major one after as many minor ones of the whole heap;
//! `min_heap_size`, the least size of the nursery; `hibernate`, its stack.
//!
//! The heap is three ranges of reserved addresses: two for the young generation, used in turn, and one for the old.
//! Sizes are limits inside the ranges, so growing and shrinking copies nothing. Each scheduler thread has an
//! allocation buffer in the young generation, which the process that runs on it borrows (`buffer.rs`). A collection
//! begins when a buffer cannot be had below the limit. Its phases run on the thread that asked, while every other
//! thread stands at a safepoint:
//!
//! 1. Stop the world. A thread that waited for another thread's collection first checks whether there is room now.
//! 2. Decide: minor or major, as in `private`, over the whole heap.
//! 3. Roots (§4.4): stack and live registers of the process that asked. Of a major, and of the first minor after it:
//!    stack, dictionary and messages of every live process; of other minors, only those of processes that were active
//!    since the last major: messages of those that were sent any, stacks of those that ran, without the part that has
//!    not changed for two collections (`stack_marks.rs`). The terms of no process, always (of stored terms in minors
//!    those that were new: `stored.rs`).
//! 4. Cheney scan; above 2^18 words in use several threads do it (`parallel.rs`).
//!    With `--old-generation mark-sweep` what is old is not moved: survivors of two minor collections fill free runs in
//!    the old generation (`free_runs.rs`), and a major collection is a minor one with all roots, then `mark_sweep.rs`.
//! 5. Off-heap lists of all processes join the heap's, and are swept.
//! 6. Size: as in `private` (75% grows, 25% shrinks), and one step of the series more while collections take more
//!    than an eighth of the time (not in the papers, which stop one processor, not all).
//! 7. All allocation buffers are void; the world goes on.
//!
//! Invariants (`verify.rs`):
//! * S1: a pointer on a stack, in a root or in the young generation leads to the young or old part in use, or to the
//!   immovable range.
//! * S2: a pointer in the old generation leads to the old generation or to the immovable range.
//! * S3: no mutator has an allocation buffer right after a collection.
//! * S4: the off-heap lists name each handle of the heap once.
//! * S5: a pointer in the part of a stack that the next minor collection does not scan leads to the old generation or
//!   to the immovable range; the marker stands at the end of the part that is covered.
//! * S6: free runs lie apart from each other in the old generation, and no pointer leads into one.

mod buffer;
mod collect;
mod copy;
mod free_runs;
mod limits;
mod major;
mod mark_sweep;
mod minor;
mod parallel;
mod roots;
mod send;
mod settle;
mod stack_marks;
mod state;
mod stored;
mod verify;

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use atoll_heap::immovable::NoAddresses;
use atoll_heap::{
    Architecture, Base, Collection, FirstBlocks, Fragment, HeapFull, HeapOptions, HeapSizes, Message, Mutator,
    OFF_HEAP_BYTES_AT_LEAST, RootSet, Settings, StackMarkers, StackPlacement,
};
use atoll_term::{Term, Word};

use crate::common::first_stacks::FirstStacks;
use crate::common::{Immovable, blocks, stack};
#[cfg(test)]
pub(crate) use stack_marks::clean_words;
use state::{Collector, State};
use stored::StoredTerms;

/// Words of the young generation before the first process (Wilhelmsson §6).
pub const INITIAL_WORDS: usize = 10_946;

/// Words that are allocated beyond the limit of the young generation, or kept in fragments, before a collection is
/// asked for.
const BEYOND_LIMIT: usize = 4_096;
/// Words in use above which it pays to start threads for a collection.
const PARALLEL_ABOVE: usize = 1 << 18;
/// Hardware threads from which on collections are parallel: claiming each object costs half as much again.
const FEWEST_THREADS: usize = 4;
/// Threads that collect at most.
const MOST_WORKERS: usize = 8;

/// The architecture with one heap for all processes.
#[derive(Debug)]
pub struct Shared {
    base: Base,
    immovable: Immovable,
    /// Next free address of the young generation.
    young_top: AtomicUsize,
    /// Address at which a collection is due.
    young_limit: AtomicUsize,
    /// Where the young generation's range of addresses ends.
    young_end: AtomicUsize,
    /// Collections so far: allocation buffers of earlier ones are void.
    epoch: AtomicUsize,
    /// Major collections so far.
    majors: AtomicU32,
    /// Minor collections since the last major one.
    minors: AtomicUsize,
    /// Has any process a `max_heap_size`?
    limited: AtomicBool,
    /// The engine's code for stack markers; 0: it has none.
    marker: AtomicUsize,
    /// Smallest size of the young generation.
    floor: AtomicUsize,
    /// Bytes of new binaries outside of the heap with which one process may ask for a collection.
    off_heap_limit: AtomicUsize,
    /// Words in use above which a collection is the work of several threads.
    parallel_above: AtomicUsize,
    /// Threads that collect then.
    workers: AtomicUsize,
    /// Words of memory of the fragments that belong to the young generation.
    kept_words: AtomicUsize,
    collector: Mutex<Collector>,
    stored: StoredTerms,
    first_stacks: FirstStacks,
}

impl Shared {
    /// The architecture with its heap and its immovable range.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Shared, NoAddresses> {
        // Literals take theirs first: of what is left, where the system limits addresses, the heap takes what it gets.
        let base = Base::new(settings)?;
        let collector = Collector::new(INITIAL_WORDS, settings.mark_sweep)?;
        base.statistics.counters.heap_begins(INITIAL_WORDS);
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let start = collector.young().start() as usize;
        let end = collector.young().end();
        Ok(Shared {
            immovable: Immovable::of(&base.immovable),
            base,
            young_top: AtomicUsize::new(start),
            young_limit: AtomicUsize::new(start + INITIAL_WORDS * size_of::<Word>()),
            young_end: AtomicUsize::new(end),
            epoch: AtomicUsize::new(1),
            majors: AtomicU32::new(0),
            minors: AtomicUsize::new(0),
            limited: AtomicBool::new(false),
            marker: AtomicUsize::new(0),
            floor: AtomicUsize::new(INITIAL_WORDS),
            off_heap_limit: AtomicUsize::new(OFF_HEAP_BYTES_AT_LEAST),
            parallel_above: AtomicUsize::new(PARALLEL_ABOVE),
            workers: AtomicUsize::new(if threads < FEWEST_THREADS { 1 } else { threads.min(MOST_WORKERS) }),
            kept_words: AtomicUsize::new(0),
            collector: Mutex::new(collector),
            stored: StoredTerms::new(),
            first_stacks: FirstStacks::new(),
        })
    }

    /// Sets how many threads collect when more than `above` words are in use.
    pub fn set_parallel(&self, workers: usize, above: usize) {
        self.workers.store(workers.max(1), Ordering::Relaxed);
        self.parallel_above.store(above, Ordering::Relaxed);
    }

    /// The generations as the last collection left them: first words, words in use.
    #[cfg(test)]
    pub(crate) fn each_generation(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        let collector = self.lock();
        let start = collector.young().start();
        visit(start, blocks::words_between(start, collector.mark));
        visit(collector.old().start(), collector.old_extent());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Collector> {
        self.collector.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Architecture for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn stack_placement(&self) -> StackPlacement {
        StackPlacement::Apart
    }

    fn stack_markers(&self) -> Option<&dyn StackMarkers> {
        Some(self)
    }

    fn is_readable(&self) -> bool {
        self.collector.try_lock().is_ok()
    }

    fn first_blocks(&self) -> Option<&dyn FirstBlocks> {
        Some(self)
    }

    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
        send::create(self, mutator, arguments, options)
    }

    unsafe fn destroy(&self, mutator: &mut Mutator) {
        send::flush_counters(self, mutator);
        buffer::give_back(self, mutator);
        if !mutator.off_heap.is_null() {
            roots::adopt_off_heap(&mut self.lock(), mutator);
        }
        stack::free(mutator);
        State::of_mut(mutator).account = None;
        *mutator = Mutator::empty();
    }

    unsafe fn schedule_in(&self, mutator: &mut Mutator) {
        buffer::take(self, mutator);
        let state = State::of_mut(mutator);
        state.running = true;
        state.ran_in = self.majors.load(Ordering::Relaxed);
    }

    unsafe fn schedule_out(&self, mutator: &mut Mutator) {
        send::flush_counters(self, mutator);
        buffer::give_back(self, mutator);
        let state = State::of_mut(mutator);
        state.running = false;
        state.ran_in = self.majors.load(Ordering::Relaxed);
    }

    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        collect::collect(self, mutator, request, live, roots)
    }

    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        buffer::allocate_slow(self, mutator, words)
    }

    fn send(&self, sender: &mut Mutator, term: Term) -> Message {
        send::send(self, Some(sender), term)
    }

    fn send_copy(&self, term: Term) -> Message {
        send::send(self, None, term)
    }

    unsafe fn receive(&self, receiver: &mut Mutator, message: &Fragment) -> bool {
        send::receive(self, receiver, message)
    }

    fn keep_fragment(&self, receiver: &mut Mutator, message: Message) {
        send::keep_fragment(self, receiver, message);
    }

    fn store_own(&self, _owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        StoredTerms::hold(term)
    }

    unsafe fn link_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: as the caller's.
        unsafe { self.stored.link(stored) }
    }

    unsafe fn replace_stored(&self, stored: NonNull<Fragment>, with: NonNull<Fragment>) -> bool {
        // SAFETY: as the caller's.
        unsafe { self.stored.replace(stored, with) }
    }

    unsafe fn discard_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: the caller gives it up.
        unsafe { self.stored.discard(stored) }
    }

    fn messages_are_roots(&self) -> bool {
        true
    }

    fn wants_collection(&self, mutator: &Mutator) -> bool {
        // Built-in functions and messages from outside of the heap take room beyond the limit, and in fragments.
        let (top, limit) = (self.young_top.load(Ordering::Relaxed), self.young_limit.load(Ordering::Relaxed));
        let words = top.saturating_sub(limit) / size_of::<Word>() + self.kept_words.load(Ordering::Relaxed);
        words > BEYOND_LIMIT || mutator.off_heap_bytes > self.off_heap_limit.load(Ordering::Relaxed)
    }

    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions) {
        send::set_options(self, mutator, options);
    }

    fn options(&self, mutator: &Mutator) -> HeapOptions {
        State::of(mutator).options()
    }

    fn gives_up_at_end(&self) -> bool {
        false
    }

    fn sizes(&self, mutator: &Mutator) -> HeapSizes {
        // The collector counts the words of a process only if that has a limit. The room that the process has asked for
        // is in the young generation, as it is for all processes.
        let (young, old) =
            State::of(mutator).account.as_ref().map_or((0, 0), |account| (account.young(), account.old()));
        HeapSizes {
            young_block: (young + mutator.free_words()).max(State::of(mutator).options().minimum_words),
            young_used: young,
            old_block: old,
            old_used: old,
            stack: mutator.stack_words(),
            fragments: 0,
            minor_collections: Some(self.minors.load(Ordering::Relaxed)),
        }
    }

    fn each_block(&self, _mutator: &Mutator, _visit: &mut dyn FnMut(*mut Word, usize)) {}

    fn each_common_block(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        let collector = self.lock();
        let start = collector.young().start();
        visit(start, blocks::words_between(start, self.young_top.load(Ordering::Acquire) as *mut Word));
        visit(collector.old().start(), collector.old_extent());
        for fragment in &collector.kept {
            visit(fragment.words(), fragment.used());
        }
        drop(collector);
        self.stored.each(true, &mut |term| visit(term.cast(), 1));
    }
}

impl FirstBlocks for Shared {
    fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term) {
        let beginning = self.first_stacks.begins(mutator, function, arguments);
        State::of_mut(mutator).beginning = beginning;
    }
}

impl StackMarkers for Shared {
    fn use_marker(&self, code: Word) {
        self.marker.store(code as usize, Ordering::Relaxed);
    }

    fn marker(&self, mutator: &Mutator) -> Option<(*const Word, Word)> {
        stack_marks::marker(mutator)
    }

    unsafe fn cut(&self, mutator: &mut Mutator) {
        stack_marks::cut(self, mutator);
    }
}
