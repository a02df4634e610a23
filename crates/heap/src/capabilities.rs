//! What only some heap architectures need. [`crate::Architecture`] says which of these traits there are; the machine
//! calls none of the others, and asks once for each thread, so that a heap without a capability costs
//! what the test of a pointer costs.

use std::cell::Cell;

use atoll_term::{Header, Term, Word};

use crate::architecture::Architecture;
use crate::fragment::Fragment;
use crate::message::Message;
use crate::mutator::Mutator;
use crate::roots::RootSet;
use crate::sites::Site;

/// A collector that looks for roots while processes run: it sees those of a process when that is about to run, and
/// works at safepoints and, as [`IdleWork`], on schedulers that have nothing to run.
pub trait ConcurrentRoots: Sync {
    /// Whether the roots of this process, which is about to run on this thread, are wanted first.
    fn wants_roots(&self, mutator: &Mutator) -> bool;

    /// The process that this thread runs is about to collect and make room on its heap, for the room that it has may be
    /// taken away. Whether its roots are wanted first.
    ///
    /// # Safety
    /// As for [`ConcurrentRoots::safepoint`]; this is the heap of the process.
    unsafe fn hears_within_slice(&self, _mutator: &mut Mutator) -> bool {
        false
    }

    /// Shows the roots of a process that this thread is about to run, or runs.
    ///
    /// # Safety
    /// As for [`Architecture::schedule_in`]; the roots are those of this process.
    unsafe fn visit_roots(&self, mutator: &mut Mutator, roots: &mut dyn RootSet);

    /// This thread runs a process whose terms are all where its collections find them, or in its registers: no other is
    /// held.
    ///
    /// # Safety
    /// This thread holds no terms but those of the process that it runs, and these lie where collections find them or
    /// in registers.
    unsafe fn safepoint(&self);

    /// This thread, a scheduler's, is about to sleep or wait: nobody may wait for it until
    /// [`ConcurrentRoots::thread_wakes`].
    fn thread_sleeps(&self);

    /// Ends what [`ConcurrentRoots::thread_sleeps`] began.
    fn thread_wakes(&self);

    /// The process looks at a message that [`RootSet::some_messages`] has not come to yet.
    fn message_read(&self, message: &Fragment);

    /// A message that was made earlier, for a timer, is delivered now.
    fn deliver_kept(&self, message: &Message);
}

/// What schedulers without processes do for the heap.
pub trait IdleWork: Sync {
    /// This thread, a scheduler's, has nothing to run. Works for a part of a millisecond. Returns whether it did
    /// something, and should look for processes again before it sleeps.
    ///
    /// # Safety
    /// This thread holds no term.
    unsafe fn work(&self) -> bool;

    /// Whether a scheduler that sleeps should be woken for it, and one that looks around should do it at once. Any
    /// thread may ask.
    fn is_waiting(&self) -> bool;
}

/// Builds objects where messages live. An engine builds most of them itself, in the [`crate::BuildWindow`] that the
/// architecture opens.
pub trait MessageBuilder: Sync {
    /// Builds an object (a cons where there is no header) that is to become part of a message. `None`: it is to be
    /// built on the process's heap as any other.
    fn build_message(&self, header: Option<Header>, fields: &[Term]) -> Option<Term>;
}

/// Learns which of the engine's allocation sites build what: see [`crate::sites`].
pub trait AllocationSites: Sync {
    /// An allocation site that is sampled builds this object now, on the process's heap.
    fn built(&self, mutator: *const Mutator, object: Term, site: Site);
}

/// Replaces return addresses on stacks by the address of code that the engine has for this, to learn which frames have
/// not changed. The code asks for the marker, reports the cut, and goes on at the true address.
pub trait StackMarkers: Sync {
    /// The engine has its code at this address.
    fn use_marker(&self, code: Word);

    /// The place on the process's stack where such code stands, and the return address whose place it takes.
    fn marker(&self, mutator: &Mutator) -> Option<(*const Word, Word)>;

    /// The process has left frames otherwise than by returning from each: by an exception, or by way of a marker. What
    /// it has left is below the mutator's stack pointer.
    ///
    /// # Safety
    /// The mutator is that of the process which this thread runs; what is below its stack pointer is not used any more.
    unsafe fn cut(&self, mutator: &mut Mutator);
}

/// Chooses a process's first block by what processes that began alike have needed.
pub trait FirstBlocks: Sync {
    /// The process will call this function (module and name) with the list `arguments`, which lies on its heap.
    fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term);
}

thread_local! {
    static CONCURRENT_ROOTS: Cell<Option<&'static dyn ConcurrentRoots>> = const { Cell::new(None) };
    static IDLE_WORK: Cell<Option<&'static dyn IdleWork>> = const { Cell::new(None) };
    static MESSAGE_BUILDER: Cell<Option<&'static dyn MessageBuilder>> = const { Cell::new(None) };
    static ALLOCATION_SITES: Cell<Option<&'static dyn AllocationSites>> = const { Cell::new(None) };
    static STACK_MARKERS: Cell<Option<&'static dyn StackMarkers>> = const { Cell::new(None) };
    static FIRST_BLOCKS: Cell<Option<&'static dyn FirstBlocks>> = const { Cell::new(None) };
}

/// What the architecture offers is what this thread's machine uses from now on.
pub(crate) fn enter(architecture: &'static dyn Architecture) {
    CONCURRENT_ROOTS.set(architecture.concurrent_roots());
    IDLE_WORK.set(architecture.idle_work());
    MESSAGE_BUILDER.set(architecture.message_builder());
    ALLOCATION_SITES.set(architecture.allocation_sites());
    STACK_MARKERS.set(architecture.stack_markers());
    FIRST_BLOCKS.set(architecture.first_blocks());
}

/// [`Architecture::concurrent_roots`] of this thread's machine.
#[inline(always)]
pub fn concurrent_roots() -> Option<&'static dyn ConcurrentRoots> {
    CONCURRENT_ROOTS.get()
}

/// [`Architecture::idle_work`] of this thread's machine.
#[inline(always)]
pub fn idle_work() -> Option<&'static dyn IdleWork> {
    IDLE_WORK.get()
}

/// [`Architecture::message_builder`] of this thread's machine.
#[inline(always)]
pub fn message_builder() -> Option<&'static dyn MessageBuilder> {
    MESSAGE_BUILDER.get()
}

/// [`Architecture::allocation_sites`] of this thread's machine.
#[inline(always)]
pub fn allocation_sites() -> Option<&'static dyn AllocationSites> {
    ALLOCATION_SITES.get()
}

/// [`Architecture::stack_markers`] of this thread's machine.
#[inline(always)]
pub fn stack_markers() -> Option<&'static dyn StackMarkers> {
    STACK_MARKERS.get()
}

/// [`Architecture::first_blocks`] of this thread's machine.
#[inline(always)]
pub fn first_blocks() -> Option<&'static dyn FirstBlocks> {
    FIRST_BLOCKS.get()
}
