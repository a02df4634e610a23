//! A process: what others may touch ([`Process`]), and what is its own ([`Own`]), split so that every process that
//! waits takes little memory and rare things none at all.

use atoll_platform::steady::QuickMap;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use atoll_heap::{Collection, Fragment, HeapFull, Message, Mutator, RootSet, architecture};
use atoll_term::{Export, Term, Word, atoms};

use thin_vec::ThinVec;

use crate::at_end::AtEnd;
use crate::dictionary::Dictionary;
use crate::flags::Flags;
use crate::handle::Request;
use crate::held::{Held, Presence, Queued};
use crate::inbox::Inbox;
use crate::links::Links;
use crate::mailbox::Mailbox;
use crate::reference::ReferenceId;
use crate::remote::Remote;
use crate::run_state::RunState;
use crate::suspension::Suspender;
use crate::system::System;
use crate::urgency::Urgency;

/// Priority of a process; the order is that of the run queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Priority {
    /// `max`
    Max = 0,
    /// `high`
    High = 1,
    /// `normal`
    Normal = 2,
    /// `low`
    Low = 3,
}

impl Priority {
    /// The highest first.
    pub const ALL: [Priority; 4] = [Priority::Max, Priority::High, Priority::Normal, Priority::Low];

    /// The atom of this name.
    pub fn atom(self) -> Term {
        match self {
            Priority::Max => atoms::MAX,
            Priority::High => atoms::HIGH,
            Priority::Normal => atoms::NORMAL,
            Priority::Low => atoms::LOW,
        }
    }

    /// The priority of this name.
    pub fn from_atom(atom: Term) -> Option<Priority> {
        Priority::ALL.into_iter().find(|one| one.atom() == atom)
    }
}

/// A process as every thread sees it.
#[repr(C)]
pub struct Process {
    /// Its pid (local).
    pub pid: Term,
    /// Signals on their way to it.
    pub inbox: Inbox,
    /// Whether it was ever registered under a name: see [`crate::System::register`].
    pub registered: AtomicBool,
    /// What its end has to do for others than processes.
    pub at_end: AtEnd,
    /// Was made runnable by a thread that could not tell of it: see [`crate::profile`].
    pub(crate) runnable_untold: AtomicBool,
    priority: AtomicU8,
    /// Signals other than plain messages that were sent to it, and on which it has not acted yet.
    signals: AtomicU32,
    pub(crate) state: RunState,
    own: UnsafeCell<Own>,
}

// SAFETY: all but `own` may be used by all threads; `own` only by the thread that has the process: see `crate::held`.
unsafe impl Sync for Process {}
// SAFETY: nothing in a process is tied to a thread.
unsafe impl Send for Process {}

/// What belongs to the thread that has the process: see [`crate::Held`].
#[repr(C)]
pub struct Own {
    /// Heap and stack.
    pub mutator: Mutator,
    /// Where to go on.
    pub address: *const Word,
    /// Registers saved while it does not run.
    pub saved: ThinVec<Term>,
    /// Messages that have arrived.
    pub mailbox: Mailbox,
    /// Local pid of its parent, or `NONE`.
    pub parent: Term,
    /// The process that input and output go to (local pid), unless that is one of another node: see
    /// [`Own::leader_term`].
    pub group_leader: Term,
    /// Reductions done in earlier time slices.
    pub reductions: i64,
    /// Catch marks on the stack.
    pub catches: u32,
    /// Switches.
    pub flags: Flags,
    /// Where `receive after` goes on after the timeout.
    pub wait: WaitState,
    /// What most processes never need.
    pub rare: Option<Box<Rare>>,
    /// The function it was spawned with.
    pub initial_call: Option<&'static Export>,
    /// Timer of `receive after`: its number, 0 if none.
    pub timer: u64,
}

/// State of the present `receive after`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitState {
    /// No timeout is running.
    #[default]
    None,
    /// The timer with this wait's number runs.
    Running,
    /// There is no timer: the time is `infinity`. It is asked for once, as its register is not kept while the process
    /// waits.
    Forever,
    /// The time has come.
    Expired,
}

/// A monitor that a process has on another.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMonitor {
    /// Pid that is watched; `NONE` when the message is on its way already.
    pub target: Term,
    /// Name by which it is watched, or `NONE`.
    pub name: Term,
    /// Whether the message ends an alias of the same reference, see [`AliasKind`].
    pub tag: Term,
}

/// A monitor that another process has on this one.
#[derive(Clone, Copy, Debug)]
pub struct IncomingMonitor {
    /// The watcher's pid.
    pub watcher: Term,
    /// Name by which it watches, or `NONE`.
    pub name: Term,
    /// Head of the message.
    pub tag: Term,
}

/// When an alias ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasKind {
    /// By `unalias/1` only.
    Explicit,
    /// With the first message through it.
    Reply,
    /// With the monitor.
    Demonitor,
    /// With the monitor, or the first message through it, which ends the monitor too.
    ReplyDemonitor,
}

/// What most processes never need.
#[derive(Default)]
pub struct Rare {
    /// Processes and ports linked to.
    pub links: Links,
    /// Monitors on others.
    pub monitoring: QuickMap<ReferenceId, OutgoingMonitor>,
    /// Monitors of others.
    pub monitored_by: QuickMap<ReferenceId, IncomingMonitor>,
    /// Active aliases.
    pub aliases: QuickMap<ReferenceId, AliasKind>,
    /// Process dictionary.
    pub dictionary: Dictionary,
    /// Heads of messages of monitors that were made with the option `tag`.
    pub tags: QuickMap<ReferenceId, Term>,
    /// Heads of the replies to requests for processes on other nodes.
    pub reply_tags: QuickMap<ReferenceId, Term>,
    /// What it has to do with other nodes.
    pub remote: Option<Box<Remote>>,
    /// Collections that others have asked for; done when no register holds a term.
    pub collections: Vec<Request>,
    /// How often it is suspended.
    pub suspended: u32,
    /// Processes that it has suspended, once for each time.
    pub suspending: Vec<Term>,
    /// Processes that wait for an answer when it has stopped.
    pub suspenders: Vec<Suspender>,
    /// `async_dist`
    pub async_dist: bool,
    /// What it is asked to tell a tracer.
    pub tracing: Option<crate::tracing::Tracing>,
    /// Its token, and what it knows of sequences of events.
    pub sequence: crate::sequence::Sequence,
    /// Times of the traced functions that it is in, if these are measured; only the code that measures knows the type.
    pub timing: Option<Box<dyn std::any::Any + Send>>,
    /// `save_calls`
    pub save_calls: u16,
    /// `min_bin_vheap_size` in words, if it was asked for.
    pub binary_heap_words: Option<usize>,
    /// `error_handler` module if not the usual.
    pub error_handler: Option<Term>,
    /// The last exception's raw trace, arguments and so on, kept across a `raise`.
    pub exception_trace: Option<Term>,
    /// Signals to be sent when it ends: `spawn_request` options of its parent, and the like.
    pub spawn_requests: Vec<ReferenceId>,
}

/// The bits of a level in [`Process::priority`].
const LEVEL: u8 = 3;
/// The process stands in the table of urgencies.
const HAS_URGENCY: u8 = 4;

impl Process {
    /// A process that is not in the table yet; its state is `QUEUED`.
    pub fn new(pid: Term, priority: Priority, own: Own) -> Process {
        Process {
            pid,
            inbox: Inbox::default(),
            registered: AtomicBool::new(false),
            at_end: AtEnd::default(),
            runnable_untold: AtomicBool::new(false),
            priority: AtomicU8::new(priority as u8),
            signals: AtomicU32::new(0),
            state: RunState::queued(),
            own: UnsafeCell::new(own),
        }
    }

    /// Where what belongs to the process is. Through this pointer it may be used by what `crate::held` gives permission
    /// alone.
    pub(crate) fn own_pointer(&self) -> *mut Own {
        self.own.get()
    }

    /// Adds a message or another signal to the inbox, or gives it back when the process has ended. Whether the caller
    /// has to [wake](Process::wake) the process.
    #[inline]
    pub fn push(&self, message: Message) -> Result<bool, Message> {
        self.count_signal(&message);
        self.inbox.push(message)
    }

    /// As [`Process::push`], for a signal that changes nothing before the process runs anyway.
    pub fn push_without_waking(&self, message: Message) -> Result<(), Message> {
        self.count_signal(&message);
        self.inbox.push_without_waking(message)
    }

    /// Before a signal comes in, so that the process, which acts on it, counts it after.
    #[inline]
    fn count_signal(&self, message: &Message) {
        if message.has_body() {
            self.signals.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether signals may change what it is: it has not acted on all that came, or ends.
    #[inline]
    pub fn has_signals(&self) -> bool {
        self.signals.load(Ordering::Acquire) > 0
    }

    /// It has acted on one.
    pub(crate) fn signal_done(&self) {
        self.signals.fetch_sub(1, Ordering::AcqRel);
    }

    /// It ends: from now on it has a signal for ever.
    pub(crate) fn ends(&self) {
        self.signals.fetch_add(1, Ordering::AcqRel);
    }

    /// Its priority: of one that has an urgency, the level of that.
    #[inline]
    pub fn priority(&self) -> Priority {
        Priority::ALL[usize::from(self.priority.load(Ordering::Relaxed) & LEVEL)]
    }

    /// Sets its priority, from the next time on that it is put into a run queue. Returns what it was.
    pub fn set_priority(&self, priority: Priority) -> Priority {
        let before = self.urgency();
        if before.deadline != Urgency::NEVER {
            self.set_urgency(Urgency { deadline: before.deadline, ..Urgency::of(priority) });
            return before.level();
        }
        Priority::ALL[usize::from(self.priority.swap(priority as u8, Ordering::Relaxed) & LEVEL)]
    }

    /// How urgent it is.
    #[inline]
    pub fn urgency(&self) -> Urgency {
        let is_own = self.priority.load(Ordering::Relaxed) & HAS_URGENCY != 0;
        let own = if is_own { System::get().urgencies.of(self.pid) } else { None };
        own.unwrap_or_else(|| Urgency::of(self.priority()))
    }

    /// Sets how urgent it is, from the next time on that it is put into a run queue. Returns what it was.
    pub fn set_urgency(&self, urgency: Urgency) -> Urgency {
        let before = self.urgency();
        System::get().urgencies.set(self.pid, urgency);
        self.at_end.note_work();
        self.priority.store(urgency.level() as u8 | HAS_URGENCY, Ordering::Relaxed);
        before
    }

    /// The scheduling state, for information.
    pub fn state(&self) -> u32 {
        self.state.get()
    }

    /// A signal has been pushed: see [`RunState::wake`]. The process is to be put into a run queue if it comes back.
    #[inline]
    pub fn wake(&self) -> Option<Queued> {
        // SAFETY: the state has become `QUEUED` by this call.
        self.state.wake().then(|| unsafe { Queued::of(NonNull::from(self)) })
    }

    /// Where its heap is, to look at what is atomic in it.
    pub fn mutator(&self) -> *const Mutator {
        // SAFETY: only an address is made.
        unsafe { &raw const (*self.own.get()).mutator }
    }

    /// Shows what belongs to this process if it waits; false if it runs or is about to. What wakes it meanwhile is not
    /// lost.
    pub fn claim(&self, _presence: &Presence, look: impl FnOnce(Held<'_>)) -> bool {
        // SAFETY: the state is that of a process which this thread runs, and this thread is in the world.
        let look = || look(unsafe { Held::of(self) });
        // SAFETY: the state has become `QUEUED`.
        self.state.claim(look, || crate::spawn::enqueue(unsafe { Queued::of(NonNull::from(self)) }))
    }

    /// Visits heap and roots of this process, which runs on this thread and to which `own` belongs, and messages of
    /// which it has not heard.
    pub fn visit_running(&self, own: &mut Own, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        let (mutator, mut roots) = own.roots(Some(&self.inbox));
        visit(mutator, &mut roots);
    }

    /// As [`Process::claim`], for a thread that may be anywhere; nothing is shown either while the world is stopped.
    pub fn inspect(&self, look: &mut dyn FnMut(&mut Own)) -> bool {
        Presence::new().is_some_and(|presence| self.claim(&presence, |mut held| look(&mut held)))
    }
}

impl Own {
    /// The rare part, made if there is none.
    pub fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Collects, and makes room. `live` are the registers in use.
    ///
    /// # Errors
    /// The heap has reached its limit; [`crate::watch::collect`] does what is to be done then.
    ///
    /// # Safety
    /// This thread runs the process. Only its stack, its `Own` and `live` hold its terms: others are stale afterwards.
    /// So built-in functions cannot collect; they ask for it with [`crate::Interrupt::Collect`]:
    ///
    /// ```compile_fail,E0133
    /// fn built_in(caller: &mut atoll_process::Caller<'_>, arguments: &[atoll_term::Term]) -> atoll_process::Outcome {
    ///     let _ = caller.own.collect(atoll_heap::Collection::default(), &mut []);
    ///     Ok(arguments[0])
    /// }
    /// ```
    pub unsafe fn collect(&mut self, request: Collection, live: &mut [Term]) -> Result<(), HeapFull> {
        self.keep_looked_at();
        let (mutator, mut roots) = self.roots(None);
        // SAFETY: the caller's obligation.
        unsafe { architecture().collect(mutator, request, live, &mut roots) }
    }

    /// A message that was looked at, and of which nothing tells that the process has no pointer into it any more,
    /// becomes part of the heap.
    #[inline]
    pub fn keep_looked_at(&mut self) {
        if self.mailbox.is_looked_at()
            && let Some(words) = self.mailbox.part_with_looked_at()
        {
            architecture().keep_fragment(&mut self.mutator, words);
        }
    }

    /// The heap and the roots beside its stack, messages in this inbox among them.
    pub(crate) fn roots<'a>(&'a mut self, inbox: Option<&'a Inbox>) -> (&'a mut Mutator, Roots<'a>) {
        let Own { mutator, saved, mailbox, rare, .. } = self;
        (mutator, Roots { saved, mailbox, rare: rare.as_deref_mut(), inbox })
    }
}

/// The roots of a process beside its stack.
pub(crate) struct Roots<'p> {
    saved: &'p mut ThinVec<Term>,
    mailbox: &'p mut Mailbox,
    rare: Option<&'p mut Rare>,
    inbox: Option<&'p Inbox>,
}

impl RootSet for Roots<'_> {
    fn each_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.each_own_slice(visit);
        let all = architecture().messages_are_roots();
        if all {
            self.mailbox.each(|message| visit(message.term_place(), 1));
        } else {
            // A term still in its fragment is not on any heap.
            self.mailbox.each_moved(|message| visit(message.term_place(), 1));
        }
        if all && let Some(inbox) = self.inbox {
            inbox.each(|signal| visit(signal.term_place(), 1));
        }
    }

    fn each_own_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        visit(self.saved.as_mut_ptr(), self.saved.len());
        if let Some(rare) = &mut self.rare {
            let (first, count) = rare.dictionary.root();
            visit(first, count);
            if let Some(trace) = &mut rare.exception_trace {
                visit(trace, 1);
            }
            for tag in rare.tags.values_mut().chain(rare.reply_tags.values_mut()) {
                visit(tag, 1);
            }
            for request in &mut rare.collections {
                visit(&raw mut request.argument, 1);
            }
        }
    }

    fn each_message(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.mailbox.each(&mut *visit);
        if let Some(inbox) = self.inbox {
            inbox.each(visit);
        }
    }

    fn messages(&self) -> usize {
        self.mailbox.len()
    }

    fn begin_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.mailbox.begin_visit();
        if let Some(inbox) = self.inbox {
            inbox.each(visit);
        }
    }

    fn begin_new_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        // What has moved to the heap since it was visited refers to something else now.
        self.mailbox.each_moved(&mut *visit);
        self.mailbox.begin_visit_of_new();
        if let Some(inbox) = self.inbox {
            inbox.each(visit);
        }
    }

    fn some_messages(&mut self, visit: &mut dyn FnMut(&Fragment) -> bool) -> bool {
        self.mailbox.visit_some(visit)
    }
}
