//! The local processes and ports that something is linked to.
//!
//! Both sides know of a link, and each learns by signals what the other one does with it, so signals of both may be
//! under way at once. A side that ends a link numbers the end, and takes no link with the other side until that has
//! said that it knows: a link that the other one made before it knew would otherwise be there on one side alone. The
//! distribution protocol does the same between nodes.

use std::num::NonZeroU64;

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
    ends: Option<Box<Ends>>,
}

/// Links that were ended here.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// Those of which the other side may not know yet, with their numbers.
    open: Vec<(Term, NonZeroU64)>,
    /// Number of the last one.
    last: u64,
}

impl Ends {
    fn forget(&mut self, other: Term) {
        self.open.retain(|(ended, _)| *ended != other);
    }
}

impl Links {
    /// This side links itself: whether the other one is to learn of it.
    pub fn insert(&mut self, other: Term) -> bool {
        if let Some(ends) = &mut self.ends {
            ends.forget(other);
        }
        self.add(other)
    }

    /// The other side has linked itself: whether that is new. Where this side has ended a link, the other one does not
    /// know yet, and will lose it.
    pub fn insert_from_there(&mut self, other: Term) -> bool {
        let is_ended = self.ends.as_ref().is_some_and(|ends| ends.open.iter().any(|(ended, _)| *ended == other));
        !is_ended && self.add(other)
    }

    /// This side ends a link: the number of the end, which the other one gives back in [`Links::end_is_known`]. `None`:
    /// there is none.
    pub fn end(&mut self, other: Term) -> Option<NonZeroU64> {
        if !self.remove(other) {
            return None;
        }
        let ends = self.ends.get_or_insert_default();
        ends.last += 1;
        let number = NonZeroU64::new(ends.last)?;
        ends.open.push((other, number));
        Some(number)
    }

    /// The other side knows of the end with this number.
    pub fn end_is_known(&mut self, other: Term, number: NonZeroU64) {
        if let Some(ends) = &mut self.ends {
            ends.open.retain(|end| *end != (other, number));
        }
    }

    fn add(&mut self, other: Term) -> bool {
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

    /// Takes one out that the other side has ended; whether it was there.
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
                assert_eq!(links.insert_from_there(other), place.is_none());
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

    /// What one side tells the other.
    enum Told {
        Linked,
        Ended(NonZeroU64),
        Known(NonZeroU64),
    }

    /// Both sides do what `choices` say, in whatever order the signals of each arrive; in the end both say the same.
    fn both_sides_agree(choices: &[u8]) {
        let names = [Term::small(0), Term::small(1)];
        let mut sides = [Links::default(), Links::default()];
        let mut to: [std::collections::VecDeque<Told>; 2] = Default::default();
        let arrives = |side: usize, sides: &mut [Links; 2], to: &mut [std::collections::VecDeque<Told>; 2]| {
            let other = names[1 - side];
            match to[side].pop_front() {
                Some(Told::Linked) => drop(sides[side].insert_from_there(other)),
                Some(Told::Ended(number)) => {
                    sides[side].remove(other);
                    to[1 - side].push_back(Told::Known(number));
                }
                Some(Told::Known(number)) => sides[side].end_is_known(other, number),
                None => {}
            }
        };
        for choice in choices {
            let side = usize::from(choice & 1);
            let other = names[1 - side];
            match choice >> 1 {
                0 if sides[side].insert(other) => to[1 - side].push_back(Told::Linked),
                1 => to[1 - side].extend(sides[side].end(other).map(Told::Ended)),
                _ => arrives(side, &mut sides, &mut to),
            }
        }
        while to.iter().any(|signals| !signals.is_empty()) {
            arrives(0, &mut sides, &mut to);
            arrives(1, &mut sides, &mut to);
        }
        assert_eq!(sides[0].contains(names[1]), sides[1].contains(names[0]), "after {choices:?}");
        let open = |side: &Links| side.ends.as_ref().is_some_and(|ends| !ends.open.is_empty());
        assert!(!sides.iter().any(open), "after {choices:?}");
    }

    #[test]
    fn a_link_is_there_on_both_sides_or_on_none_however_their_signals_cross() {
        let steps = 7_u32;
        for all in 0..6_usize.pow(steps) {
            let choices: Vec<u8> = (0..steps).map(|step| (all / 6_usize.pow(step) % 6) as u8).collect();
            both_sides_agree(&choices);
        }
    }
}
