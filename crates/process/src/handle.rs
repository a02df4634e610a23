//! Receiving signals: what a process does with each kind.

use atoll_heap::{Collection, Fragment, HeapFull, Message, architecture};
use atoll_term::{Build, ScratchHeap, Term, Word, atoms};

use crate::held::Stopped;
use crate::inspect;
use crate::process::{AliasKind, IncomingMonitor, Own, Process, WaitState};
use crate::reference::ReferenceId;
use crate::remote;
use crate::sequence::{self, Mark};
use crate::signal::{self, RequestKind, Signal, attach};
use crate::suspension::Suspender;
use crate::system::System;
use crate::tracing;
use crate::watch;

/// What signals can make of a process.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It goes on.
    Lives,
    /// It ends with this reason, which lies on its heap.
    Dies(Term),
}

/// A request that needs more than this crate knows; the engine that runs the process answers it.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The process that asked.
    pub from: Term,
    /// Goes into the answer `{Ref, Result}`.
    pub reference: ReferenceId,
    /// What is asked.
    pub kind: RequestKind,
    /// Its arguments, on the process's heap.
    pub argument: Term,
}

/// Takes all signals out of the inbox and acts on them. `answer` carries out requests.
pub fn receive_signals(process: &Process, own: &mut Own, answer: &mut dyn FnMut(&Process, &mut Own, Request)) -> Fate {
    let mut fate = Fate::Lives;
    for message in process.inbox.take() {
        if matches!(fate, Fate::Dies(_)) {
            // It is dying already: what comes later meets a process that does not exist.
            System::get().answer_for_missing(process.pid, message);
            continue;
        }
        match signal::detach(&message) {
            None => {
                tell_of(process.pid, own, &message, Term::NONE);
                own.mailbox.push(message);
            }
            Some(body) => {
                fate = act(process, own, body, message, answer);
                // One of which it dies stays, until it has ended.
                if matches!(fate, Fate::Lives) {
                    process.signal_done();
                }
            }
        }
    }
    fate
}

/// Whether a signal waits that kills the process. To be called on the thread that runs it.
pub fn is_killed(process: &Process) -> bool {
    let mut is_killed = false;
    each_waiting(process, |signal, message| {
        let reason = message.term().tuple_elements().and_then(|elements| elements.get(2).copied());
        is_killed |= matches!(signal, Signal::Exit { .. }) && reason == Some(atoms::KILL);
    });
    is_killed
}

/// Shows the signals on which the process has not acted yet, the last first. To be called on the thread that runs it,
/// or where the world is stopped.
pub fn each_waiting(process: &Process, mut visit: impl FnMut(&Signal, &Fragment)) {
    if process.has_signals() {
        process.inbox.each(|message| {
            if let Some(body) = signal::detach(message) {
                visit(&body, message);
                message.attach(body);
            }
        });
    }
}

/// Tells of a message that has come.
fn tell_of(pid: Term, own: &mut Own, message: &Message, from: Term) {
    if own.flags.traced() && own.tracing().is_some_and(|tracing| tracing.flags & tracing::RECEIVE != 0) {
        let message = inspect::shown(&mut own.mutator, message);
        tracing::received(pid, own, message, from);
    }
}

/// Puts a message that came as a signal with a body into the mailbox.
pub(crate) fn take_in(pid: Term, own: &mut Own, message: Message, mark: Mark, from: Term) {
    tell_of(pid, own, &message, from);
    sequence::push(own, message, mark);
}

fn act(
    process: &Process,
    own: &mut Own,
    body: Signal,
    message: Message,
    answer: &mut dyn FnMut(&Process, &mut Own, Request),
) -> Fate {
    match body {
        Signal::Message { mark, from } => take_in(process.pid, own, message, mark, from),
        Signal::Link { from } => {
            if own.rare().links.insert_from_there(from) && own.flags.traced() {
                tracing::event(process.pid, own, tracing::PROCS, "getting_linked", &[from]);
            }
        }
        Signal::Unlink { from, number } => {
            if let Some(rare) = &mut own.rare {
                rare.links.remove(from);
            }
            signal::tell_unlink_is_known(process.pid, from, number);
            if own.flags.traced() {
                tracing::event(process.pid, own, tracing::PROCS, "getting_unlinked", &[from]);
            }
        }
        Signal::UnlinkKnown { from, number } => {
            if let Some(rare) = &mut own.rare {
                rare.links.end_is_known(from, number);
            }
        }
        Signal::LinkExit { from, mark } => {
            let linked = own.rare.as_mut().is_some_and(|rare| rare.links.remove(from));
            if linked && own.flags.traced() {
                tracing::event(process.pid, own, tracing::PROCS, "getting_unlinked", &[from]);
            }
            if linked {
                return exit_signal(process.pid, own, message, mark, false);
            }
        }
        Signal::Exit { .. } => return exit_signal(process.pid, own, message, Mark::Plain, true),
        Signal::Monitor { from, reference, name, tag } => {
            own.rare().monitored_by.insert(reference, IncomingMonitor { watcher: from, name, tag });
        }
        Signal::Demonitor { reference } => {
            if let Some(rare) = &mut own.rare {
                rare.monitored_by.remove(&reference);
            }
        }
        Signal::Down { reference } => monitor_fired(process.pid, own, reference, message),
        Signal::ToAlias { reference, mark } => {
            let kind = own.rare.as_ref().and_then(|rare| rare.aliases.get(&reference).copied());
            if let Some(kind) = kind {
                if matches!(kind, AliasKind::Reply | AliasKind::ReplyDemonitor) {
                    own.rare().aliases.remove(&reference);
                }
                if kind == AliasKind::ReplyDemonitor {
                    demonitor(process.pid, own, reference);
                }
                take_in(process.pid, own, message, mark, Term::NONE);
            }
        }
        Signal::SpawnReply { reference, mark } => {
            let rare = own.rare();
            if let Some(position) = rare.spawn_requests.iter().position(|own| *own == reference) {
                rare.spawn_requests.swap_remove(position);
                take_in(process.pid, own, message, mark, Term::NONE);
            }
        }
        Signal::Timeout { wait } => {
            if own.timer == wait && own.wait == WaitState::Running {
                own.timer = 0;
                own.wait = WaitState::Expired;
            }
        }
        Signal::Suspend { from, reply } => {
            own.rare().suspended += 1;
            let suspender = Suspender::of(own, from, reply, message);
            own.rare().suspenders.extend(suspender);
        }
        Signal::Resume => {
            if let Some(rare) = &mut own.rare {
                rare.suspended = rare.suspended.saturating_sub(1);
            }
        }
        Signal::GroupLeader { leader } => own.set_leader(leader),
        Signal::Trace => tracing::make_own_late_changes(process.pid, own),
        Signal::Remote(remote) => return remote::act(process, own, *remote, message),
        Signal::Request { from, reference, kind } => {
            let argument = take_term(own, message);
            answer(process, own, Request { from, reference, kind, argument });
        }
    }
    Fate::Lives
}

/// The process that a monitor of this one watches has ended: the message is for the program, and is dropped if there is
/// no such monitor any more.
pub(crate) fn monitor_fired(pid: Term, own: &mut Own, reference: ReferenceId, message: Message) {
    remote::forget_monitor(own, reference);
    let Some(rare) = own.rare.as_mut() else { return };
    if rare.monitoring.remove(&reference).is_some() {
        tell_fired(pid, own, reference, message);
    }
}

/// As [`monitor_fired`], for a monitor that is not among those of the process any more.
pub(crate) fn tell_fired(pid: Term, own: &mut Own, reference: ReferenceId, message: Message) {
    let Some(rare) = own.rare.as_mut() else { return };
    let tag = rare.tags.remove(&reference);
    if matches!(rare.aliases.get(&reference), Some(AliasKind::Demonitor | AliasKind::ReplyDemonitor)) {
        rare.aliases.remove(&reference);
    }
    let message = match tag {
        Some(tag) => retag(own, message, tag),
        None => message,
    };
    take_in(pid, own, message, Mark::Neutral, Term::NONE);
}

/// A process that this one was linked to has ended: the message's term is `{'EXIT', From, Reason}`.
pub(crate) fn linked_exit(pid: Term, own: &mut Own, message: Message, mark: Mark) -> Fate {
    if own.flags.traced() {
        let from = message.term().tuple_elements().map_or(Term::NIL, |elements| elements[1]);
        // The sender's pid may be an object of the message.
        let from = remote::RemotePid::of(from).map_or(from, |from| from.term(&mut own.mutator));
        tracing::event(pid, own, tracing::PROCS, "getting_unlinked", &[from]);
    }
    exit_signal(pid, own, message, mark, false)
}

/// A monitor's message with another head, which lies on the process's heap.
fn retag(own: &mut Own, message: Message, tag: Term) -> Message {
    let message = take_term(own, message);
    let mut elements = message.tuple_elements().unwrap_or_default().to_vec();
    if let Some(head) = elements.first_mut() {
        *head = tag;
    }
    let message = own.mutator.tuple(&elements);
    architecture().send(&mut own.mutator, message)
}

/// Makes the term of a signal part of the process's heap.
pub(crate) fn take_term(own: &mut Own, message: Message) -> Term {
    if message.used() > 0 {
        // SAFETY: the message was taken out, and nobody has its term yet.
        unsafe { architecture().receive(&mut own.mutator, &message) };
    }
    let term = message.term();
    architecture().keep_fragment(&mut own.mutator, message);
    term
}

/// An exit signal: `{'EXIT', From, Reason}`. `explicit` when it came from `exit/2`.
fn exit_signal(pid: Term, own: &mut Own, message: Message, mark: Mark, explicit: bool) -> Fate {
    let Some(&[_, from, reason]) = message.term().tuple_elements() else { return Fate::Lives };
    if explicit && reason == atoms::KILL {
        return Fate::Dies(atoms::KILLED);
    }
    if own.flags.trap_exit() {
        take_in(pid, own, message, mark, from);
        return Fate::Lives;
    }
    // `exit(self(), normal)` is the one `normal` that ends its receiver; the sender marks it by its pid.
    if reason == atoms::NORMAL && !(explicit && from == pid) {
        return Fate::Lives;
    }
    Fate::Dies(take_term(own, message).tuple_elements().map_or(atoms::KILLED, |elements| elements[2]))
}

/// Takes the first message out of the mailbox, for built-in functions that receive. The term is on the heap afterwards.
pub fn take_message(own: &mut Own) -> Option<Term> {
    own.mailbox.restart();
    let message = own.mailbox.take_current()?;
    drop(signal::detach(&message));
    Some(take_term(own, message))
}

/// Ends a monitor of this process; returns whether there was one.
pub fn demonitor(pid: Term, own: &mut Own, reference: ReferenceId) -> bool {
    remote::demonitor(pid, own, reference);
    let Some(rare) = &mut own.rare else { return false };
    let Some(monitor) = rare.monitoring.remove(&reference) else { return false };
    rare.tags.remove(&reference);
    if matches!(rare.aliases.get(&reference), Some(AliasKind::Demonitor | AliasKind::ReplyDemonitor)) {
        rare.aliases.remove(&reference);
    }
    if !monitor.target.is_none() {
        System::get().deliver_quietly(monitor.target, signal::bare(Signal::Demonitor { reference }));
    }
    true
}

/// Takes the first message that `matches` accepts out of the mailbox, wherever it stands; its term is then part of
/// the process's heap. Looks at messages that have arrived only; signals are not acted on.
pub fn take_matching(own: &mut Own, matches: impl FnMut(Term) -> bool) -> Option<Term> {
    let message = take_out(own, matches)?;
    drop(signal::detach(&message));
    Some(take_term(own, message))
}

/// As [`take_matching`]; the token that came with the message replaces that of `pid`, whose heap this is.
pub fn receive_matching(pid: Term, own: &mut Own, matches: impl FnMut(Term) -> bool) -> Option<Term> {
    let message = take_out(own, matches)?;
    match own.flags.sequenced() {
        true => sequence::taken(pid, own, &message),
        false => drop(signal::detach(&message)),
    }
    Some(take_term(own, message))
}

fn take_out(own: &mut Own, mut matches: impl FnMut(Term) -> bool) -> Option<Message> {
    own.mailbox.restart();
    let mut found = None;
    while let Some(message) = own.mailbox.current() {
        if matches(message.term()) {
            found = own.mailbox.take_current();
            break;
        }
        own.mailbox.skip();
    }
    own.mailbox.restart();
    found
}

/// Carries out the collections that others have asked for.
///
/// # Errors
/// The process has reached its maximum heap size.
///
/// # Safety
/// As for [`Own::collect`]; no register holds a term.
pub unsafe fn collect_for_others(pid: Term, own: &mut Own) -> Result<(), HeapFull> {
    while let Some(request) = own.rare.as_ref().and_then(|rare| rare.collections.last()) {
        let major = request.argument.tuple_elements().is_none_or(|task| task.get(2) != Some(&atoms::MINOR));
        // SAFETY: the caller's obligation.
        unsafe { watch::collect(pid, own, Collection { major, stack_words: 1, ..Collection::default() }, &mut []) }?;
        if let Some(request) = own.rare().collections.pop() {
            reply(own, &request, atoms::TRUE);
        }
    }
    Ok(())
}

/// Answers a request: with `{Ref, Result}`, or `{Task, Id, Result}` for a task. `result` lies on the answering
/// process's heap.
pub fn reply(own: &mut Own, request: &Request, result: Term) {
    if request.kind == RequestKind::Search {
        System::get().libraries.get().into_iter().for_each(|libraries| libraries.searched());
        return;
    }
    let message = match (request.kind.is_task(), request.argument.tuple_elements()) {
        (true, Some(&[task, id, ..])) => own.mutator.tuple(&[task, id, result]),
        _ => {
            let reference = request.reference.term(&mut own.mutator);
            own.mutator.tuple(&[reference, result])
        }
    };
    let fragment = architecture().send(&mut own.mutator, message);
    System::get().deliver_or_answer(request.from, sequence::neutral(fragment));
}

/// As [`reply`] to what is no task, with a result that is made outside of all heaps.
pub fn reply_composed(request: &Request, result: impl Fn(&mut ScratchHeap) -> Term) {
    let message = Message::compose(|heap| {
        let result = result(heap);
        let reference = request.reference.term(heap);
        heap.tuple(&[reference, result])
    });
    System::get().deliver_or_answer(request.from, sequence::neutral(message));
}

/// An exit signal that cannot be trapped.
pub fn kill_signal(to: Term) -> Message {
    attach(Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, to, atoms::KILL])), Signal::Exit { from: to })
}

/// Processes whose stacks hold a code address, a return address among them, for which `inside` holds, and those that go
/// on at such an address; where the asker began its time slice does not tell where it is now. The world is stopped
/// meanwhile. If another thread stops it at the same time, and collects, it goes first: the caller uses no term
/// with a pointer that it had before, its arguments among them.
pub fn processes_inside(asker: Option<&mut Own>, inside: impl Fn(*const Word) -> bool) -> Vec<Term> {
    let mut found = Vec::new();
    let asking = asker.as_deref().map(std::ptr::from_ref);
    Stopped::after_others(asker).each(|process, own| {
        let goes_on_inside = asking != Some(std::ptr::from_ref(own)) && inside(own.address);
        let words = own.mutator.stack_words();
        let reader = own.mutator.stack_reader();
        let on_stack = (0..words).any(|index| {
            // SAFETY: the word lies on the process's stack.
            let word = unsafe { Term::from_word(reader.read(own.mutator.stack.add(index))) };
            word.is_header() && inside(word.word() as *const Word)
        });
        if on_stack || goes_on_inside {
            found.push(process.pid);
        }
    });
    found
}
