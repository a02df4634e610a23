//! Making processes.

use std::sync::atomic::Ordering;

use atoll_heap::{HeapOptions, Mutator, architecture};
use atoll_term::{Build, Export, ScratchHeap, Term, atoms};

use crate::held::Queued;
use crate::mailbox::Mailbox;
use crate::process::{Flags, IncomingMonitor, OutgoingMonitor, Own, Priority, Process, Rare, WaitState};
use crate::profile;
use crate::reference::ReferenceId;
use crate::sequence::SpawnRequest;
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

/// Makes a process that will call `module:name` with the arguments in the list `arguments` (on the parent's heap), and
/// puts it into a run queue. Returns its pid.
pub fn spawn(
    parent: Option<(Term, &mut Own)>,
    function: (Term, Term),
    arguments: Term,
    initial_call: Option<&'static Export>,
    options: &SpawnOptions,
) -> Result<Term, TooManyProcesses> {
    let system = System::get();
    let pid = system.table.reserve().ok_or(TooManyProcesses)?;
    let entry = system.entry_points.get().expect("an engine is registered before the first process");
    let mut tracing = crate::tracing::of_new();
    let mut sequence = None;
    let (parent_pid, leader, fragment) = match parent {
        Some((parent_pid, own)) => {
            if own.flags.traced {
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
                    crate::tracing::tell(pid, own, tracing, crate::tracing::name("spawned"), &[parent_pid, call]);
                    if options.link {
                        let event = crate::tracing::name("getting_linked");
                        crate::tracing::tell(pid, own, tracing, event, &[parent_pid]);
                    }
                }
            }
            let rare_needed = options.link || options.monitor.is_some();
            if rare_needed {
                let rare = own.rare();
                if options.link {
                    rare.links.push(pid);
                }
                if let Some(SpawnMonitor { reference, tag }) = options.monitor {
                    rare.monitoring.insert(reference, OutgoingMonitor { target: pid, name: Term::NONE, tag });
                }
            }
            (parent_pid, own.group_leader, architecture().send(Some(&mut own.mutator), arguments))
        }
        None => (Term::NONE, pid, architecture().send(None, arguments)),
    };
    let mut mutator = Mutator::empty();
    // SAFETY: the fragment was made for the new process alone.
    let arguments = unsafe { architecture().create(&mut mutator, fragment, &options.heap) };
    architecture().begins(&mut mutator, function, arguments);
    mutator.stack = mutator.stack.wrapping_sub(1);
    // SAFETY: a new heap has room for some stack words; this is the first frame's return address.
    unsafe { *mutator.stack = entry.finish as u64 };
    let mut rare: Option<Box<Rare>> = None;
    if options.link {
        rare.get_or_insert_default().links.push(parent_pid);
    }
    if let Some(SpawnMonitor { reference, tag }) = options.monitor {
        let monitor = IncomingMonitor { watcher: parent_pid, name: Term::NONE, tag };
        rare.get_or_insert_default().monitored_by.insert(reference, monitor);
    }
    let mut flags = options.flags;
    if tracing.is_some() {
        flags.traced = true;
        rare.get_or_insert_default().tracing = tracing;
    }
    flags.traced |= crate::tracing::names_senders();
    if let Some(sequence) = sequence {
        (flags.traced, flags.sequenced) = (true, true);
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

/// Makes the machine's first process: calls `module:name(Argument)`.
pub fn spawn_first(module: Term, name: Term, argument: Term, options: &SpawnOptions) -> Result<Term, TooManyProcesses> {
    debug_assert!(module.is_atom() && name.is_atom() && !argument.is_none());
    let mut scratch = ScratchHeap::new();
    let arguments = scratch.list([argument]);
    spawn(None, (module, name), arguments, None, options)
}

/// Puts a process that was woken while another thread had it into a run queue.
pub(crate) fn enqueue(process: Queued) {
    if profile::is_on() {
        process.process().runnable_untold.store(true, Ordering::Relaxed);
    }
    System::get().schedule().enqueue(process);
}

/// The default tag of a monitor's message.
pub const DOWN: Term = atoms::DOWN;
