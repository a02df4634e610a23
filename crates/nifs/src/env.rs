//! Environments: where the terms of a library lie.
//!
//! **Invariant N1: while a library can use the words of an environment, the objects behind them stay where they are.**
//! There are two kinds of memory behind an environment:
//!
//! * The heap of the process that calls. A native function in the time slice of its process is a built-in function:
//!   nothing is collected or moved before it returns, whatever the architecture. What it builds lies on the process's
//!   heap, or in fragments of it ([`atoll_heap::Architecture::allocate_slow`]).
//! * Memory of the environment's own, which no collector knows: for environments that a library makes, for callbacks,
//!   and for dirty calls, which last while their process is collected. Terms get there by a copy of all of their parts,
//!   literals too ([`crate::copy`]), so that collected and purged memory can change as it likes. Binaries outside of
//!   heaps and resources are counted, not copied.
//!
//! A word is never 0, says what it is without its environment, and is the same for the same atom, small integer, local
//! pid or local port everywhere.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use atoll_heap::{Message, Mutator, architecture};
use atoll_platform::threads::{self, Machine};
use atoll_process::tracing::Tracing;
use atoll_process::{Caller, NativeFunction};
use atoll_term::{Allocate, OffHeapBinary, ScratchHeap, Term, Word};

use crate::abi::NifFn;
use crate::copy::copy;
use crate::library::Library;
use crate::resource_types::Opening;

/// Where the terms of an environment lie.
enum Heap {
    /// On the heap of the process that this thread runs.
    Process(NonNull<Mutator>),
    /// In memory of its own.
    Own(Box<ScratchHeap>),
}

/// What an environment is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A call in the time slice of its process.
    Call,
    /// A call on a thread for dirty calls.
    Dirty,
    /// `load` or `upgrade`.
    Load,
    /// A callback without process: destructor, `down`, `stop`, `unload`.
    Callback,
    /// The library made it.
    Independent,
}

/// What is kept until the end of an environment because the library may look at it.
enum Kept {
    Bytes(#[expect(dead_code, reason = "owned to be dropped")] Box<[u8]>),
    Memory(#[expect(dead_code, reason = "owned to be dropped")] Box<dyn std::any::Any>),
    Binary(NonNull<OffHeapBinary>),
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Kept::Binary(binary) = self {
            // SAFETY: the environment owned this count.
            unsafe { OffHeapBinary::release(*binary) };
        }
    }
}

/// A call that a library has asked for in the place of a result.
pub struct Scheduled {
    pub code: NifFn,
    /// 0: normal, 1: dirty for the processor, 2: dirty for input and output.
    pub kind: u32,
    pub arguments: Vec<Term>,
}

/// What few environments have.
pub struct Rare {
    pub scheduled: Option<Scheduled>,
    /// `priv_data` while `load` or `upgrade` runs, which may set it before it returns.
    pub private: *mut *mut c_void,
    /// Types of resources that `load` or `upgrade` has opened.
    pub opening: Vec<Opening>,
    /// How the process of a dirty call was traced when that began.
    pub tracing: Option<Tracing>,
    kept: Vec<Kept>,
}

/// An environment. Libraries have its address. It is made for each call of a native function, so it is a few words that
/// need no end of their own.
pub struct Env {
    heap: Heap,
    pub usage: Use,
    /// The process that calls, or `NONE`.
    pub process: Term,
    /// The reason of an exception that is to be raised, or `NONE`.
    pub exception: Term,
    /// The library whose function is called; null in an environment that the library made.
    pub library: *const Library,
    /// Reductions that the call has used up.
    pub used: i64,
    /// The process that calls, in its time slice.
    caller: *mut c_void,
    rare: Option<Box<Rare>>,
}

// SAFETY: an environment with memory of its own is tied to no thread, and others do not leave theirs.
unsafe impl Send for Env {}

impl Env {
    #[inline]
    fn new(heap: Heap, usage: Use, process: Term, library: *const Library) -> Env {
        Env { heap, usage, process, exception: Term::NONE, library, used: 0, caller: null_mut(), rare: None }
    }

    /// For a call in the time slice of its process.
    #[inline]
    pub fn of_call(caller: &mut Caller<'_>, usage: Use, library: *const Library) -> Env {
        let process = caller.process.pid;
        let mut env = Env::new(Heap::Process(NonNull::from(caller.heap())), usage, process, library);
        env.caller = std::ptr::from_mut(caller).cast();
        env
    }

    /// With memory of its own.
    pub fn with_memory(usage: Use, process: Term, library: *const Library) -> Env {
        Env::new(Heap::Own(Box::new(ScratchHeap::new())), usage, process, library)
    }

    /// What few environments have, of this one.
    pub fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| {
            Box::new(Rare {
                scheduled: None,
                private: null_mut(),
                opening: Vec::new(),
                tracing: None,
                kept: Vec::new(),
            })
        })
    }

    /// Whether the call that this environment is for, in the time slice of its process, has left nothing in it: it
    /// raises nothing and asks for nothing, and the end of the environment does nothing.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.exception.is_none() && self.rare.is_none()
    }

    /// As [`Env::rare`], if there is any.
    #[inline]
    pub fn rare_if_any(&mut self) -> Option<&mut Rare> {
        self.rare.as_deref_mut()
    }

    /// The process that calls, if this is its time slice.
    pub fn caller(&mut self) -> Option<&mut Caller<'_>> {
        // SAFETY: the pointer was made of a reference that lasts as long as the call, which this environment is for; it
        // is used by one function of the interface at a time.
        unsafe { self.caller.cast::<Caller<'_>>().as_mut() }
    }

    /// The heap of the process that calls, if terms of this environment lie there.
    pub fn mutator(&mut self) -> Option<&mut Mutator> {
        match &mut self.heap {
            // SAFETY: the environment lasts no longer than the call in which the heap was lent to it.
            Heap::Process(mutator) => Some(unsafe { mutator.as_mut() }),
            Heap::Own(_) => None,
        }
    }

    /// Visits the memory of the environment's own, if it has some: first words, lengths in words.
    pub fn each_own_block(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        if let Heap::Own(heap) = &self.heap {
            heap.each_block(visit);
        }
    }

    /// The term, which may belong to another environment, as one of this environment.
    pub fn take(&mut self, term: Term) -> Term {
        if term.is_immediate() {
            return term;
        }
        // Where it comes from is not known: it may lie in memory that ends before this environment's does.
        copy(term, self)
    }

    /// How the process is traced that calls, if it is.
    pub fn tracing(&mut self) -> Option<Tracing> {
        match self.caller() {
            Some(caller) => caller.own.tracing(),
            None => self.rare.as_ref()?.tracing,
        }
    }

    /// A message made of a term of this environment.
    pub fn message(&mut self, term: Term) -> Message {
        match self.mutator() {
            Some(mutator) => architecture().send(mutator, term),
            None => architecture().send_copy(term),
        }
    }

    /// Keeps bytes as long as the environment; where they are.
    pub fn keep_bytes(&mut self, bytes: impl Into<Box<[u8]>>) -> *mut u8 {
        let mut bytes = bytes.into();
        let place = bytes.as_mut_ptr();
        self.rare().kept.push(Kept::Bytes(bytes));
        place
    }

    /// Keeps memory as long as the environment.
    pub fn keep_memory<T: ?Sized>(&mut self, memory: Box<T>)
    where
        Box<T>: 'static,
    {
        self.rare().kept.push(Kept::Memory(Box::new(memory)));
    }

    /// Takes over a count of a binary, which is given back when the environment ends.
    pub fn keep_binary(&mut self, binary: NonNull<OffHeapBinary>) {
        self.rare().kept.push(Kept::Binary(binary));
    }

    /// Forgets all terms, for an environment that the library made.
    pub fn clear(&mut self) {
        self.exception = Term::NONE;
        self.rare = None;
        if matches!(self.heap, Heap::Own(_)) {
            self.heap = Heap::Own(Box::new(ScratchHeap::new()));
        }
    }

    /// Raises an exception when the call returns; what a function of the interface returns then.
    pub fn raise(&mut self, reason: Term) -> Term {
        self.exception = reason;
        Term::NONE
    }
}

impl Allocate for Env {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        match &mut self.heap {
            // SAFETY: the environment lasts no longer than the call in which the heap was lent to it.
            Heap::Process(mutator) => unsafe { mutator.as_mut() }.allocate(words),
            Heap::Own(heap) => heap.allocate(words),
        }
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        match &mut self.heap {
            // SAFETY: as above.
            Heap::Process(mutator) => unsafe { mutator.as_mut() }.adopt(object),
            Heap::Own(heap) => heap.adopt(object),
        }
    }
}

thread_local! {
    /// What kind of thread this is to libraries: 0 for threads that are not the machine's, 1 for schedulers, 2 and 3
    /// for threads for dirty calls.
    static THREAD: Cell<i32> = const { Cell::new(0) };
    static RUNNING: Cell<*mut Running> = const { Cell::new(null_mut()) };
}

/// This thread runs processes.
#[inline]
pub fn is_scheduler() {
    THREAD.set(1);
}

/// Makes this thread one of this kind until what is returned is dropped.
pub fn enter_thread(kind: i32) -> impl Drop {
    struct Back(i32);
    impl Drop for Back {
        fn drop(&mut self) {
            THREAD.set(self.0);
        }
    }
    Back(THREAD.replace(kind))
}

/// The machine that has loaded libraries. Threads of libraries belong to it.
static MACHINE: OnceLock<&'static dyn Machine> = OnceLock::new();

/// Libraries of this thread's machine may start threads from now on.
pub fn note_machine() {
    if let Some(machine) = threads::machine() {
        let _ = MACHINE.set(machine);
    }
}

/// A function is called on any thread: one of a library's enters the machine first.
#[inline]
pub fn enter_machine() {
    // Threads that call libraries are the machine's.
    if THREAD.get() == 0
        && threads::machine().is_none()
        && let Some(machine) = MACHINE.get()
    {
        threads::enter(*machine);
    }
}

/// What kind of thread this is.
pub fn thread_kind() -> i32 {
    THREAD.get()
}

/// A call of a library's function.
pub struct Running {
    pub function: &'static NativeFunction,
    arguments: *const Term,
    count: usize,
    before: *mut Running,
}

impl Running {
    pub fn new(function: &'static NativeFunction, arguments: &[Term]) -> Running {
        Running { function, arguments: arguments.as_ptr(), count: arguments.len(), before: null_mut() }
    }

    /// The arguments, while the call goes on.
    pub fn arguments(&self) -> &[Term] {
        // SAFETY: the slice that this was made of lasts as long as the call.
        unsafe { std::slice::from_raw_parts(self.arguments, self.count) }
    }

    /// Does the call, which is noted meanwhile.
    #[inline]
    pub fn note<R>(&mut self, call: impl FnOnce() -> R) -> R {
        self.before = RUNNING.replace(self);
        let result = call();
        RUNNING.set(self.before);
        result
    }
}

/// From here on this thread is in no call of a library's function, as far as crashes are concerned.
pub fn forget_running() {
    RUNNING.set(null_mut());
}

/// The innermost call of a library's function that this thread is in.
pub fn running() -> Option<&'static Running> {
    // SAFETY: what is noted lasts as long as the call, and this thread is in the call.
    unsafe { RUNNING.get().as_ref() }
}
