//! Making processes.

use std::sync::atomic::Ordering;

use atoll_heap::{HeapOptions, Message, Mutator, architecture, first_blocks};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Export, Term, atoms};

use crate::flags::Flags;
use crate::held::Queued;
use crate::mailbox::Mailbox;
use crate::process::{IncomingMonitor, OutgoingMonitor, Own, Priority, Process, Rare, WaitState};
use crate::reference::ReferenceId;
use crate::remote::Remote;
use crate::sequence::{Sequence, SpawnRequest};
use crate::system::System;

/// A monitor that the parent has on the new process from the start.
#[derive(Clone, Copy, Debug)]
pub struct SpawnMonitor {
    /// The monitor.
    pub reference: ReferenceId,
    /// Head of the message.
    pub tag: Term,
}

/// How a process is made.
#[derive(Clone, Copy, Debug)]
pub struct SpawnOptions {
    /// Link with the parent.
    pub link: bool,
    /// Watched by the parent.
    pub monitor: Option<SpawnMonitor>,
    /// Priority.
    pub priority: Priority,
    /// Its heap.
    pub heap: HeapOptions,
    /// Switches from the start.
    pub flags: Flags,
    /// How it was asked for, for the system tracer: as by `spawn/3` if not given.
    pub request: Option<SpawnRequest>,
}

/// There are as many processes as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyProcesses;

/// Who makes a process, and its arguments.
pub enum Parent<'a> {
    /// A process: its pid, what belongs to it, and a list of arguments on its heap.
    Process(Term, &'a mut Own, Term),
    /// The machine: the message is a list of arguments.
    Machine(Message),
    /// A process of another node: the message is a list of arguments.
    Elsewhere(Message, OtherNode<'a>),
}

/// What a process begins with that another node asked for.
pub struct OtherNode<'a> {
    /// What it knows of that node.
    pub remote: Box<Remote>,
    /// Gets the pid before the process can run.
    pub begins: &'a dyn Fn(Term),
    /// What it knows of sequences of events.
    pub sequence: Option<Sequence>,
}

/// Makes a process that will call `module:name`, and puts it into a run queue. Returns its pid.
///
/// # Errors
/// There are too many processes.
pub fn spawn(
    parent: Parent<'_>,
    function: (Term, Term),
    initial_call: Option<&'static Export>,
    options: &SpawnOptions,
) -> Result<Term, TooManyProcesses> {
    let system = System::get();
    let pid = system.table.reserve().ok_or(TooManyProcesses)?;
    let entry = system.entry_points.get().expect("an engine is registered before the first process");
    let mut tracing = system.tracing.of_new();
    let mut sequence = None;
    let mut inherited_leader = None;
    let mut other_node = None;
    let (parent_pid, leader, fragment) = match parent {
        Parent::Process(parent_pid, own, arguments) => {
            if own.flags.traced() {
                let parts = (function.0, function.1, arguments);
                sequence = crate::sequence::spawned(parent_pid, own, pid, parts, options.request);
                let call = own.mutator.tuple(&[function.0, function.1, arguments]);
                let wanted = crate::tracing::PROCS;
                crate::tracing::event(parent_pid, own, wanted, "spawn", &[pid, call]);
                if options.link {
                    crate::tracing::event(parent_pid, own, wanted, "link", &[pid]);
                }
                tracing = crate::tracing::inherited(own, options.link).or(tracing);
                if let Some(tracing) = tracing.filter(|tracing| tracing.flags & wanted != 0) {
                    crate::tracing::tell(pid, own, tracing, known_atom("spawned"), &[parent_pid, call]);
                    if options.link {
                        let event = known_atom("getting_linked");
                        crate::tracing::tell(pid, own, tracing, event, &[parent_pid]);
                    }
                }
            }
            inherited_leader = own.remote_leader();
            let rare_needed = options.link || options.monitor.is_some();
            if rare_needed {
                let rare = own.rare();
                if options.link {
                    rare.links.insert(pid);
                }
                if let Some(SpawnMonitor { reference, tag }) = options.monitor {
                    rare.monitoring.insert(reference, OutgoingMonitor { target: pid, name: Term::NONE, tag });
                }
            }
            (parent_pid, own.group_leader, architecture().send(&mut own.mutator, arguments))
        }
        Parent::Machine(arguments) => (Term::NONE, pid, arguments),
        Parent::Elsewhere(arguments, mut begun) => {
            sequence = begun.sequence.take();
            let leader = begun.remote.local_leader.unwrap_or(pid);
            other_node = Some(begun);
            (Term::NONE, leader, arguments)
        }
    };
    let mut mutator = Mutator::empty();
    // SAFETY: the fragment was made for the new process alone.
    let arguments = unsafe { architecture().create(&mut mutator, fragment, &options.heap) };
    if let Some(first) = first_blocks() {
        first.begins(&mut mutator, function, arguments);
    }
    mutator.stack = mutator.stack.wrapping_sub(1);
    // SAFETY: a new heap has room for some stack words; this is the first frame's return address.
    unsafe { *mutator.stack = entry.finish as u64 };
    let mut rare: Option<Box<Rare>> = None;
    if options.link {
        rare.get_or_insert_default().links.insert(parent_pid);
    }
    if let Some(SpawnMonitor { reference, tag }) = options.monitor {
        let monitor = IncomingMonitor { watcher: parent_pid, name: Term::NONE, tag };
        rare.get_or_insert_default().monitored_by.insert(reference, monitor);
    }
    if let Some(OtherNode { remote, begins, .. }) = other_node {
        rare.get_or_insert_default().remote = Some(remote);
        begins(pid);
    } else if inherited_leader.is_some() {
        rare.get_or_insert_default().remote.get_or_insert_default().leader = inherited_leader;
    }
    let mut flags = options.flags;
    if tracing.is_some() {
        flags.set_traced(true);
        rare.get_or_insert_default().tracing = tracing;
    }
    if system.tracing.names_senders() {
        flags.set_traced(true);
    }
    if let Some(sequence) = sequence {
        flags.set_traced(true);
        flags.set_sequenced(true);
        rare.get_or_insert_default().sequence = sequence;
    }
    let own = Own {
        mutator,
        address: entry.start,
        saved: thin_vec::thin_vec![function.0, function.1, arguments],
        mailbox: Mailbox::default(),
        group_leader: leader,
        parent: parent_pid,
        reductions: 0,
        catches: 0,
        flags,
        rare,
        initial_call,
        timer: 0,
        wait: WaitState::None,
    };
    let process = system.table.publish(Process::new(pid, options.priority, own));
    // SAFETY: its state is `QUEUED` from the start, and this is the one that puts it into a run queue.
    system.make_runnable(unsafe { Queued::of(process) });
    Ok(pid)
}

/// Puts a process that was woken while another thread had it into a run queue.
pub(crate) fn enqueue(process: Queued) {
    let system = System::get();
    if system.profiling.is_on() {
        process.process().runnable_untold.store(true, Ordering::Relaxed);
    }
    system.schedule().enqueue(process);
}

/// The default tag of a monitor's message.
pub const DOWN: Term = atoms::DOWN;
