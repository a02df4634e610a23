//! What stands at code addresses that are looked up again and again: those in the stack traces of exceptions.

use std::sync::atomic::Ordering;

use atoll_term::Word;

use crate::part::part;
use crate::ranges::{Frame, built_in_frame, find_code};
use crate::server::second_engine;

/// Places that are remembered. A power of two.
const REMEMBERED: usize = 64;

/// A place in some code.
#[derive(Clone, Debug)]
struct Place {
    /// An address within the instruction.
    address: *const Word,
    /// How often code had been added or removed when it was found.
    changes: u64,
    /// Where its code begins.
    code: *const Word,
    /// The code's serial number.
    serial: u64,
    frame: Frame,
}

/// The places that a scheduler has met last.
#[derive(Debug)]
pub struct Places {
    places: Box<[Option<Place>; REMEMBERED]>,
}

impl Default for Places {
    fn default() -> Places {
        Places { places: Box::new([const { None }; REMEMBERED]) }
    }
}

impl Places {
    /// The place of the instruction that contains or ends before an address; none in built-in functions.
    #[inline]
    fn at(&mut self, address: *const Word) -> Option<&Place> {
        let address = address.wrapping_sub(1);
        // What is found after this was read may belong to an earlier number only: it is found again then.
        let changes = part().changes.load(Ordering::Acquire);
        let slot = &mut self.places[slot_of(address)];
        let is_known = slot.as_ref().is_some_and(|place| place.address == address && place.changes == changes);
        if !is_known {
            *slot = Some(found(address, changes)?);
        }
        slot.as_ref()
    }

    /// As [`crate::frame_at`].
    pub fn frame_at(&mut self, address: *const Word, versions: u64) -> Option<Frame> {
        match self.at(address) {
            Some(place) => (place.serial < versions).then(|| place.frame.clone()),
            None => built_in_frame(address),
        }
    }

    /// As [`crate::is_same_place`].
    pub fn is_same(&mut self, one: *const Word, other: *const Word) -> bool {
        if one == other || second_engine().is_none() {
            return one == other;
        }
        let slots = [one, other].map(|address| slot_of(address.wrapping_sub(1)));
        if slots[0] == slots[1] {
            let Some(one) = self.at(one).cloned() else { return false };
            return self.at(other).is_some_and(|other| one.is_same(other));
        }
        if self.at(one).is_none() || self.at(other).is_none() {
            return false;
        }
        let [one, other] = slots.map(|slot| self.places[slot].as_ref());
        one.zip(other).is_some_and(|(one, other)| one.is_same(other))
    }
}

impl Place {
    /// Whether two engines have code for one place.
    fn is_same(&self, other: &Place) -> bool {
        self.code != other.code && self.serial == other.serial && self.frame == other.frame
    }
}

/// Where the place of an address within an instruction is remembered.
fn slot_of(address: *const Word) -> usize {
    (address as usize / size_of::<Word>()) % REMEMBERED
}

#[cold]
fn found(address: *const Word, changes: u64) -> Option<Place> {
    let code = find_code(address)?;
    let frame = code.frame_at(address.wrapping_add(1))?;
    Some(Place { address, changes, code: code.words.as_ptr(), serial: code.serial, frame })
}
