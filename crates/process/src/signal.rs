//! Signals: everything that one process can tell another. All of them travel through the receiver's inbox, so that
//! what one process sends to another arrives in the order in which it was sent.

use std::num::NonZeroU64;

use atoll_heap::{Fragment, Message};
use atoll_term::Term;

use crate::reference::ReferenceId;
use crate::remote::RemoteSignal;
use crate::sequence::Mark;
use crate::suspension::Reply;
use crate::system::System;

/// Body of a signal that is not a plain message. Terms in it are immediate or stand in the fragment's `term`.
#[derive(Clone, Debug)]
pub enum Signal {
    /// A message that does something to the token of its receiver: see [`crate::sequence`]. The fragment's term is the
    /// message.
    Message {
        /// What it does.
        mark: Mark,
        /// The sender (local pid), if [`crate::tracing::names_senders`] asks for it; otherwise `NONE`.
        from: Term,
    },
    /// The sender is linked to the receiver from now on.
    Link {
        /// Local pid.
        from: Term,
    },
    /// The sender is not linked any more.
    Unlink {
        /// Local pid.
        from: Term,
        /// Number of the link's end; a port that ends has none, and waits for no answer.
        number: Option<NonZeroU64>,
    },
    /// The sender knows that the receiver is not linked any more.
    UnlinkKnown {
        /// Local pid.
        from: Term,
        /// Number of the link's end.
        number: NonZeroU64,
    },
    /// A linked process has ended. The fragment's term is `{'EXIT', From, Reason}`.
    LinkExit {
        /// Local pid.
        from: Term,
        /// What it does as a message.
        mark: Mark,
    },
    /// `exit/2`. The fragment's term is `{'EXIT', From, Reason}`.
    Exit {
        /// Local pid.
        from: Term,
    },
    /// The sender watches the receiver.
    Monitor {
        /// Local pid of the watcher.
        from: Term,
        /// The monitor.
        reference: ReferenceId,
        /// The name by which it watches, or `NONE`.
        name: Term,
        /// Atom or other immediate at the head of the message, `'DOWN'` unless the program chose another.
        tag: Term,
    },
    /// The sender does not watch the receiver any more.
    Demonitor {
        /// The monitor.
        reference: ReferenceId,
    },
    /// A watched process has ended. The fragment's term is the whole message.
    Down {
        /// The monitor.
        reference: ReferenceId,
    },
    /// A message to an alias; dropped when the alias is not active. The fragment's term is the message.
    ToAlias {
        /// The alias.
        reference: ReferenceId,
        /// What the message does.
        mark: Mark,
    },
    /// Result of `spawn_request`: the fragment's term is the message.
    SpawnReply {
        /// The request.
        reference: ReferenceId,
        /// What the message does.
        mark: Mark,
    },
    /// The time of `receive after` has come.
    Timeout {
        /// Number of the wait that it belongs to.
        wait: u64,
    },
    /// Stop running program code until resumed.
    Suspend {
        /// Local pid of the suspender.
        from: Term,
        /// What the suspender is told when the process has stopped.
        reply: Reply,
    },
    /// Undo one suspension.
    Resume,
    /// What another node does to the receiver.
    Remote(Box<RemoteSignal>),
    /// Take this group leader (local pid).
    GroupLeader {
        /// The new one.
        leader: Term,
    },
    /// Make the late changes of what the receiver tells its tracer.
    Trace,
    /// Do something as the receiver, and answer the sender. The fragment's term holds the request's arguments.
    Request {
        /// Local pid of the asker.
        from: Term,
        /// Goes into the answer.
        reference: ReferenceId,
        /// What to do.
        kind: RequestKind,
    },
}

/// What a process can be asked to do on its own behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `process_info`: the fragment's term is `{Item or Items, Status}`.
    ProcessInfo,
    /// A task: the fragment's term is `{garbage_collect, Id, major | minor}`.
    GarbageCollect,
    /// Collect everything, so that resources are found which nothing refers to. Native libraries ask for it, not a
    /// process: [`crate::Libraries::searched`] is the answer.
    Search,
    /// `is_process_alive`: answered with `true`.
    IsAlive,
    /// A task: the fragment's term is `{check_process_code, Id, Module}`.
    CheckProcessCode,
    /// A task that does nothing but tell that the process has come to it: `{system_task_test, Id}`.
    Nothing,
}

impl RequestKind {
    /// Whether the answer is `{Task, Id, Result}`.
    pub fn is_task(self) -> bool {
        matches!(self, RequestKind::GarbageCollect | RequestKind::CheckProcessCode | RequestKind::Nothing)
    }
}

/// Makes a message the signal with this body.
pub fn attach(message: Message, signal: Signal) -> Message {
    message.attach(signal);
    message
}

/// A signal that brings no term.
pub fn bare(signal: Signal) -> Message {
    attach(Message::new(0), signal)
}

/// Answers an end of a link, whatever its receiver knew of the link.
pub fn tell_unlink_is_known(receiver: Term, sender: Term, number: Option<NonZeroU64>) {
    if let Some(number) = number {
        System::get().deliver_quietly(sender, bare(Signal::UnlinkKnown { from: receiver, number }));
    }
}

/// Takes the body out of a signal; `None` if it is a plain message.
#[inline]
pub fn detach(message: &Fragment) -> Option<Signal> {
    message.take_body()
}

/// The reason in an exit signal; `kill` if it is no exit signal. It may lie in the message.
pub fn exit_reason(message: &Message) -> Term {
    match message.term().tuple_elements() {
        Some(&[_, _, reason]) => reason,
        _ => atoll_term::atoms::KILL,
    }
}
