//! The local processes and ports that something is linked to.

use atoll_platform::steady::QuickMap;
use atoll_term::{Term, Word};

/// Links that are looked through one by one. Most processes have one or two; supervisors of many need the places.
const FEW: usize = 16;

/// A set of pids and port identifiers of this node.
#[derive(Clone, Debug, Default)]
pub struct Links {
    all: Vec<Term>,
    /// Where each stands in `all`, if there have been more than a few.
    places: Option<Box<QuickMap<Word, u32>>>,
}

impl Links {
    /// Adds one; whether it is new.
    pub fn insert(&mut self, other: Term) -> bool {
        if self.contains(other) {
            return false;
        }
        if self.places.is_none() && self.all.len() == FEW {
            let places = self.all.iter().enumerate().map(|(place, known)| (known.word(), place as u32));
            self.places = Some(Box::new(places.collect()));
        }
        if let Some(places) = &mut self.places {
            places.insert(other.word(), self.all.len() as u32);
        }
        self.all.push(other);
        true
    }

    /// Takes one out; whether it was there.
    pub fn remove(&mut self, other: Term) -> bool {
        let Some(place) = self.place(other) else { return false };
        let Some(places) = &mut self.places else {
            self.all.remove(place);
            return true;
        };
        places.remove(&other.word());
        self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            places.insert(moved.word(), place as u32);
        }
        if self.all.is_empty() {
            self.places = None;
        }
        true
    }

    /// Whether this one is there.
    pub fn contains(&self, other: Term) -> bool {
        self.place(other).is_some()
    }

    fn place(&self, other: Term) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&other.word()).map(|place| *place as usize),
            None => self.all.iter().position(|known| *known == other),
        }
    }

    /// All of them, in no order that means anything.
    pub fn as_slice(&self) -> &[Term] {
        &self.all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_places_is_kept_from_the_first_link_on_that_is_one_too_many() {
        let mut links = Links::default();
        for number in 0..FEW {
            links.insert(Term::small(number as i64));
        }
        assert!(links.places.is_none());
        links.insert(Term::small(FEW as i64));
        assert_eq!(links.places.as_ref().map(|places| places.len()), Some(FEW + 1));
    }

    #[test]
    fn few_and_many_links_are_a_set() {
        let mut links = Links::default();
        let pid = |number: i64| Term::small(number);
        let mut seed = 1_u64;
        let mut expected = Vec::new();
        for step in 0..4000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = pid((seed >> 33) as i64 % if step % 1000 < 500 { 8 } else { 60 });
            let place = expected.iter().position(|known| *known == other);
            assert_eq!(links.contains(other), place.is_some());
            if seed >> 63 == 0 {
                assert_eq!(links.insert(other), place.is_none());
                if place.is_none() {
                    expected.push(other);
                }
            } else {
                assert_eq!(links.remove(other), place.is_some());
                place.map(|place| expected.swap_remove(place));
            }
            let sorted = |terms: &[Term]| {
                let mut words: Vec<Word> = terms.iter().map(|term| term.word()).collect();
                words.sort_unstable();
                words
            };
            assert_eq!(sorted(links.as_slice()), sorted(&expected));
            assert_eq!(links.is_empty(), expected.is_empty());
        }
    }
}
