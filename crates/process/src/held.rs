//! [`Held`] is the permission to access what belongs to a process ([`Own`]), and the only way to it. A thread gets one
//! in three ways:
//!
//! * it runs the process ([`Running`], which a scheduler makes of an entry of a run queue, [`Queued`]);
//! * it claims a waiting process ([`Process::claim`]), while it is in the world itself ([`Presence`]);
//! * it has stopped the world ([`Stopped`]), so that no other thread is in it.
//!
//! A thread that stops the world often runs a process itself, and may have to wait until another thread has finished
//! with the stopped world. Meanwhile it lends its process to the stopped world ([`Lent`]); visitors reach the process
//! only through the reference that the waiting thread gave away.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use atoll_heap::{Asker, Fragment, Mutator, RootSet, StoppedWorld};
use atoll_term::Term;

use crate::inbox::Inbox;
use crate::native::Interrupt;
use crate::process::{Own, Priority, Process};
use crate::run_state::state;
use crate::system::{Schedule, System};
use crate::urgency::Urgency;

/// A process, and all that belongs to it.
pub struct Held<'p> {
    process: &'p Process,
    own: &'p mut Own,
}

impl<'p> Held<'p> {
    /// What belongs to a process that this thread has to itself.
    ///
    /// # Safety
    /// For `'p` no other reference to what belongs to the process is used.
    pub(crate) unsafe fn of(process: &'p Process) -> Held<'p> {
        // SAFETY: the caller's obligation.
        Held { process, own: unsafe { &mut *process.own_pointer() } }
    }

    /// The process.
    pub fn process(&self) -> &'p Process {
        self.process
    }

    /// The process, and what belongs to it.
    pub fn split(&mut self) -> (&'p Process, &mut Own) {
        (self.process, self.own)
    }

    /// Visits heap and roots, messages of which the process has not heard among them.
    pub fn visit(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        let (mutator, mut roots) = self.own.roots(Some(&self.process.inbox));
        visit(mutator, &mut roots);
    }
}

impl Deref for Held<'_> {
    type Target = Own;

    fn deref(&self) -> &Own {
        self.own
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Own {
        self.own
    }
}

/// A process that wants to run: it is in a run queue, or on its way into one. There is one of these for a process at
/// most.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a process that is in no run queue never runs"]
pub struct Queued(NonNull<Process>);

// SAFETY: a process is tied to no thread.
unsafe impl Send for Queued {}

impl Queued {
    /// For a process whose state has just become `QUEUED`.
    ///
    /// # Safety
    /// There is no other of the same process, and the process lives until it is run to its end.
    pub unsafe fn of(process: NonNull<Process>) -> Queued {
        Queued(process)
    }

    /// The process.
    pub fn process(&self) -> &Process {
        // SAFETY: a process is freed only after it has run to its end, and then this does not exist.
        unsafe { self.0.as_ref() }
    }

    /// The priority that the process has now.
    #[inline]
    pub fn priority(&self) -> Priority {
        self.process().priority()
    }

    /// How urgent the process is now.
    #[inline]
    pub fn urgency(&self) -> Urgency {
        self.process().urgency()
    }

    /// This thread runs the process from now on.
    #[inline]
    pub fn run(self) -> Running {
        self.process().state.start_running();
        Running(self.0)
    }

    /// What belongs to the process, for a thread that is in the world.
    pub fn held<'p>(&'p mut self, _presence: &'p Presence) -> Held<'p> {
        // SAFETY: nobody runs or claims a queued process, and nobody else has this; the world is not stopped.
        unsafe { Held::of(self.process()) }
    }
}

/// A process that this thread, a scheduler's, runs.
#[derive(Debug)]
#[must_use = "a process that runs has to be put somewhere when it stops"]
pub struct Running(NonNull<Process>);

impl Running {
    /// The process.
    pub fn process(&self) -> &Process {
        // SAFETY: as for `Queued::process`.
        unsafe { self.0.as_ref() }
    }

    /// What belongs to the process.
    #[inline]
    pub fn held(&mut self) -> Held<'_> {
        // SAFETY: this thread runs the process, and is in the world. When it lets others stop the world, it lends them
        // this reference.
        unsafe { Held::of(self.process()) }
    }

    /// The process has used its time slice.
    #[inline]
    pub fn requeue(self) -> Queued {
        self.process().state.requeue();
        Queued(self.0)
    }

    /// The process waits. It comes back if a signal has come: it runs on.
    #[inline]
    pub fn try_sleep(self) -> Option<Running> {
        if self.process().state.try_sleep() { None } else { Some(self) }
    }

    /// Ends the process. `reason` lies on its heap.
    pub fn terminate(mut self, reason: Term) {
        crate::exit::terminate(&mut self.held(), reason);
    }
}

/// This thread is in the world: no other thread holds it stopped meanwhile.
pub struct Presence {
    /// Where this thread has to leave again.
    entered: Option<&'static dyn Schedule>,
    /// Tied to the thread.
    _thread: PhantomData<*const ()>,
}

/// What came of the wish to be in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The thread was in the world before.
    Was,
    /// The thread has entered it, and must leave.
    Entered,
    /// The world is stopped, by this thread or another.
    Stopped,
}

impl Presence {
    /// `None` while the world is stopped, or about to be.
    pub fn new() -> Option<Presence> {
        let schedule = System::get().schedule();
        let entered = match schedule.enter_world() {
            Entry::Stopped => return None,
            Entry::Was => None,
            Entry::Entered => Some(schedule),
        };
        Some(Presence { entered, _thread: PhantomData })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(schedule) = self.entered {
            schedule.leave_world();
        }
    }
}

/// What the thread that asks for a stopped world has, lent to it.
#[derive(Clone, Copy, Debug)]
pub enum Lent {
    /// All that belongs to a process.
    Own(NonNull<Own>),
    /// Its heap and its roots. A visitor that needs more waits until the process is given back.
    Heap(NonNull<Mutator>, NonNull<dyn RootSet>),
}

// SAFETY: used by the thread that holds the stopped world while the lender waits for it, or is that thread.
unsafe impl Send for Lent {}

impl Lent {
    fn own(own: &mut Own) -> Lent {
        Lent::Own(NonNull::from(own))
    }

    fn heap(asker: Asker<'_>) -> Lent {
        let roots: NonNull<dyn RootSet + '_> = NonNull::from(asker.roots);
        // SAFETY: only a lifetime is taken away; the pointer is used before `Stopped`, which has it, is dropped.
        let roots = unsafe { std::mem::transmute::<NonNull<dyn RootSet + '_>, NonNull<dyn RootSet>>(roots) };
        Lent::Heap(NonNull::from(asker.mutator), roots)
    }

    /// Whether both are of the same process.
    pub fn is(&self, other: &Lent) -> bool {
        std::ptr::eq(self.mutator(), other.mutator())
    }

    fn mutator(&self) -> *const Mutator {
        match self {
            // SAFETY: only an address is made.
            Lent::Own(own) => unsafe { &raw const (*own.as_ptr()).mutator },
            Lent::Heap(mutator, _) => mutator.as_ptr(),
        }
    }
}

/// The world stands still until this is dropped.
pub struct Stopped<'a> {
    system: &'static System,
    /// What waiting threads have lent, and this one.
    lent: Vec<Lent>,
    asker: Option<Lent>,
    _asker: PhantomData<&'a mut Own>,
}

impl<'a> Stopped<'a> {
    /// Stops the world, for a thread that holds no process's `Own` but this, and may hold terms: nothing moves until it
    /// goes on. `None`: another thread stops the world or waits to do so, and goes first; for that, this thread has to
    /// come to a safepoint, where it holds no term.
    pub fn by(asker: &'a mut Own) -> Option<Stopped<'a>> {
        let (system, asker) = (System::get(), Lent::own(asker));
        let lent = system.schedule().try_stop_world(asker)?;
        Some(Stopped { system, lent, asker: Some(asker), _asker: PhantomData })
    }

    /// As [`Stopped::by`], for a built-in function with these arguments.
    ///
    /// # Errors
    /// The interrupt by which the function is called again after a safepoint, if another thread goes first. What it has
    /// done before must bear to be done twice.
    pub fn or_again(asker: &'a mut Own, arguments: &[Term]) -> Result<Stopped<'a>, Interrupt> {
        Stopped::by(asker).ok_or_else(|| Interrupt::Again(arguments.to_vec()))
    }

    /// Stops the world after all other threads that want to, for a thread that holds no process's `Own` but this, if
    /// any. Another thread may collect first: this one uses no term with a pointer that it had before.
    pub fn after_others(asker: Option<&'a mut Own>) -> Stopped<'a> {
        Stopped::new(asker.map(Lent::own))
    }

    /// The same for one of which the heap and the roots are lent.
    pub(crate) fn by_heap(asker: Asker<'a>) -> Stopped<'a> {
        Stopped::new(Some(Lent::heap(asker)))
    }

    fn new(asker: Option<Lent>) -> Stopped<'a> {
        let system = System::get();
        let lent = system.schedule().stop_world(asker);
        Stopped { system, lent, asker, _asker: PhantomData }
    }

    /// What belongs to a process.
    pub fn held<'p>(&'p mut self, process: &'p Process) -> Held<'p> {
        match lent_of(&self.lent, process) {
            // SAFETY: the lender does not use it before the world goes on.
            Some(Lent::Own(mut own)) => Held { process, own: unsafe { own.as_mut() } },
            Some(Lent::Heap(..)) => unreachable!("who lends a heap alone is served before processes are visited"),
            // SAFETY: no other thread is in the world, so nobody runs or claims the process.
            None => unsafe { Held::of(process) },
        }
    }

    /// What belongs to a process if it waits.
    pub fn waiting<'p>(&'p mut self, process: &'p Process) -> Option<&'p mut Own> {
        (process.state() == state::IDLE).then(|| self.held(process).own)
    }

    /// Visits all processes.
    pub fn each(&mut self, mut visit: impl FnMut(&Process, &mut Own)) {
        let table = &self.system.table;
        table.each(|process| {
            let mut held = self.held(process);
            let (process, own) = held.split();
            visit(process, own);
        });
    }

    fn visit(&mut self, process: &Process, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        match lent_of(&self.lent, process) {
            // SAFETY: as in `held`.
            Some(Lent::Heap(mut mutator, mut roots)) => unsafe {
                visit(mutator.as_mut(), &mut WithInbox { roots: roots.as_mut(), inbox: &process.inbox });
            },
            _ => self.held(process).visit(visit),
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.system.schedule().resume_world();
    }
}

impl StoppedWorld for Stopped<'_> {
    fn asker(&mut self) -> Asker<'_> {
        match self.asker {
            // SAFETY: lent by this thread, which uses it through this reference alone.
            Some(Lent::Heap(mut mutator, mut roots)) => unsafe {
                Asker { mutator: mutator.as_mut(), roots: roots.as_mut() }
            },
            _ => unreachable!("heaps are stopped by a process that collects"),
        }
    }

    fn each_mutator(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        self.system.table.each(|process| self.visit(process, visit));
    }

    fn each_movable_stack(&mut self, visit: &mut dyn FnMut(&mut Mutator)) {
        self.system.table.each(|process| match lent_of(&self.lent, process) {
            Some(Lent::Own(_)) => {}
            _ => self.visit(process, &mut |mutator, _| visit(mutator)),
        });
    }

    fn each_active(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        self.system.table.each_active(|process| self.visit(process, visit));
    }

    fn forget_activity(&mut self) {
        self.system.table.forget_activity();
    }

    fn each_global_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.system.each_global_slice(visit);
    }
}

fn lent_of(lent: &[Lent], process: &Process) -> Option<Lent> {
    lent.iter().find(|lent| std::ptr::eq(lent.mutator(), process.mutator())).copied()
}

/// The roots of a process that collects, and the messages of which it has not heard.
struct WithInbox<'a> {
    roots: &'a mut dyn RootSet,
    inbox: &'a Inbox,
}

impl RootSet for WithInbox<'_> {
    fn each_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.roots.each_slice(visit);
        if atoll_heap::architecture().messages_are_roots() {
            self.inbox.each(|signal| visit(signal.term_place(), 1));
        }
    }

    fn each_own_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.roots.each_own_slice(visit);
    }

    fn each_message(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.roots.each_message(&mut *visit);
        self.inbox.each(visit);
    }

    fn messages(&self) -> usize {
        self.roots.messages()
    }

    fn begin_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.roots.begin_messages(&mut *visit);
        self.inbox.each(visit);
    }

    fn begin_new_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.roots.begin_new_messages(&mut *visit);
        self.inbox.each(visit);
    }

    fn some_messages(&mut self, visit: &mut dyn FnMut(&Fragment) -> bool) -> bool {
        self.roots.some_messages(visit)
    }
}
