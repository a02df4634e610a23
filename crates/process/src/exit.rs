//! The end of a process: it notifies linked and monitoring processes, and gives everything back.

use atoll_heap::architecture;
use atoll_term::{Build, Term, atoms};

use crate::handle::reply;
use crate::held::Held;
use crate::libraries;
use crate::mailbox::Mailbox;
use crate::process::Own;
use crate::remote::RemotePid;
use crate::sequence::{self, Mark};
use crate::signal::{self, Signal, attach};
use crate::system::{System, monitored_object};

/// Ends a process that this thread runs. `reason` lies on its heap.
pub(crate) fn terminate(held: &mut Held<'_>, reason: Term) {
    let system = System::get();
    // Keeps the process alive until the last lines here have used it.
    let guard = crossbeam_epoch::pin();
    let (shared, own) = held.split();
    let pid = shared.pid;
    shared.ends();
    if own.timer != 0 {
        system.timers.cancel_wait(own.timer);
    }
    if own.flags.traced() {
        crate::tracing::event(pid, own, crate::tracing::PROCS, "exit", &[reason]);
        if let Some(name) = system.name_of(shared) {
            crate::tracing::event(pid, own, crate::tracing::PROCS, "unregister", &[name]);
        }
        // The rest is done in one go, without others running in between.
        crate::tracing::event(pid, own, crate::tracing::EXITING, "out_exited", &[Term::small(0)]);
    }
    let (marks, tokens) = match own.token().is_some() {
        true => (exits_told(pid, own, reason), exits_told_elsewhere(pid, own, reason)),
        false => (Vec::new(), Vec::new()),
    };
    let rare = own.rare.take();
    // From here on nobody finds it; what is in the inbox is answered below.
    // SAFETY: this thread runs the process and is pinned.
    unsafe { system.table.remove(shared) };
    system.forget_names(shared);
    // After the table, as with names: either this sees what another thread has noted, or that thread finds no process.
    let timers = shared.at_end.timers();
    if !timers.is_empty() {
        system.timers.forget_process(pid, timers);
    }
    // As above.
    if shared.at_end.has_work() {
        system.exit_work(pid, own);
        system.urgencies.forget(pid);
        crate::remote::ended(pid, reason);
    }
    if let Some(rare) = rare {
        tell_others(system, own, pid, reason, *rare, (marks, &tokens));
    }
    for message in own.mailbox.clear().chain(shared.inbox.close()) {
        system.answer_for_missing(pid, message);
    }
    if let Some(libraries) = system.libraries.get()
        && libraries.carried_out(&own.saved).is_some()
    {
        libraries.keep(&own.saved, own.mutator.held_parts());
    }
    libraries::around(system, || {
        // SAFETY: the process has ended, and its thread has taken what it needs.
        unsafe { architecture().destroy(&mut own.mutator) };
        own.saved = Default::default();
        own.mailbox = Mailbox::default();
    });
    if let Some(libraries) = system.libraries.get() {
        libraries.process_ended();
    }
    shared.state.end();
    drop(guard);
}

/// Reports the exit signals that a process with a token sends to the system tracer. Returns a mark for each signal.
#[cold]
#[inline(never)]
fn exits_told(pid: Term, own: &mut Own, reason: Term) -> Vec<Mark> {
    let message = own.mutator.tuple(&[atoms::EXIT_UPPER, pid, reason]);
    let links = own.rare.as_ref().map(|rare| rare.links.clone()).unwrap_or_default();
    let exists = |link: Term| link.is_local_port() || System::get().table.contains(link);
    let mut told = |link: &Term| if exists(*link) { sequence::sent(pid, own, *link, message) } else { Mark::Plain };
    links.as_slice().iter().map(&mut told).collect()
}

/// As [`exits_told`], for links with processes of other nodes: returns the tokens that go along.
#[cold]
#[inline(never)]
fn exits_told_elsewhere(pid: Term, own: &mut Own, reason: Term) -> Vec<Term> {
    let message = own.mutator.tuple(&[atoms::EXIT_UPPER, pid, reason]);
    let links: Vec<RemotePid> = own.known_remote().map(|remote| remote.linked().collect()).unwrap_or_default();
    let mut told = |other: &RemotePid| {
        let other = other.term(&mut own.mutator);
        sequence::sent(pid, own, other, message);
        own.token_term()
    };
    links.iter().map(&mut told).collect()
}

/// `sequence` has the marks of the exit signals to this node, and the tokens of those to others.
fn tell_others(
    system: &System,
    own: &mut Own,
    pid: Term,
    reason: Term,
    rare: crate::process::Rare,
    sequence: (Vec<Mark>, &[Term]),
) {
    let (marks, tokens) = sequence;
    if !rare.links.is_empty() {
        let message = own.mutator.tuple(&[atoms::EXIT_UPPER, pid, reason]);
        let marks = marks.into_iter().chain(std::iter::repeat_with(|| Mark::Plain));
        for (link, mark) in rare.links.as_slice().iter().zip(marks) {
            let fragment = architecture().send(&mut own.mutator, message);
            let signal = attach(fragment, Signal::LinkExit { from: pid, mark });
            drop(system.deliver(*link, signal));
        }
    }
    for (reference, monitor) in &rare.monitored_by {
        let heap = &mut own.mutator;
        let reference_term = reference.term(heap);
        let object = monitored_object(heap, pid, monitor.name);
        let message = heap.tuple(&[monitor.tag, reference_term, atoms::PROCESS, object, reason]);
        let fragment = architecture().send(heap, message);
        let signal = attach(fragment, Signal::Down { reference: *reference });
        drop(system.deliver(monitor.watcher, signal));
    }
    for (reference, monitor) in &rare.monitoring {
        if !monitor.target.is_none() {
            let signal = signal::bare(Signal::Demonitor { reference: *reference });
            drop(system.deliver(monitor.target, signal));
        }
    }
    if let Some(remote) = &rare.remote {
        crate::remote::tell_others(pid, remote, reason, tokens);
    }
    // Collections that were asked for and do not happen any more.
    for request in &rare.collections {
        reply(own, request, atoms::FALSE);
    }
    for suspended in &rare.suspending {
        drop(system.deliver(*suspended, signal::bare(Signal::Resume)));
    }
    for suspender in &rare.suspenders {
        suspender.tell(&mut own.mutator, false);
    }
}
