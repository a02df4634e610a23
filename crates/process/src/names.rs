//! Registered names of processes and ports.

use atoll_platform::steady::QuickMap;
use atoll_term::Term;
use parking_lot::RwLock;

/// The names of one machine. A holder has one name at most.
#[derive(Debug, Default)]
pub struct Names(RwLock<Maps>);

#[derive(Debug, Default)]
struct Maps {
    holders: QuickMap<Term, Term>,
    names: QuickMap<Term, Term>,
}

/// Why a process could not be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRegistered {
    /// The name is in use, or the process has one already.
    Taken,
    /// There is no such process.
    NoProcess,
}

impl Names {
    /// Who has this name.
    pub fn holder(&self, name: Term) -> Option<Term> {
        self.0.read().holders.get(&name).copied()
    }

    /// The name of a process or port.
    pub fn name_of(&self, holder: Term) -> Option<Term> {
        self.0.read().names.get(&holder).copied()
    }

    /// Gives a name, if `is_there` says so while no other can be given or taken.
    pub(crate) fn give(&self, name: Term, holder: Term, is_there: impl FnOnce() -> bool) -> Result<(), NotRegistered> {
        let Maps { holders, names } = &mut *self.0.write();
        if holders.contains_key(&name) || names.contains_key(&holder) {
            return Err(NotRegistered::Taken);
        }
        if !is_there() {
            return Err(NotRegistered::NoProcess);
        }
        holders.insert(name, holder);
        names.insert(holder, name);
        Ok(())
    }

    /// Takes a name away; returns who had it.
    pub fn take(&self, name: Term) -> Option<Term> {
        let Maps { holders, names } = &mut *self.0.write();
        let holder = holders.remove(&name)?;
        names.remove(&holder);
        Some(holder)
    }

    /// Takes away the name of one that has ended, if it has one.
    pub fn forget(&self, holder: Term) {
        let Maps { holders, names } = &mut *self.0.write();
        if let Some(name) = names.remove(&holder) {
            holders.remove(&name);
        }
    }

    /// All names.
    pub fn all(&self) -> Vec<Term> {
        self.0.read().holders.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_one_name_and_a_name_one_holder() {
        let names = Names::default();
        let [one, two, first, second] = [1, 2, 3, 4].map(Term::small);
        assert_eq!(names.give(one, first, || false), Err(NotRegistered::NoProcess));
        assert_eq!(names.give(one, first, || true), Ok(()));
        assert_eq!(names.give(one, second, || true), Err(NotRegistered::Taken));
        assert_eq!(names.give(two, first, || true), Err(NotRegistered::Taken));
        assert_eq!(names.give(two, second, || true), Ok(()));
        assert_eq!((names.holder(one), names.name_of(second)), (Some(first), Some(two)));
        assert_eq!(names.take(one), Some(first));
        assert_eq!((names.take(one), names.name_of(first)), (None, None));
        names.forget(second);
        names.forget(second);
        assert_eq!((names.holder(two), names.all()), (None, Vec::new()));
        assert_eq!(names.give(two, first, || true), Ok(()));
    }
}
