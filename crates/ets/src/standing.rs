//! A table's name, owner and heir. Every thread reads them; a thread that changes one of them holds the table, so that
//! a change takes place as a whole, and on what was looked at before.

use std::sync::atomic::Ordering;

use atoll_heap::Stored;
use atoll_platform::sync::{Mutex, MutexGuard};
use atoll_term::{AtomicImmediate, Immediate, Term};

/// The process that gets a table when its owner ends, and with which data.
pub struct Heir {
    pub(crate) pid: Term,
    pub(crate) data: Stored,
}

/// Name, owner and heir.
pub struct Standing {
    name: AtomicImmediate,
    owner: AtomicImmediate,
    heir: Mutex<Option<Heir>>,
}

impl Standing {
    pub(crate) fn new(name: Term, owner: Term, heir: Option<Heir>) -> Standing {
        Standing {
            name: AtomicImmediate::new(Immediate::or_none(name)),
            owner: AtomicImmediate::new(Immediate::or_none(owner)),
            heir: Mutex::new(heir),
        }
    }

    /// Waits until no other thread changes anything.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held { heir: self.heir.lock(), standing: self }
    }

    pub(crate) fn name(&self) -> Term {
        self.name.load(Ordering::Acquire).term()
    }

    pub(crate) fn owner(&self) -> Term {
        self.owner.load(Ordering::Acquire).term()
    }
}

/// The name, owner and heir of a table, which no other thread changes meanwhile. Locks of the registry are taken after
/// this one, and a thread holds one table at a time.
pub struct Held<'s> {
    standing: &'s Standing,
    heir: MutexGuard<'s, Option<Heir>>,
}

impl Held<'_> {
    pub(crate) fn name(&self) -> Term {
        self.standing.name()
    }

    pub(crate) fn set_name(&mut self, name: Term) {
        self.standing.name.store(Immediate::or_none(name), Ordering::Release);
    }

    pub(crate) fn owner(&self) -> Term {
        self.standing.owner()
    }

    pub(crate) fn set_owner(&mut self, owner: Term) {
        self.standing.owner.store(Immediate::or_none(owner), Ordering::Release);
    }

    pub(crate) fn heir(&self) -> Option<&Heir> {
        self.heir.as_ref()
    }

    /// Returns the old one, to be freed when the table is not held any more.
    pub(crate) fn set_heir(&mut self, heir: Option<Heir>) -> Option<Heir> {
        std::mem::replace(&mut *self.heir, heir)
    }
}
