//! Signals: everything that one process can tell another. All of them travel through the receiver's inbox, so that
//! what one process sends to another arrives in the order in which it was sent.

use std::ptr::NonNull;

use atoll_heap::Fragment;
use atoll_term::Term;

use crate::reference::ReferenceId;
use crate::sequence::Mark;

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
        /// Told when the process has stopped, unless asynchronous.
        reply: Option<ReferenceId>,
    },
    /// Undo one suspension.
    Resume,
    /// Take this group leader (local pid).
    GroupLeader {
        /// The new one.
        leader: Term,
    },
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
    /// `is_process_alive`: answered with `true`.
    IsAlive,
    /// A task: the fragment's term is `{check_process_code, Id, Module}`.
    CheckProcessCode,
}

impl RequestKind {
    /// Whether the answer is `{Task, Id, Result}`.
    pub fn is_task(self) -> bool {
        matches!(self, RequestKind::GarbageCollect | RequestKind::CheckProcessCode)
    }
}

/// Puts a body into a fragment.
pub fn attach(mut fragment: NonNull<Fragment>, signal: Signal) -> NonNull<Fragment> {
    // SAFETY: the caller owns the fragment, which has no body yet.
    unsafe { fragment.as_mut().signal = Box::into_raw(Box::new(signal)).cast() };
    fragment
}

/// A signal whose fragment brings no heap term.
pub fn bare(signal: Signal) -> NonNull<Fragment> {
    attach(Fragment::new(0), signal)
}

/// Takes the body out of a fragment, if it has one.
pub fn detach(fragment: &mut Fragment) -> Option<Box<Signal>> {
    let body = std::mem::replace(&mut fragment.signal, std::ptr::null_mut()).cast::<Signal>();
    // SAFETY: a body that is not null came from `attach`, and is taken out once.
    (!body.is_null()).then(|| unsafe { Box::from_raw(body) })
}

/// Frees a signal that nobody will receive.
pub fn discard(mut fragment: NonNull<Fragment>) {
    // SAFETY: the caller owns the fragment.
    unsafe {
        drop(detach(fragment.as_mut()));
        Fragment::discard(fragment);
    }
}

/// Takes the body out of a fragment that the caller owns, if it has one.
pub fn take_body(fragment: &mut NonNull<Fragment>) -> Option<Box<Signal>> {
    // SAFETY: the caller owns the fragment.
    detach(unsafe { fragment.as_mut() })
}

/// The reason in an exit signal that the caller owns; `kill` if it is none.
pub fn exit_reason(fragment: &NonNull<Fragment>) -> Term {
    // SAFETY: the caller owns the fragment.
    let term = unsafe { fragment.as_ref() }.term;
    match term.tuple_elements() {
        Some(&[_, _, reason]) => reason,
        _ => atoll_term::atoms::KILL,
    }
}
