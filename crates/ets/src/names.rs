//! Named tables by their names. A name leads to a table as long as that table is listed under it; both change together,
//! while the table is held.

use atoll_platform::steady::QuickMap;
use std::sync::Arc;

use atoll_platform::sync::RwLock;
use atoll_term::Term;

use crate::standing::{Held, Standing};

/// Parts of the table of names, each with a lock of its own.
#[cfg(not(loom))]
const SHARDS: usize = 64;
#[cfg(loom)]
const SHARDS: usize = 2;

type Shard<T> = RwLock<QuickMap<Term, Arc<T>>>;

/// All names. `T` is [`crate::Table`], in models only what these functions need of it.
pub struct Names<T> {
    shards: Vec<Shard<T>>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }
}

fn index(name: Term) -> usize {
    name.atom_index() as usize % SHARDS
}

/// Whether tables of these names have a lock in common.
pub fn names_collide(one: Term, other: Term) -> bool {
    index(one) == index(other)
}

impl<T: AsRef<Standing>> Names<T> {
    fn shard(&self, name: Term) -> &Shard<T> {
        &self.shards[index(name)]
    }

    /// The table of this name.
    pub(crate) fn get(&self, name: Term) -> Option<Arc<T>> {
        self.shard(name).read().get(&name).cloned()
    }

    /// Calls `use_it` with the table of this name, which keeps the name meanwhile.
    pub(crate) fn hold<R>(&self, name: Term, use_it: impl FnOnce(&Arc<T>, Held<'_>) -> R) -> Option<R> {
        loop {
            let table = self.get(name)?;
            let held = (*table).as_ref().hold();
            // Another thread may have renamed or deleted it before it was held.
            if self.get(name).is_some_and(|now| Arc::ptr_eq(&now, &table)) {
                return Some(use_it(&table, held));
            }
        }
    }

    /// Lists a new table under a name. `publish` makes it known in all other ways before anybody finds it by the name.
    /// Returns false, and calls nothing, if the name is in use.
    pub(crate) fn add(&self, name: Term, table: &Arc<T>, publish: impl FnOnce()) -> bool {
        let mut shard = self.shard(name).write();
        if shard.contains_key(&name) {
            return false;
        }
        publish();
        shard.insert(name, Arc::clone(table));
        true
    }

    /// Lists a table under another name. Returns false, and changes nothing, if that is in use.
    pub(crate) fn rename(&self, table: &Arc<T>, held: &mut Held<'_>, to: Term) -> bool {
        let from = held.name();
        if names_collide(from, to) {
            let mut shard = self.shard(from).write();
            if shard.contains_key(&to) {
                return false;
            }
            shard.remove(&from);
            shard.insert(to, Arc::clone(table));
            held.set_name(to);
            return true;
        }
        // Both at once: nobody sees both names, or neither. Always in the same order, as another table may take the
        // opposite way.
        let (low, high) = if index(from) < index(to) { (from, to) } else { (to, from) };
        let (mut low_names, mut high_names) = (self.shard(low).write(), self.shard(high).write());
        let (old, new) =
            if low == from { (&mut low_names, &mut high_names) } else { (&mut high_names, &mut low_names) };
        if new.contains_key(&to) {
            return false;
        }
        old.remove(&from);
        new.insert(to, Arc::clone(table));
        held.set_name(to);
        true
    }

    /// Takes a table out of the list; `end` marks it as deleted before its name is free.
    pub(crate) fn remove(&self, held: &Held<'_>, end: impl FnOnce()) {
        let mut shard = self.shard(held.name()).write();
        end();
        let removed = shard.remove(&held.name());
        drop(shard);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entry(Standing);

    impl AsRef<Standing> for Entry {
        fn as_ref(&self) -> &Standing {
            &self.0
        }
    }

    fn entry(name: Term) -> Arc<Entry> {
        Arc::new(Entry(Standing::new(name, Term::pid(1), None)))
    }

    /// Names of which the first and the third share a lock under loom, the second has another.
    const NAMES: [Term; 4] = [Term::atom(100), Term::atom(101), Term::atom(102), Term::atom(103)];

    fn rename(names: &Names<Entry>, from: Term, to: Term) -> bool {
        names.hold(from, |table, mut held| names.rename(table, &mut held, to)).unwrap_or(false)
    }

    fn delete(names: &Names<Entry>, name: Term) -> bool {
        names.hold(name, |_, held| names.remove(&held, || ())).is_some()
    }

    /// The names in use; each leads to a table that has it.
    fn in_use(names: &Names<Entry>) -> Vec<Term> {
        let used: Vec<Term> = NAMES.into_iter().filter(|name| names.get(*name).is_some()).collect();
        for name in &used {
            assert_eq!(names.get(*name).map(|table| table.0.name()), Some(*name));
        }
        used
    }

    fn check_one_after_the_other() {
        let [a, b, c, _] = NAMES;
        let names = Names::default();
        assert!(names.add(a, &entry(a), || ()) && names.add(b, &entry(b), || ()));
        assert!(!names.add(a, &entry(a), || panic!("published under a name in use")));
        assert!(!rename(&names, a, a) && !rename(&names, a, b) && !rename(&names, c, a));
        assert!(rename(&names, a, c));
        assert_eq!(in_use(&names), [b, c]);
        assert!(delete(&names, c) && !delete(&names, c) && !delete(&names, a));
        assert!(rename(&names, b, a));
        assert_eq!(in_use(&names), [a]);
    }

    #[cfg(not(loom))]
    #[test]
    fn names_are_added_changed_and_removed() {
        check_one_after_the_other();
    }

    #[cfg(loom)]
    mod loom_model {
        use super::*;

        /// Two threads on the tables `listed`; then `check` gets what each of them did, and the names that are in use.
        fn model(
            listed: &'static [Term],
            one: fn(&Names<Entry>) -> bool,
            other: fn(&Names<Entry>) -> bool,
            check: fn([bool; 2], Vec<Term>),
        ) {
            loom::model(move || {
                let names = Arc::new(Names::default());
                for name in listed {
                    assert!(names.add(*name, &entry(*name), || ()));
                }
                let theirs = Arc::clone(&names);
                let thread = loom::thread::spawn(move || other(&theirs));
                let first = one(&names);
                check([first, thread.join().unwrap()], in_use(&names));
            });
        }

        #[test]
        fn model_one_after_the_other() {
            loom::model(check_one_after_the_other);
        }

        #[test]
        fn model_of_two_renames_one_succeeds() {
            fn check(done: [bool; 2], used: Vec<Term>) {
                let [_, b, c, _] = NAMES;
                assert_eq!(used, if done[0] { [b] } else { [c] });
                assert!(done[0] != done[1]);
            }
            let [a, b, c, _] = NAMES;
            const LISTED: &[Term] = &[NAMES[0]];
            assert!(LISTED == [a] && !names_collide(a, b) && names_collide(a, c));
            model(LISTED, |names| rename(names, NAMES[0], NAMES[1]), |names| rename(names, NAMES[0], NAMES[2]), check);
        }

        #[test]
        fn model_renames_to_each_others_names_fail_without_a_deadlock() {
            model(
                &[NAMES[0], NAMES[1]],
                |names| rename(names, NAMES[0], NAMES[1]),
                |names| rename(names, NAMES[1], NAMES[0]),
                |done, used| {
                    assert_eq!(done, [false, false]);
                    assert_eq!(used, [NAMES[0], NAMES[1]]);
                },
            );
        }

        #[test]
        fn model_a_renamed_table_is_not_deleted_by_its_old_name() {
            model(
                &[NAMES[0]],
                |names| rename(names, NAMES[0], NAMES[1]),
                |names| delete(names, NAMES[0]),
                |done, used| match done {
                    [true, false] => assert_eq!(used, [NAMES[1]]),
                    [false, true] => assert!(used.is_empty()),
                    _ => panic!("{done:?}"),
                },
            );
        }

        #[test]
        fn model_a_name_is_given_again_when_its_table_has_another() {
            model(
                &[NAMES[0]],
                |names| rename(names, NAMES[0], NAMES[1]),
                |names| names.add(NAMES[0], &entry(NAMES[0]), || ()),
                |done, used| match done {
                    [true, true] => assert_eq!(used, [NAMES[0], NAMES[1]]),
                    [true, false] => assert_eq!(used, [NAMES[1]]),
                    _ => panic!("{done:?}"),
                },
            );
        }

        #[test]
        fn model_one_of_a_new_and_a_renamed_table_gets_the_name() {
            model(
                &[NAMES[0]],
                |names| rename(names, NAMES[0], NAMES[1]),
                |names| names.add(NAMES[1], &entry(NAMES[1]), || ()),
                |done, used| {
                    assert!(done[0] != done[1]);
                    assert_eq!(used, if done[0] { vec![NAMES[1]] } else { vec![NAMES[0], NAMES[1]] });
                },
            );
        }

        /// What a reader sees of a rename: the table under one of the names, in the order in which they were its names.
        #[test]
        fn model_a_reader_sees_one_name() {
            fn look(names: &Names<Entry>) -> bool {
                let new = names.get(NAMES[1]).is_some();
                let old = names.get(NAMES[0]).is_some();
                assert!(!(new && old), "both names at once");
                let old = names.get(NAMES[0]).is_some();
                let new = names.get(NAMES[1]).is_some();
                assert!(old || new, "neither name");
                true
            }
            model(
                &[NAMES[0]],
                |names| rename(names, NAMES[0], NAMES[1]),
                look,
                |done, used| {
                    assert_eq!((done, used), ([true, true], vec![NAMES[1]]));
                },
            );
        }
    }
}
