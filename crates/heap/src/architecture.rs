//! What a heap architecture implements, and what the machine gives it.

use std::ptr::NonNull;
use std::sync::OnceLock;

use atoll_term::{Header, Term, Word};

use crate::fragment::{Fragment, each_off_heap};
use crate::mutator::Mutator;

/// Where a process's stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackPlacement {
    /// In one block with the heap; they grow towards each other and one comparison tests both.
    United,
    /// In memory of its own.
    Apart,
}

/// Settings of one process's heap, in words where sizes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// `min_heap_size`
    pub minimum_words: usize,
    /// `fullsweep_after`: minor collections before a major one.
    pub full_sweep_after: u16,
    /// `max_heap_size`: 0 is no limit.
    pub maximum_words: usize,
}

/// What is asked of a collection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collection {
    /// Free heap words wanted afterwards.
    pub heap_words: usize,
    /// Free stack words wanted afterwards.
    pub stack_words: usize,
    /// Collect the old generation too.
    pub major: bool,
    /// Leave no free room: the process is going to sleep.
    pub hibernate: bool,
}

/// Why a collection did not give what was asked: the process's heap has reached its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapFull {
    /// Words that the heap would have had.
    pub words: usize,
}

/// The roots that a process has beside its stack and live registers: dictionary, messages that were looked at,
/// saved arguments.
pub trait RootSet {
    /// Calls `visit` with runs of terms that a collector may overwrite.
    fn each_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize));

    /// As [`RootSet::each_slice`], without the terms of messages, which [`RootSet::each_message`] visits.
    fn each_own_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.each_slice(visit);
    }

    /// Visits the messages and signals that have come and were not taken, in their fragments.
    fn each_message(&mut self, visit: &mut dyn FnMut(&mut Fragment));

    /// Number of messages that have come and were not taken, but for those that came so recently that the process has
    /// not heard of them.
    fn messages(&self) -> usize {
        0
    }

    /// Visits signals of which the process has not heard. The other messages will be visited by
    /// [`RootSet::some_messages`]; until then [`crate::Architecture::message_read`] hears of those that the process
    /// looks at.
    fn begin_messages(&mut self, visit: &mut dyn FnMut(&mut Fragment)) {
        self.each_message(visit);
    }

    /// Goes on where it was, for as long as `visit` says so. Whether nothing is left of what was there at
    /// [`RootSet::begin_messages`].
    fn some_messages(&mut self, _visit: &mut dyn FnMut(&mut Fragment) -> bool) -> bool {
        true
    }
}

/// Where a visit of kept messages goes on: a set, and a time and a number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPlace {
    /// The number of the set.
    pub set: usize,
    /// The first that is visited, in the order of times and numbers.
    pub first: (i64, u64),
}

impl KeptPlace {
    /// Before all of them.
    pub const START: KeptPlace = KeptPlace { set: 0, first: (i64::MIN, 0) };
}

/// What came of the wish to visit a process that may be running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It was visited, needs no visit, or has ended.
    Settled,
    /// It runs or is about to.
    Busy,
}

/// A process that asks for a stopped world: its heap and its roots, lent to that world. A visitor of all processes
/// reaches this one through them.
pub struct Asker<'a> {
    /// Its heap.
    pub mutator: &'a mut Mutator,
    /// Its roots beside the stack. Live registers lie on the stack.
    pub roots: &'a mut dyn RootSet,
}

/// All processes, while no other thread is at work: see [`World::stopped`].
pub trait StoppedWorld {
    /// The process that asked.
    fn asker(&mut self) -> Asker<'_>;
    /// Visits every live process's heap with its roots, the asker's among them.
    fn each_mutator(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet));
    /// Visits those of them that ran, or were sent anything, since [`StoppedWorld::forget_activity`], and perhaps
    /// others.
    fn each_active(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        self.each_mutator(visit);
    }
    /// From now on [`StoppedWorld::each_active`] visits those that have been active after this, and those that run.
    fn forget_activity(&mut self) {}
    /// Visits terms that belong to no process (timers, tables).
    fn each_global_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize));
}

/// All processes, for architectures whose collections concern more than one.
pub trait World: Sync {
    /// Calls `then` once, while no other thread runs a process, allocates, or visits what it has claimed. If another
    /// thread stops the world at the same time, it goes first: what the asker has lent may have moved when `then` is
    /// called.
    fn stopped(&self, asker: Asker<'_>, then: &mut dyn FnMut(&mut dyn StoppedWorld));

    /// Visits up to `most` processes from place `from` of the table on, without stopping any process. It holds those
    /// that `wanted` accepts and that do not run for the visit, and calls `busy` with the pids of those that run, and
    /// of those that are still wanted after the visit. `wanted` may read what other threads write, through atomics.
    /// Returns the place to go on from, `None` at the end. While another thread stops the world all processes are busy.
    fn claim_each(
        &self,
        from: usize,
        most: usize,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
        busy: &mut dyn FnMut(Term),
    ) -> Option<usize>;

    /// As [`World::claim_each`], for one process.
    fn claim(
        &self,
        pid: Term,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
    ) -> Claim;

    /// Visits fragments that are kept to be delivered later (timers), without stopping anybody: up to `most`, from a
    /// place on. Returns where to go on, `None` at the end. What is added meanwhile may be left out.
    fn each_kept_message(
        &self,
        from: KeptPlace,
        most: usize,
        visit: &mut dyn FnMut(&mut Fragment),
    ) -> Option<KeptPlace>;

    /// Number of processes.
    fn processes(&self) -> usize;

    /// The process whose heap this is, for reports. Takes as long as going through all processes.
    fn pid_of(&self, _mutator: *const Mutator) -> Option<Term> {
        None
    }
}

/// Sizes of one process's heap, in words, for `process_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSizes {
    /// Block of the young generation, without the stack's part in use.
    pub young_block: usize,
    /// Used in it.
    pub young_used: usize,
    /// Block of the old generation.
    pub old_block: usize,
    /// Used in it.
    pub old_used: usize,
    /// Stack in use.
    pub stack: usize,
    /// Fragments.
    pub fragments: usize,
    /// Minor collections since the last major one.
    pub minor_collections: usize,
}

/// A heap architecture. One is chosen at start-up; the rest of the machine sees it through this trait alone.
pub trait Architecture: Sync {
    /// Its name, as in `--heap`.
    fn name(&self) -> &'static str;

    /// Where stacks are.
    fn stack_placement(&self) -> StackPlacement;

    /// Gives a new process its heap. What `arguments` brings is then on it; the fragment is consumed. Returns the
    /// term that it brought. The stack is empty.
    ///
    /// # Safety
    /// The fragment is whole, and the caller gives it up.
    unsafe fn create(&self, mutator: &mut Mutator, arguments: NonNull<Fragment>, options: &HeapOptions) -> Term;

    /// The process will call this function (module and name) with the list `arguments`, which lies on its heap.
    fn begins(&self, _mutator: &mut Mutator, _function: (Term, Term), _arguments: Term) {}

    /// Takes everything from a process that has ended; the mutator is empty afterwards.
    ///
    /// # Safety
    /// Nobody holds a term of this process, or uses one afterwards.
    unsafe fn destroy(&self, mutator: &mut Mutator);

    /// The process is about to run on this thread. Returns whether [`Architecture::visit_roots`] is wanted first.
    ///
    /// # Safety
    /// This thread is going to run the process, and holds no term.
    unsafe fn schedule_in(&self, _mutator: &mut Mutator) -> bool {
        false
    }

    /// Shows the roots of a process that this thread is about to run.
    ///
    /// # Safety
    /// As for [`Architecture::schedule_in`]; the roots are those of this process.
    unsafe fn visit_roots(&self, _mutator: &mut Mutator, _roots: &mut dyn RootSet) {}

    /// This thread, a scheduler's, has nothing to run. Returns whether it did something for the heap, and should look
    /// for processes again before it sleeps.
    ///
    /// # Safety
    /// This thread holds no term.
    unsafe fn idle(&self) -> bool {
        false
    }

    /// This thread, a scheduler's, is about to sleep or wait: nobody may wait for it until
    /// [`Architecture::thread_wakes`].
    fn thread_sleeps(&self) {}

    /// Ends what [`Architecture::thread_sleeps`] began.
    fn thread_wakes(&self) {}

    /// This thread runs a process whose terms are all where its collections find them, or in its registers: no other is
    /// held.
    ///
    /// # Safety
    /// This thread holds no terms but those of the process that it runs, and these lie where collections find them or
    /// in registers.
    unsafe fn safepoint(&self) {}

    /// A message that was made earlier, for a timer, is delivered now.
    ///
    /// # Safety
    /// The fragment is whole, and nobody else has it.
    unsafe fn deliver_kept(&self, _message: NonNull<Fragment>) {}

    /// Builds an object (a cons where there is no header) that is to become part of a message, where messages are
    /// passed by pointer. `None`: it is to be built on the process's heap as any other.
    fn build_message(&self, _header: Option<Header>, _fields: &[Term]) -> Option<Term> {
        None
    }

    /// Whether the engine's allocation sites are to be known to [`crate::sites`].
    fn wants_sites(&self) -> bool {
        false
    }

    /// An allocation site that is sampled builds this object now, on the process's heap.
    fn built(&self, _mutator: *const Mutator, _object: Term, _site: crate::Site) {}

    /// The engine has code at this address that may stand on stacks in the place of a return address. It asks for
    /// [`Architecture::stack_marker`], tells of [`Architecture::stack_cut`], and goes on at the true address.
    fn use_stack_marker(&self, _code: Word) {}

    /// The place on the process's stack where such code stands, and the return address whose place it takes.
    fn stack_marker(&self, _mutator: &Mutator) -> Option<(*const Word, Word)> {
        None
    }

    /// The process has left frames otherwise than by returning from each: by an exception, or by way of a stack marker.
    /// What it has left is below the mutator's stack pointer.
    ///
    /// # Safety
    /// The mutator is that of the process which this thread runs; what is below its stack pointer is not used any more.
    unsafe fn stack_cut(&self, _mutator: &mut Mutator) {}

    /// The process stops running on this thread.
    ///
    /// # Safety
    /// This thread has run the process, and holds no term.
    unsafe fn schedule_out(&self, _mutator: &mut Mutator) {}

    /// Collects, and makes the room that is asked for. `live` are the live registers. All terms that are no roots
    /// are stale afterwards. When it fails, everything is as it was.
    ///
    /// # Safety
    /// This thread runs the process. `live` and `roots` are all the terms of the process that anybody holds beside its
    /// stack: others are stale afterwards.
    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull>;

    /// Room for a built-in function when the heap is full: moves nothing.
    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word>;

    /// Makes a message of a term that lives on the sender's heap (`None`: outside of all heaps, as a scratch heap).
    fn send(&self, sender: Option<&mut Mutator>, term: Term) -> NonNull<Fragment>;

    /// Makes the message's term part of the receiver's heap as far as it can be done without a collection: returns
    /// whether the fragment is not needed any more. If not, the term stays in the fragment, which the caller hands
    /// over with [`Architecture::keep_fragment`] when it takes the message.
    ///
    /// # Safety
    /// The message is in the mailbox of this process, or was taken out of it. Its term is held by nobody, or where the
    /// message says.
    unsafe fn receive(&self, receiver: &mut Mutator, message: &mut Fragment) -> bool;

    /// The process looks at a message that [`RootSet::some_messages`] has not come to yet.
    fn message_read(&self, _message: &Fragment) {}

    /// Takes over a fragment whose term the process has taken.
    ///
    /// # Safety
    /// The fragment is whole, and the caller gives it up.
    unsafe fn keep_fragment(&self, receiver: &mut Mutator, message: NonNull<Fragment>);

    /// Keeps a term that lies on `owner`'s heap outside of every process: see [`crate::Stored`]. Until it is discarded
    /// the architecture sees to it that the fragment's term stays valid.
    fn store(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment>;

    /// What a process gets that reads `part` of a stored term, which may be the whole. As it is, unless the
    /// architecture keeps heaps apart.
    ///
    /// # Safety
    /// [`Architecture::store`] made `stored`, and nobody discards it meanwhile; `part` is its term or lies inside of
    /// it.
    unsafe fn fetch(&self, _reader: &mut Mutator, _stored: NonNull<Fragment>, part: Term) -> Term {
        part
    }

    /// Whether [`Architecture::fetch`] copies, so that nobody holds pointers into what is stored.
    fn fetches_copies(&self) -> bool {
        false
    }

    /// Whether heaps of processes that do not run can be read, wherever else the machine is: no collection of them is
    /// in the middle of moving their objects.
    fn is_readable(&self) -> bool {
        true
    }

    /// Frees what [`Architecture::store`] made.
    ///
    /// # Safety
    /// [`Architecture::store`] made it, the caller gives it up, and nobody holds a term that lies in it.
    unsafe fn discard_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: the caller gives the fragment up; readers have copies, or pointers out of it.
        unsafe { Fragment::discard(stored) }
    }

    /// Whether messages in a mailbox that were never received point into collected memory, so that they are roots.
    fn messages_are_roots(&self) -> bool;

    /// Whether the process should be collected soon although its heap is not full (fragments have piled up).
    fn wants_collection(&self, mutator: &Mutator) -> bool;

    /// Changes the settings of a process's heap.
    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions);

    /// The settings of a process's heap.
    fn options(&self, mutator: &Mutator) -> HeapOptions;

    /// Sizes of a process's heap.
    fn sizes(&self, mutator: &Mutator) -> HeapSizes;

    /// Visits every block of memory where terms of this process alone lie (first word, words in use): for the search
    /// for what is referred to.
    fn each_block(&self, mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize));

    /// Visits all other memory that the architecture keeps terms in, which may refer to immovable ones: first words,
    /// words. Some may be in no use. The world is stopped.
    fn each_common_block(&self, _visit: &mut dyn FnMut(*mut Word, usize)) {}

    /// Whether [`Architecture::each_block`] of all processes and [`Architecture::each_common_block`] show all heap
    /// memory with terms that a process may come to use.
    fn shows_all_blocks(&self) -> bool {
        true
    }

    /// Visits the objects of this heap that have off-heap parts (binary handles, magic references), of every
    /// generation: [`Mutator::off_heap`] alone may hold the young ones only.
    fn each_off_heap(&self, mutator: &Mutator, visit: &mut dyn FnMut(NonNull<Word>)) {
        // SAFETY: the list is the mutator's, its objects are whole.
        unsafe { each_off_heap(mutator.off_heap, visit) }
    }
}

static ARCHITECTURE: OnceLock<&'static dyn Architecture> = OnceLock::new();
static WORLD: OnceLock<&'static dyn World> = OnceLock::new();

/// Chooses the architecture of this run; the first call counts.
pub fn install(architecture: &'static dyn Architecture) {
    let _ = ARCHITECTURE.set(architecture);
}

/// The architecture of this run.
#[inline]
pub fn architecture() -> &'static dyn Architecture {
    *ARCHITECTURE.get().expect("an architecture is installed before the first process")
}

/// Tells the architectures where the processes are; the first call counts.
pub fn set_world(world: &'static dyn World) {
    let _ = WORLD.set(world);
}

/// See [`World::pid_of`]; `None` also where no processes are known.
pub fn pid_of(mutator: *const Mutator) -> Option<Term> {
    WORLD.get()?.pid_of(mutator)
}

/// The processes.
pub fn world() -> &'static dyn World {
    *WORLD.get().expect("the machine registers its processes before the first collection")
}
