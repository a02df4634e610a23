//! What every heap architecture implements.

use std::ptr::NonNull;

use atoll_term::{Term, Word};

use crate::base::Base;
use crate::capabilities::{AllocationSites, ConcurrentRoots, FirstBlocks, IdleWork, MessageBuilder, StackMarkers};
use crate::fragment::{Fragment, each_off_heap};
use crate::message::Message;
use crate::mutator::Mutator;
use crate::roots::RootSet;

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
    /// Minor collections since the last major one; `None` where a process has no generations of its own.
    pub minor_collections: Option<usize>,
}

/// A heap architecture. One is chosen when a machine starts; the rest of the machine sees it through this trait alone.
/// What only some architectures need is in traits of their own ([`crate::capabilities`]); the machine asks which of
/// them there are when a thread enters it.
pub trait Architecture: Send + Sync {
    /// Its name, as in `--heap`.
    fn name(&self) -> &'static str;

    /// What it has in common with the others.
    fn base(&self) -> &Base;

    /// Where stacks are.
    fn stack_placement(&self) -> StackPlacement;

    /// Its collector looks for roots while processes run.
    fn concurrent_roots(&self) -> Option<&dyn ConcurrentRoots> {
        None
    }

    /// Schedulers without processes have something to do for it.
    fn idle_work(&self) -> Option<&dyn IdleWork> {
        None
    }

    /// It has a place of its own for objects that are to be sent.
    fn message_builder(&self) -> Option<&dyn MessageBuilder> {
        None
    }

    /// It wants to know which instruction builds what.
    fn allocation_sites(&self) -> Option<&dyn AllocationSites> {
        None
    }

    /// It puts markers on stacks.
    fn stack_markers(&self) -> Option<&dyn StackMarkers> {
        None
    }

    /// It learns how much memory a process will need.
    fn first_blocks(&self) -> Option<&dyn FirstBlocks> {
        None
    }

    /// Gives a new process its heap. What `arguments` brings is then on it. Returns the term that it brought. The stack
    /// is empty.
    ///
    /// # Safety
    /// The mutator is [`Mutator::empty`].
    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term;

    /// Takes everything from a process that has ended. The mutator has no memory afterwards, and is not used again;
    /// what collectors on other threads look at in it stays as it is.
    ///
    /// # Safety
    /// Nobody holds a term of this process, or uses one afterwards.
    unsafe fn destroy(&self, mutator: &mut Mutator);

    /// The process is about to run on this thread.
    ///
    /// # Safety
    /// This thread is going to run the process, and holds no term.
    unsafe fn schedule_in(&self, _mutator: &mut Mutator) {}

    /// The process stops running on this thread.
    ///
    /// # Safety
    /// This thread has run the process, and holds no term.
    unsafe fn schedule_out(&self, _mutator: &mut Mutator) {}

    /// Collects, and makes the room that is asked for. `live` are the live registers. All terms that are no roots
    /// are stale afterwards. When it fails, everything is as it was.
    ///
    /// # Safety
    /// This thread runs the process. Beside the process's stack, only `live` and `roots` hold terms of the process:
    /// others are stale afterwards.
    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull>;

    /// Room for a built-in function when the heap and the roomiest of its fragments are full: moves nothing.
    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word>;

    /// Makes a message of a term that lies on the sender's heap, as a pointer where heaps are shared. A term that lies
    /// on no heap becomes a message by [`Message::compose`].
    fn send(&self, sender: &mut Mutator, term: Term) -> Message;

    /// Makes a message that is a copy of a term, wherever it lies. It is not counted for any process.
    fn send_copy(&self, term: Term) -> Message;

    /// Makes the message's term part of the receiver's heap as far as it can be done without a collection: returns
    /// whether the fragment is not needed any more. If not, the term stays in the fragment, which the caller hands
    /// over with [`Architecture::keep_fragment`] when it takes the message.
    ///
    /// # Safety
    /// The message is in the mailbox of this process, or was taken out of it. Only the message holds its term, or the
    /// place that the message names. If the message is in a mailbox, the caller lets the mailbox know whether it has
    /// moved.
    unsafe fn receive(&self, receiver: &mut Mutator, message: &Fragment) -> bool;

    /// Takes over a fragment whose term the process has taken: the term stays where it is until the next collection.
    fn keep_fragment(&self, receiver: &mut Mutator, message: Message);

    /// Makes a fragment for a term that lies on `owner`'s heap, to be kept outside of every process: see
    /// [`crate::Stored`]. The architecture sees to it that the fragment's term stays valid from when it is linked until
    /// it is discarded. Before it is linked, the caller's thread reaches no point where its process may wait.
    fn store(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        let stored = self.store_own(owner, term);
        // SAFETY: it was made just now, and nobody discards it.
        unsafe { stored.as_ref() }.lend();
        stored
    }

    /// As [`Architecture::store`], for a term that nobody else holds; the caller gives it up.
    fn store_own(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment>;

    /// Lets collectors know what was stored. The architecture may keep the fragment on a list.
    ///
    /// # Safety
    /// [`Architecture::store`] made it, and it is not linked yet.
    unsafe fn link_stored(&self, _stored: NonNull<Fragment>) {}

    /// Takes the term of one that is not linked over into one that is, in place of its own, if that can be done where
    /// it lies. Returns whether it was done: `with` is freed then.
    ///
    /// # Safety
    /// [`Architecture::store`] made both; nobody else uses either, but collectors the linked one.
    unsafe fn replace_stored(&self, _stored: NonNull<Fragment>, _with: NonNull<Fragment>) -> bool {
        false
    }

    /// Whether nobody can hold a pointer to the object that was stored, so that its owner may change it.
    fn may_change(&self, stored: &Fragment) -> bool {
        !stored.is_lent()
    }

    /// What a process gets that reads `part` of a stored term, which may be the whole. As it is, and lent, unless the
    /// architecture keeps heaps apart.
    ///
    /// # Safety
    /// [`Architecture::store`] made `stored`, and nobody discards it meanwhile; `part` is its term or lies inside of
    /// it.
    unsafe fn fetch(&self, _reader: &mut Mutator, stored: NonNull<Fragment>, part: Term) -> Term {
        // SAFETY: the caller says that nobody discards it meanwhile.
        let stored = unsafe { stored.as_ref() };
        // Parts that are objects of their own are never changed.
        if part == stored.term() && part.is_pointer() {
            stored.lend();
        }
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

    /// Frees what [`Architecture::store`] made, and [`Architecture::link_stored`] linked.
    ///
    /// # Safety
    /// The caller gives it up, and nobody holds a term that lies in it.
    unsafe fn discard_stored(&self, stored: NonNull<Fragment>) {
        // SAFETY: the caller gives the fragment up; readers have copies, or pointers out of it.
        drop(unsafe { Message::from_raw(stored) });
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

    /// Whether the end of a process gives up what its heap alone had outside of it: binaries, resources. If not, a
    /// collection that looks at everything ([`crate::Collection::major`]) does.
    fn gives_up_at_end(&self) -> bool {
        true
    }

    /// Visits the objects of this heap that have off-heap parts (binary handles, magic references), of every
    /// generation: [`Mutator::off_heap`] alone may hold the young ones only.
    fn each_off_heap(&self, mutator: &Mutator, visit: &mut dyn FnMut(NonNull<Word>)) {
        // SAFETY: the list is the mutator's, its objects are whole.
        unsafe { each_off_heap(mutator.off_heap, visit) }
    }
}
