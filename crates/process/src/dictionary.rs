//! The process dictionary.

use atoll_term::Term;

/// Entries up to which a search from the start is faster than hashing.
const LINEAR: usize = 8;

/// Keys and values of one process, in order of insertion. The terms are roots.
#[derive(Debug, Default)]
pub struct Dictionary {
    entries: Vec<(Term, Term)>,
    index: hashbrown::HashTable<u32>,
}

fn same(a: Term, b: Term) -> bool {
    a == b || atoll_term::exactly_equal(a, b)
}

impl Dictionary {
    fn hash(key: Term) -> u64 {
        u64::from(atoll_term::hash::phash2(key)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn position(&self, key: Term) -> Option<usize> {
        if self.entries.len() <= LINEAR {
            return self.entries.iter().position(|(own, _)| same(*own, key));
        }
        let found = self.index.find(Self::hash(key), |position| same(self.entries[*position as usize].0, key));
        found.map(|position| *position as usize)
    }

    fn rebuild(&mut self) {
        self.index.clear();
        if self.entries.len() > LINEAR {
            for (position, (key, _)) in self.entries.iter().enumerate() {
                let entries = &self.entries;
                self.index
                    .insert_unique(Self::hash(*key), position as u32, |other| Self::hash(entries[*other as usize].0));
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: Term) -> Option<Term> {
        self.position(key).map(|position| self.entries[position].1)
    }

    /// Sets a value; returns the old one.
    pub fn put(&mut self, key: Term, value: Term) -> Option<Term> {
        if let Some(position) = self.position(key) {
            return Some(std::mem::replace(&mut self.entries[position].1, value));
        }
        self.entries.push((key, value));
        if self.entries.len() == LINEAR + 1 {
            self.rebuild();
        } else if self.entries.len() > LINEAR {
            let entries = &self.entries;
            self.index.insert_unique(Self::hash(key), entries.len() as u32 - 1, |other| {
                Self::hash(entries[*other as usize].0)
            });
        }
        None
    }

    /// Removes a key; returns its value.
    pub fn erase(&mut self, key: Term) -> Option<Term> {
        let position = self.position(key)?;
        let last = self.entries.len() - 1;
        if self.entries.len() > LINEAR {
            if let Ok(entry) = self.index.find_entry(Self::hash(key), |own| *own as usize == position) {
                entry.remove();
            }
            if position != last {
                let moved = Self::hash(self.entries[last].0);
                if let Some(own) = self.index.find_mut(moved, |own| *own as usize == last) {
                    *own = position as u32;
                }
            }
        }
        let (_, value) = self.entries.swap_remove(position);
        if self.entries.len() == LINEAR {
            self.index.clear();
        }
        Some(value)
    }

    /// Removes everything; returns what there was.
    pub fn erase_all(&mut self) -> Vec<(Term, Term)> {
        self.index.clear();
        std::mem::take(&mut self.entries)
    }

    /// All keys and values.
    pub fn entries(&self) -> &[(Term, Term)] {
        &self.entries
    }

    /// The terms as roots.
    pub fn root(&mut self) -> (*mut Term, usize) {
        (self.entries.as_mut_ptr().cast(), self.entries.len() * 2)
    }
}

const _: () = assert!(size_of::<(Term, Term)>() == 2 * size_of::<Term>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_entries_are_found_after_others_have_gone() {
        let mut dictionary = Dictionary::default();
        let mut expected = std::collections::BTreeMap::new();
        let mut seed = 1_u64;
        for step in 0..4_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (seed >> 33) as i64 % if step % 1_000 < 500 { LINEAR as i64 + 2 } else { 60 };
            let (term, value) = (Term::small(key), Term::small(step));
            if seed >> 63 == 0 {
                assert_eq!(dictionary.put(term, value), expected.insert(key, value));
            } else {
                assert_eq!(dictionary.erase(term), expected.remove(&key));
            }
            assert_eq!(dictionary.entries().len(), expected.len());
            let found = |key: i64| dictionary.get(Term::small(key));
            assert!((0..60).all(|key| found(key) == expected.get(&key).copied()), "step {step}");
        }
        let all = dictionary.entries().len();
        assert_eq!(dictionary.erase_all().len(), all);
        assert_eq!(dictionary.get(Term::small(1)), None);
    }
}
