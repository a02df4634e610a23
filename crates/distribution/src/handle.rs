//! Handles of connections, which the process that makes connections gets.

use atoll_process::ReferenceId;
use atoll_process::remote::Connection;
use atoll_term::{Build, Term};

/// A connection as a program names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Its number.
    pub connection: Connection,
    /// What makes it a secret.
    pub reference: ReferenceId,
}

impl Handle {
    /// `{Number, Reference}`
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        let reference = self.reference.term(heap);
        heap.tuple(&[Term::small(self.connection.into()), reference])
    }

    /// What [`Handle::term`] gives.
    pub fn of(term: Term) -> Option<Handle> {
        let &[connection, reference] = term.tuple_elements()? else { return None };
        let connection = u32::try_from(connection.as_small()?).ok()?;
        Some(Handle { connection, reference: ReferenceId::of(reference)? })
    }
}
