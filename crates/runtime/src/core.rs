//! The registers of a running process, and the words that code is made of, for every engine.
//!
//! Code is a run of words: an instruction's handler, then its operands. A handler does its work and calls the next
//! handler as its last act, which the compiler turns into a jump, so the five values that every handler passes on
//! stay in machine registers. Slow paths that cannot jump return to [`run_from`] instead; see [`resume`].

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use atoll_code::Places;
use atoll_heap::{Architecture, BuildWindow, ConcurrentRoots, Mutator, architecture, concurrent_roots};
use atoll_operations::Exception;
use atoll_process::{Interrupt, Own, Process, System};
use atoll_term::{Term, Word};

use crate::refusals::Guard;
use crate::story::Story;

/// Argument registers.
pub const X_REGISTERS: usize = 1024;
/// Floating-point registers.
pub const FLOAT_REGISTERS: usize = 1024;

/// An operation of two operands that may need heap.
pub type Slow = fn(&mut Mutator, Term, Term) -> Result<Term, Exception>;

/// Why the interpreter gave a process back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Exit {
    /// Its time slice is used up; where to go on is saved.
    Yield,
    /// It waits for a signal; where to go on is saved.
    Wait,
    /// It has ended; the reason is in X0.
    Ended,
    /// It goes on at once, at what [`resume`] has left; never seen outside of this crate.
    Resume,
}

/// Registers and links of a running process. `x` stands first, so an X register's operand is its offset in here.
#[repr(C)]
pub struct Core {
    /// Argument registers.
    pub x: [Term; X_REGISTERS],
    /// End of the free heap words where stack and heap are apart.
    pub heap_limit: *mut Word,
    /// Lowest address for the stack where it is apart.
    pub stack_limit: *mut Word,
    /// The process's heap.
    pub mutator: *mut Mutator,
    /// What belongs to the process.
    pub own: *mut Own,
    /// The process.
    pub process: *const Process,
    /// The window of the thread that runs this. Thread-local memory is found by a call, for which a handler would save
    /// its registers.
    pub window: *const BuildWindow,
    /// That of the machine whose processes run here, for the same reason.
    pub architecture: &'static dyn Architecture,
    /// Its collector, if that looks for roots while processes run.
    pub collector: Option<&'static dyn ConcurrentRoots>,
    /// That of the same machine.
    pub system: &'static System,
    /// Live registers of the function that [`crate::pause::enter`] could not enter.
    pub live: Word,
    /// The operands that a handler leaves for its slow path, so that the two have the same arguments and the one can
    /// jump to the other.
    pub operands: [Term; 2],
    /// State of the old binary construction instructions.
    pub building: Option<atoll_operations::bit_construct::Building>,
    /// An arithmetic operation that leaves its fast path; its operands are in `operands`.
    pub pending: Option<Slow>,
    /// The exception of an operation that has failed. Operations leave it here and give back [`Term::NONE`], because a
    /// result that is returned through memory would keep a handler from jumping to the next one.
    pub failure: Option<Exception>,
    /// What a built-in function asks for instead of a result; left here for the same reason.
    pub interrupt: Option<Interrupt>,
    /// Floating-point registers.
    pub floats: [f64; FLOAT_REGISTERS],
    /// What stands at the code addresses of stack traces.
    pub places: Places,
    /// Where [`resume`] goes on: instruction pointer, heap top, stack pointer, reductions left.
    pub next: (*const Word, *mut Word, *mut Word, i64),
    /// Reductions of a full time slice; while a process runs, those with which it began to.
    pub slice: i64,
    /// Operations that other processes can notice, until the slice ends: see [`crate::operations`].
    pub operations: i64,
    /// With how many the slice began.
    pub(crate) counted: i64,
    /// If operations are counted, the exports of built-in functions that are none.
    pub(crate) silent: Option<&'static HashSet<usize>>,
    /// See [`crate::refusals`].
    pub(crate) guards: Option<&'static HashMap<usize, Guard>>,
    /// Where operations are told, if somebody wants to read of them.
    pub(crate) story: Option<&'static Story>,
    /// Reductions of this scheduler's processes until the next look at where they are.
    pub until_sample: i64,
    /// Chooses when the next looks are.
    pub samples: u64,
    /// What was in R15, RBX and R12 to R14 when native code was entered, which uses them and saves none.
    pub kept: [Word; 5],
    /// What native code asks of a function, through [`crate::mark::help`].
    pub request: HelpRequest,
}

/// A call of a function by native code. It goes through memory, because arguments in machine registers would make
/// native code move its values about for a call that it hardly ever makes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HelpRequest {
    /// The function: an [`Helper`].
    pub function: Word,
    /// Its arguments.
    pub arguments: [Word; 6],
    /// What it has found out.
    pub result: Word,
}

/// A function that native code calls. It reads and answers the core's request.
pub type Helper = unsafe extern "C" fn(*mut Core);

/// An instruction's code: instruction pointer, heap top, stack pointer, reductions left, state.
pub type Handler = unsafe fn(*const Word, *mut Word, *mut Word, i64, *mut Core) -> Exit;

/// The address of a handler as a code word.
pub fn handler(handler: Handler) -> Word {
    handler as usize as Word
}

impl Core {
    /// Registers of an interpreter that runs nothing yet.
    pub fn new(slice: i64) -> Box<Core> {
        Box::new(Core {
            x: [Term::NIL; X_REGISTERS],
            heap_limit: std::ptr::null_mut(),
            stack_limit: std::ptr::null_mut(),
            mutator: std::ptr::null_mut(),
            own: std::ptr::null_mut(),
            process: std::ptr::null(),
            window: std::ptr::null(),
            architecture: architecture(),
            collector: concurrent_roots(),
            system: System::get(),
            live: 0,
            operands: [Term::NIL; 2],
            building: None,
            pending: None,
            failure: None,
            interrupt: None,
            floats: [0.0; FLOAT_REGISTERS],
            places: Places::default(),
            next: (std::ptr::null(), std::ptr::null_mut(), std::ptr::null_mut(), 0),
            slice,
            operations: i64::MAX,
            counted: i64::MAX,
            silent: None,
            guards: None,
            story: None,
            until_sample: slice,
            samples: 0,
            kept: [0; 5],
            request: HelpRequest::default(),
        })
    }

    /// The value of an operation, or [`Term::NONE`] with the exception left in `failure`.
    #[inline(always)]
    pub fn settle(&mut self, result: Result<Term, Exception>) -> Term {
        result.unwrap_or_else(|exception| {
            self.failure = Some(exception);
            Term::NONE
        })
    }

    /// Puts the arguments of a call into the argument registers.
    pub fn pass(&mut self, arguments: &[Term]) {
        self.x[..arguments.len()].copy_from_slice(arguments);
    }

    /// The exception that an operation has left.
    pub fn take_failure(&mut self) -> Exception {
        self.failure.take().unwrap_or(Exception::badarg())
    }

    /// Writes the registers that handlers pass on back to the process.
    ///
    /// # Safety
    /// A process runs on this core.
    #[inline(always)]
    pub unsafe fn swap_out(&mut self, hp: *mut Word, e: *mut Word) {
        // SAFETY: the mutator is that of the running process.
        unsafe {
            (*self.mutator).top = hp;
            (*self.mutator).stack = e;
        }
    }

    /// The heap top after something that may have allocated; the limit may have changed with it.
    ///
    /// # Safety
    /// A process runs on this core.
    #[inline(always)]
    pub unsafe fn top(&mut self) -> *mut Word {
        // SAFETY: the mutator is that of the running process.
        unsafe {
            self.heap_limit = (*self.mutator).limit;
            (*self.mutator).top
        }
    }

    /// Reads the limits again after something that may have changed them; returns heap top and stack pointer.
    ///
    /// # Safety
    /// A process runs on this core.
    #[inline(always)]
    pub unsafe fn swap_in(&mut self) -> (*mut Word, *mut Word) {
        // SAFETY: the mutator is that of the running process.
        unsafe {
            self.heap_limit = (*self.mutator).limit;
            self.stack_limit = (*self.mutator).block;
            ((*self.mutator).top, (*self.mutator).stack)
        }
    }
}

/// The handler of the instruction at `ip`. Other threads may put another one in its place at any time.
///
/// # Safety
/// `ip` is the address of an instruction in code that an engine, or this crate, made.
#[inline(always)]
pub unsafe fn handler_at(ip: *const Word) -> Handler {
    // SAFETY: the caller's obligation; the first words of instructions are written by atomic operations alone once they
    // are in use.
    unsafe { std::mem::transmute::<Word, Handler>(AtomicU64::from_ptr(ip.cast_mut()).load(Ordering::Relaxed)) }
}

/// Goes on with the instruction at `ip`.
///
/// # Safety
/// `ip` is the address of an instruction in code that an engine, or this crate, made.
#[inline(always)]
pub unsafe fn dispatch(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: an instruction's first word is its handler.
    unsafe { handler_at(ip)(ip, hp, e, reds, c) }
}

/// Goes on with the instruction at `ip` after everything on the native stack is gone. For slow paths that the compiler
/// does not let jump.
///
/// # Safety
/// As for [`dispatch`].
#[inline(always)]
pub unsafe fn resume(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: a process runs on this core.
    unsafe { (*c).next = (ip, hp, e, reds) };
    Exit::Resume
}

/// Runs until a handler gives the process back.
///
/// # Safety
/// As for [`dispatch`].
pub unsafe fn run_from(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as the caller says; `resume` has the same contract.
    unsafe {
        let mut exit = dispatch(ip, hp, e, reds, c);
        while exit == Exit::Resume {
            let (ip, hp, e, reds) = (*c).next;
            exit = dispatch(ip, hp, e, reds, c);
        }
        exit
    }
}

/// Whether so many words are free on the heap.
///
/// # Safety
/// A process runs on this core, `hp` and `e` are its heap top and stack pointer.
#[inline(always)]
pub unsafe fn fits(words: usize, hp: *mut Word, e: *mut Word, c: *mut Core) -> bool {
    // SAFETY: a process runs on this core; addresses are compared only.
    let limit = unsafe { (*c).heap_limit };
    // Where the stack is the limit, one word stays free for a return address.
    let limit = if limit.is_null() { e.wrapping_sub(1) } else { limit };
    hp.wrapping_add(words) <= limit
}

/// Whether stack and heap of this run share a block.
pub fn united() -> bool {
    architecture().stack_placement() == atoll_heap::StackPlacement::United
}
