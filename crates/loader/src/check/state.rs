//! What is known in front of an instruction, and what has been learnt at labels.

use std::fmt;

use super::catches::Catches;
use super::registers::Registers;
use super::values::{Value, Values};
use crate::decode::Extent;
use crate::instruction::{HeapNeed, Label};

/// What is known of the frame in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// There is none.
    Absent,
    /// It has this many slots.
    Slots(u16),
    /// It depends on the way taken; there are at least so many slots that no catch occupies.
    AtLeast {
        slots: u16,
        /// Every slot holds a term, whichever way was taken.
        whole: bool,
    },
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Absent => f.write_str("no frame"),
            Frame::Slots(slots) => write!(f, "a frame of {slots}"),
            Frame::AtLeast { slots, .. } => {
                write!(f, "a frame of at least {slots} that depends on the way taken")
            }
        }
    }
}

/// What is known beside the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) frame: Frame,
    /// Active `catch` and `try`, innermost first: an index into [`Catches`]. Empty if the frame depends on the way.
    pub(super) catches: u32,
    /// Heap words, floats and funs that were asked for and not used up.
    pub(super) room: HeapNeed,
    /// A bitstring has been started, and nothing has happened that could move it.
    pub(super) building: bool,
    /// Some register may hold a tuple that only registers refer to.
    pub(super) fresh: bool,
    /// A message is looked at: see [`super::messages`].
    pub(super) looking: bool,
}

impl Place {
    const ENTRY: Place = Place {
        frame: Frame::Absent,
        catches: Catches::NONE,
        room: HeapNeed { words: 0, floats: 0, funs: 0 },
        building: false,
        fresh: false,
        looking: false,
    };
}

/// What is known in front of an instruction.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) place: Place,
    pub(super) registers: Registers,
}

impl State {
    /// In front of a function.
    pub(super) fn entry(extent: Extent) -> State {
        State { place: Place::ENTRY, registers: Registers::new(extent) }
    }

    /// Whether every slot of the frame holds a term, as a collection wants.
    pub(super) fn whole(&self) -> bool {
        match self.place.frame {
            Frame::Absent => true,
            Frame::Slots(slots) => self.registers.holds_slots(slots),
            Frame::AtLeast { whole, .. } => whole,
        }
    }

    /// Number of slots that may be named.
    pub(super) fn slots(&self) -> u16 {
        match self.place.frame {
            Frame::Slots(slots) | Frame::AtLeast { slots, .. } => slots,
            Frame::Absent => 0,
        }
    }

    /// From here on, something else than registers may refer to a tuple that was new.
    pub(super) fn publish(&mut self) {
        if self.place.fresh {
            self.place.fresh = false;
            self.registers.publish();
        }
    }
}

/// The frames of two states as one: the fewer slots that no catch occupies.
pub(super) fn join_frames(catches: &Catches, one: (&Place, bool), other: (&Place, bool)) -> Frame {
    let free = |place: &Place| {
        let slots = match place.frame {
            Frame::Slots(slots) | Frame::AtLeast { slots, .. } => slots,
            Frame::Absent => 0,
        };
        slots.min(catches.occupied(place.catches).lowest().unwrap_or(u16::MAX))
    };
    Frame::AtLeast { slots: free(one.0).min(free(other.0)), whole: one.1 && other.1 }
}

/// What is known at the labels of one function.
#[derive(Default)]
pub(super) struct Known {
    /// By label: index into `places`, or [`Known::NONE`].
    indices: Vec<u32>,
    places: Vec<Place>,
    /// For each of `places`, whether it is to be walked from.
    pending: Vec<bool>,
    /// For each of `places`, its label.
    labels: Vec<Label>,
    /// For each of `places`, what all registers hold.
    values: Vec<Value>,
}

/// Most registers of which is kept what they hold, which bounds the memory that a hostile file can take.
const MOST_VALUES: usize = 1 << 24;

impl Known {
    const NONE: u32 = u32::MAX;

    pub(super) fn new(labels: usize) -> Known {
        Known { indices: vec![Known::NONE; labels], ..Known::default() }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        for label in self.labels.drain(..) {
            self.indices[label.0 as usize] = Known::NONE;
        }
        self.places.clear();
        self.pending.clear();
        self.values.clear();
    }

    /// Adds what is known on a way to the label. True if less is known there than before; `None` if it is too much to
    /// keep.
    pub(super) fn merge(
        &mut self,
        label: Label,
        state: &State,
        catches: &Catches,
        values: &mut Values,
    ) -> Option<bool> {
        let new = state.registers.values();
        let index = self.indices[label.0 as usize];
        if index == Known::NONE {
            if self.values.len() + new.len() > MOST_VALUES {
                return None;
            }
            self.indices[label.0 as usize] = self.places.len() as u32;
            self.places.push(state.place);
            self.pending.push(false);
            self.labels.push(label);
            self.values.extend_from_slice(new);
            return Some(true);
        }
        let index = index as usize;
        let known = &mut self.values[index * new.len()..(index + 1) * new.len()];
        let place = &mut self.places[index];
        let mut changed = false;
        if *place != state.place {
            let mut merged = *place;
            if (place.frame, place.catches) != (state.place.frame, state.place.catches) {
                let whole = match place.frame {
                    Frame::Absent => true,
                    Frame::Slots(slots) => state.registers.slots_in(known, slots),
                    Frame::AtLeast { whole, .. } => whole,
                };
                merged.frame = join_frames(catches, (place, whole), (&state.place, state.whole()));
                merged.catches = Catches::NONE;
            }
            let (room, other) = (place.room, state.place.room);
            merged.room = HeapNeed {
                words: room.words.min(other.words),
                floats: room.floats.min(other.floats),
                funs: room.funs.min(other.funs),
            };
            merged.building &= state.place.building;
            merged.fresh &= state.place.fresh;
            merged.looking &= state.place.looking;
            changed = merged != *place;
            *place = merged;
        }
        if known != new {
            for (known, new) in known.iter_mut().zip(new) {
                if known != new {
                    let joined = values.join(label.0, *known, *new);
                    changed |= joined != *known;
                    *known = joined;
                }
            }
        }
        Some(changed)
    }

    /// Copies what is known at the label to the state.
    pub(super) fn load(&self, label: Label, state: &mut State) {
        let index = self.indices[label.0 as usize] as usize;
        state.place = self.places[index];
        let count = state.registers.values().len();
        state.registers.load(&self.values[index * count..(index + 1) * count]);
    }

    /// Whether the label is to be walked from; it is not any more.
    pub(super) fn take_pending(&mut self, label: Label) -> bool {
        std::mem::take(&mut self.pending[self.indices[label.0 as usize] as usize])
    }

    /// The label is to be walked from. False if it was before.
    pub(super) fn set_pending(&mut self, label: Label) -> bool {
        !std::mem::replace(&mut self.pending[self.indices[label.0 as usize] as usize], true)
    }
}
