//! A line of processes that wait for the same operation: the first one's turn has come, the others wait behind it.

use std::collections::VecDeque;
use std::sync::Arc;

use atoll_process::ReferenceId;
use atoll_term::{Build, MagicValue, Term, View};

/// A reference as a program gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    id: ReferenceId,
    alias: Option<Term>,
}

impl Handle {
    /// Reads one; `None` if the term is none of this node.
    pub fn of(term: Term) -> Option<Handle> {
        match term.view() {
            View::Reference(reference) => {
                Some(Handle { id: ReferenceId(reference.numbers()), alias: reference.alias_of() })
            }
            _ => None,
        }
    }

    /// The term again.
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        heap.reference(self.id.0, self.alias)
    }
}

/// A process that waits.
pub struct Request {
    /// The process.
    pub pid: Term,
    /// What its message is to carry.
    pub handle: Handle,
    /// Keeps the socket, even if nothing else refers to it.
    pub socket: Arc<MagicValue>,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// No process waits, or it is this process's turn.
    First,
    /// It waits behind another.
    Queued,
    /// It does not wait, another does.
    New,
}

/// How a wish to wait no longer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// There is no such request.
    NotFound,
    /// It was the one whose turn it is; whether its message was sent already.
    First(bool),
    /// It stood behind another.
    Queued,
}

/// The line.
#[derive(Default)]
pub struct Line {
    /// Whose turn it is.
    pub first: Option<Request>,
    /// The first one's message is not sent yet.
    pub armed: bool,
    queue: VecDeque<Request>,
}

impl Line {
    /// Number of those who wait.
    pub fn length(&self) -> usize {
        usize::from(self.first.is_some()) + self.queue.len()
    }

    /// Where a process stands.
    pub fn place(&self, pid: Term) -> Place {
        match &self.first {
            Some(first) if first.pid != pid => {
                if self.queue.iter().any(|request| request.pid == pid) {
                    Place::Queued
                } else {
                    Place::New
                }
            }
            _ => Place::First,
        }
    }

    /// Puts a request behind the others.
    pub fn push(&mut self, request: Request) {
        self.queue.push_back(request);
    }

    /// The first one has its turn behind it; whether there is another.
    pub fn advance(&mut self) -> bool {
        self.armed = false;
        self.first = self.queue.pop_front();
        self.first.is_some()
    }

    /// Takes all out.
    pub fn take_all(&mut self) -> Vec<Request> {
        self.armed = false;
        self.first.take().into_iter().chain(self.queue.drain(..)).collect()
    }

    /// Takes a request of a process out of the queue, or tells that it is the first one.
    pub fn cancel(&mut self, pid: Term, handle: Handle) -> Cancelled {
        let is = |request: &Request| request.pid == pid && request.handle.id == handle.id;
        if self.first.as_ref().is_some_and(is) {
            return Cancelled::First(!self.armed);
        }
        let before = self.queue.len();
        self.queue.retain(|request| !is(request));
        if self.queue.len() < before { Cancelled::Queued } else { Cancelled::NotFound }
    }

    /// A process has ended; whether it was its turn.
    pub fn forget(&mut self, pid: Term) -> bool {
        self.queue.retain(|request| request.pid != pid);
        self.first.as_ref().is_some_and(|first| first.pid == pid)
    }
}
