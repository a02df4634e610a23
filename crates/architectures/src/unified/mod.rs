//! `unified`: one heap for all processes that is collected while they run (Feeley 2001, sections 1.2 and 3); messages,
//! spawn arguments and rows of tables are pointers.
//!
//! What it cannot do: free a process's data when it ends, before the next cycle; move objects that others may refer to,
//! so that a line of 256 bytes stays in use as long as one such object in it lives. Stacks and process descriptors are
//! outside of the heap. `garbage_collect` stops the world for a whole collection. Settings of one process mean:
//! `max_heap_size`, what is reachable from it (`limits.rs`); `hibernate`, its stack; the others mean nothing.
//!
//! A process collects what it has shown nobody itself, between two cycles (`nursery.rs`); all else is the business of
//! cycles. Nothing that is reachable changes, so the roots as they were at a cycle's beginning lead to all that lives,
//! and processes need no write barrier. A thread hears of a cycle's phases between time slices, and where the process
//! that it runs collects. Any scheduler works for a cycle, a short while at a time: at the beginning of a time slice,
//! when a process takes a buffer, and when it has nothing to run (`work.rs`). The phases (`cycle.rs`):
//!
//! 1. Prepare: every thread hears that a cycle has begun. From then on what enters a message or a stored term is greyed
//!    (`send.rs`).
//! 2. Globals: messages of timers, then stored terms (`roots.rs`).
//! 3. Scan: processes, one by one, long mailboxes in portions; only the one that is scanned waits. A scheduler that
//!    knows of this phase scans each process before it runs it, and the lines that it allocates in belong to this
//!    cycle.
//! 4. Mark (`mark.rs`), any number of threads.
//! 5. Sweep: objects with parts outside of the heap that were not marked, then the lines of the cycle before in which
//!    nothing was marked.
//!
//! Cycles keep the marks of those before, so that what has been found live once is not looked at again: old objects
//! refer to older ones and to what was marked with them. There is no second generation to move to. What is old and dead
//! is found by a full marking, which takes as long as it needs beside many cycles (`full.rs`).
//!
//! Why this is enough: what a process allocates before it is scanned refers to what was there at that moment or before,
//! and is found from its roots; what it allocates after refers to what was found, or is new itself, and lines of this
//! cycle are not freed in it. A process gets pointers from others by messages and stored terms alone.
//!
//! Invariants (`verify.rs`):
//! * U1: a pointer on a stack or in a root leads to an object that was found live, or to the immovable range.
//! * U2: so does a pointer in an object that was found live.
//! * U3: no object that was found live has words in a free line, and no pointer leads into one.
//! * U4: the off-heap lists name each handle of the heap that was found live once.
//! * U5: no mutator has an allocation buffer right after a stop.

mod bits;
mod buffer;
mod collect;
mod cycle;
mod epoch;
mod full;
mod limits;
mod mark;
mod nursery;
mod off_heap;
mod roots;
mod sections;
mod send;
mod space;
mod state;
mod threads;
mod verify;
mod work;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize};
use std::sync::{Mutex, RwLock};

use atoll_heap::immovable::NoAddresses;
use atoll_heap::{
    Architecture, Base, Collection, ConcurrentRoots, FirstBlocks, Fragment, HeapFull, HeapOptions, HeapSizes, IdleWork,
    Message, Mutator, OFF_HEAP_BYTES_AT_LEAST, RootSet, Settings, StackPlacement,
};
use atoll_term::{Term, Word};

use crate::common::first_stacks::FirstStacks;
use crate::common::stored::StoredTerms;
use crate::common::{Immovable, stack};
use cycle::{Driver, LEAST_OFF_HEAP};
use epoch::{Epoch, Phase};
use full::Full;
use mark::Greys;
use off_heap::OffHeap;
use space::Space;
use state::State;
use threads::Threads;

/// The architecture with one heap that is collected incrementally.
pub struct Unified {
    base: Base,
    immovable: Immovable,
    space: Space,
    threads: Threads,
    greys: Greys,
    stored: StoredTerms,
    first_stacks: FirstStacks,
    off_heap: OffHeap,
    /// The cycle and its phase.
    epoch: AtomicU32,
    full: Full,
    /// The present cycle looks for all roots.
    wants_all_roots: AtomicBool,
    driver: Mutex<Driver>,
    /// Held by threads that work for a cycle; a stopped world takes it alone.
    at_work: RwLock<()>,
    /// Collections in a stopped world so far, and the cycle that the last one was.
    stops: AtomicU32,
    stopped_in: AtomicU32,
    /// Collections asked for under stress.
    asked: AtomicUsize,
    /// Lines taken for allocation since a cycle began, and the number at which the next one does.
    taken: AtomicUsize,
    budget: AtomicUsize,
    /// The same in bytes outside of the heap.
    off_heap_bytes: AtomicUsize,
    off_heap_budget: AtomicUsize,
    /// Lines taken since the cycle began above which threads that allocate wait for it.
    most_taken: AtomicUsize,
    /// Words of work that schedulers without processes have done in this cycle, and that nobody has been spared yet.
    helped: AtomicUsize,
    /// Words in use after the last cycle, as told to the counters.
    used: AtomicI64,
}

impl Unified {
    /// The architecture with its heap and its immovable range.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Unified, NoAddresses> {
        // Literals take theirs first: of what is left, where the system limits addresses, the heap takes what it gets.
        let base = Base::new(settings)?;
        Ok(Unified {
            immovable: Immovable::of(&base.immovable),
            base,
            space: Space::new(settings.verify, settings.heap_size)?,
            threads: Threads::default(),
            greys: Greys::default(),
            stored: StoredTerms::new(),
            first_stacks: FirstStacks::new(),
            off_heap: OffHeap::new(),
            epoch: AtomicU32::new(Epoch::START.number()),
            full: Full::new(),
            wants_all_roots: AtomicBool::new(false),
            driver: Mutex::new(Driver::new()),
            at_work: RwLock::new(()),
            stops: AtomicU32::new(0),
            stopped_in: AtomicU32::new(0),
            asked: AtomicUsize::new(1),
            taken: AtomicUsize::new(0),
            budget: AtomicUsize::new(settings.heap_size.map_or(cycle::LEAST_LINES, cycle::first_budget)),
            off_heap_bytes: AtomicUsize::new(0),
            off_heap_budget: AtomicUsize::new(LEAST_OFF_HEAP),
            most_taken: AtomicUsize::new(0),
            helped: AtomicUsize::new(0),
            used: AtomicI64::new(0),
        })
    }

    /// Cycles so far, and sections with memory.
    #[cfg(test)]
    pub(crate) fn progress(&self) -> (u32, usize) {
        (self.epoch().cycle(), self.space.backed())
    }

    /// Collections in a stopped world so far.
    #[cfg(test)]
    pub(crate) fn stops(&self) -> u32 {
        self.stops.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Architecture for Unified {
    fn name(&self) -> &'static str {
        "unified"
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn stack_placement(&self) -> StackPlacement {
        StackPlacement::Apart
    }

    fn concurrent_roots(&self) -> Option<&dyn ConcurrentRoots> {
        Some(self)
    }

    fn idle_work(&self) -> Option<&dyn IdleWork> {
        Some(self)
    }

    fn first_blocks(&self) -> Option<&dyn FirstBlocks> {
        Some(self)
    }

    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
        self.create_process(mutator, &arguments, options)
    }

    unsafe fn destroy(&self, mutator: &mut Mutator) {
        self.flush_counters(mutator);
        let state = State::of(mutator);
        let epoch = self.epoch();
        let is_new =
            matches!(epoch.phase(), Phase::Scan | Phase::Mark | Phase::Sweep) && state.scanned() == epoch.cycle();
        if state.running {
            self.with_local(|local| buffer::give_back(local, mutator));
        }
        // SAFETY: the process's objects are whole.
        unsafe { self.off_heap.adopt(mutator.off_heap, is_new) };
        stack::free(mutator);
        mutator.forget_memory();
    }

    unsafe fn schedule_in(&self, mutator: &mut Mutator) {
        self.begin_slice(mutator);
    }

    unsafe fn schedule_out(&self, mutator: &mut Mutator) {
        self.end_slice(mutator);
    }

    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        self.collect_for(mutator, request, live, roots)
    }

    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        self.allocate_more(mutator, words)
    }

    fn send(&self, sender: &mut Mutator, term: Term) -> Message {
        self.make_message(Some(sender), term)
    }

    fn send_copy(&self, term: Term) -> Message {
        self.make_message(None, term)
    }

    unsafe fn receive(&self, receiver: &mut Mutator, message: &Fragment) -> bool {
        self.move_in(receiver, message);
        true
    }

    fn keep_fragment(&self, _receiver: &mut Mutator, message: Message) {
        self.keep(message);
    }

    fn store_own(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        self.store_term(owner, term)
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
        mutator.fragment_words > 0 || mutator.off_heap_bytes >= OFF_HEAP_BYTES_AT_LEAST
    }

    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions) {
        limits::count_from_here(mutator);
        State::of_mut(mutator).set_options(options);
    }

    fn options(&self, mutator: &Mutator) -> HeapOptions {
        State::of(mutator).options()
    }

    fn gives_up_at_end(&self) -> bool {
        false
    }

    fn sizes(&self, mutator: &Mutator) -> HeapSizes {
        let state = State::of(mutator);
        HeapSizes {
            young_block: (state.allocated + mutator.free_words()).max(state.options().minimum_words),
            young_used: state.allocated,
            stack: mutator.stack_words(),
            ..HeapSizes::default()
        }
    }

    fn each_block(&self, _mutator: &Mutator, _visit: &mut dyn FnMut(*mut Word, usize)) {}

    fn each_common_block(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        self.space.each_run(visit);
        self.stored.each_word(visit);
    }
}

impl FirstBlocks for Unified {
    fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term) {
        let beginning = self.first_stacks.begins(mutator, function, arguments);
        State::of_mut(mutator).beginning = beginning;
    }
}

impl ConcurrentRoots for Unified {
    fn wants_roots(&self, mutator: &Mutator) -> bool {
        self.wants_scan(mutator)
    }

    unsafe fn hears_within_slice(&self, mutator: &mut Mutator) -> bool {
        self.hear_running(mutator)
    }

    unsafe fn visit_roots(&self, mutator: &mut Mutator, roots: &mut dyn RootSet) {
        self.scan_own(mutator, roots);
    }

    unsafe fn safepoint(&self) {}

    fn thread_sleeps(&self) {
        self.set_away(true);
    }

    fn thread_wakes(&self) {
        self.set_away(false);
    }

    fn message_read(&self, message: &Fragment) {
        self.barrier(message.term());
    }

    fn deliver_kept(&self, message: &Message) {
        self.barrier(message.term());
    }
}

impl IdleWork for Unified {
    unsafe fn work(&self) -> bool {
        self.work_idle()
    }

    fn is_waiting(&self) -> bool {
        self.has_work()
    }
}
