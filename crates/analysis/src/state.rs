//! The fates of all registers at one place of a function, and at its labels.

use std::ops::Range;

use atoll_loader::{Label, Register, Source};

use crate::fate::Fate;

/// The fates of the objects in X registers and in the slots of the frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    x: Vec<Fate>,
    y: Vec<Fate>,
    /// Of all registers behind those: `DEAD`, or `UNREACHED` where every path raises.
    rest: Fate,
    /// What handlers of the function do with each slot. Whatever is written to a slot may be found there by a handler.
    caught: Vec<Fate>,
    /// Slots that have been written to, one bit each; the last one stands for all from there on.
    written: u64,
    /// The function renumbers its slots where it is protected: what a handler does with one concerns all.
    trims: bool,
}

impl State {
    /// Begins with another function; `caught` is what [`State::end`] gave for it before.
    pub(crate) fn begin(&mut self, trims: bool, caught: Vec<Fate>) {
        self.caught = caught;
        self.written = 0;
        self.trims = trims;
    }

    /// What handlers of the function do with its slots.
    pub(crate) fn end(&mut self) -> Vec<Fate> {
        std::mem::take(&mut self.caught)
    }

    /// No path without an exception leads on.
    pub(crate) fn raise(&mut self) {
        self.forget(Fate::UNREACHED);
    }

    /// The function ends here.
    pub(crate) fn leave(&mut self) {
        self.forget(Fate::DEAD);
    }

    fn forget(&mut self, rest: Fate) {
        self.x.clear();
        self.y.clear();
        self.rest = rest;
    }

    /// No X register is read before it is written.
    pub(crate) fn drop_x(&mut self) {
        self.x.clear();
    }

    /// There is no frame in front of here.
    pub(crate) fn drop_frame(&mut self) {
        self.y.clear();
    }

    /// In front of here the frame has so many slots more at its low end.
    pub(crate) fn untrim(&mut self, slots: u16) {
        self.y.splice(0..0, std::iter::repeat_n(self.rest, slots.into()));
    }

    /// The fate of what an X register holds.
    pub(crate) fn x(&self, index: usize) -> Fate {
        self.x.get(index).copied().unwrap_or(self.rest)
    }

    #[inline]
    fn slot(list: &mut Vec<Fate>, index: usize, rest: Fate) -> &mut Fate {
        if index >= list.len() {
            list.resize(index + 1, rest);
        }
        &mut list[index]
    }

    #[inline]
    fn take(list: &mut [Fate], index: usize, rest: Fate) -> Fate {
        list.get_mut(index).map_or(rest, |fate| std::mem::replace(fate, rest))
    }

    #[inline]
    fn register(&mut self, register: Register) -> &mut Fate {
        match register {
            Register::X(index) => Self::slot(&mut self.x, index.into(), self.rest),
            Register::Y(index) => Self::slot(&mut self.y, index.into(), self.rest),
        }
    }

    /// What becomes of a value that is written here; in front of here the register holds something else.
    #[inline]
    pub(crate) fn write(&mut self, register: Register) -> Fate {
        match register {
            Register::X(index) => Self::take(&mut self.x, index.into(), self.rest),
            Register::Y(index) => {
                let fate = Self::take(&mut self.y, index.into(), self.rest);
                let place = if self.trims { 0 } else { usize::from(index) };
                self.written |= slot_bit(place);
                self.caught.get(place).map_or(fate, |caught| fate.and(*caught))
            }
        }
    }

    /// What an X register holds meets this fate too.
    #[inline]
    pub(crate) fn read_x(&mut self, index: usize, fate: Fate) {
        if fate == Fate::DEAD {
            return;
        }
        let slot = Self::slot(&mut self.x, index, self.rest);
        *slot = slot.and(fate);
    }

    /// What is read here meets this fate too.
    #[inline]
    pub(crate) fn read(&mut self, source: Source, fate: Fate) {
        if fate == Fate::DEAD {
            return;
        }
        let register = match source {
            Source::X(index) => Register::X(index),
            Source::Y(index) => Register::Y(index),
            _ => return,
        };
        let slot = self.register(register);
        *slot = slot.and(fate);
    }

    /// The fate that an element of any object at hand may meet.
    pub(crate) fn of_any_element(&self) -> Fate {
        let all = self.x.iter().chain(&self.y).chain(&self.caught);
        all.fold(Fate::DEAD, |sum, fate| sum.or(fate.of_element().may()))
    }
}

fn slot_bit(slot: usize) -> u64 {
    1 << slot.min(63)
}

/// A state kept for a label.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    start: usize,
    x: u32,
    y: u32,
    rest: Fate,
    /// The pass that has kept it.
    pass: u32,
    /// The last pass that used it before it had kept it.
    wanted: u32,
    /// An exception may lead here.
    handles: bool,
}

impl Kept {
    fn range(&self) -> Range<usize> {
        self.start..self.start + (self.x + self.y) as usize
    }
}

/// The states at a module's labels, for one function at a time.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    kept: Vec<Kept>,
    fates: Vec<Fate>,
    /// The first pass over the present function, and the present one.
    first: u32,
    pass: u32,
    changed: bool,
}

impl Labels {
    pub(crate) fn new(count: usize) -> Labels {
        Labels { kept: vec![Kept::default(); count], ..Labels::default() }
    }

    /// An exception may lead to this label.
    pub(crate) fn handle(&mut self, label: Label) {
        self.kept[label.0 as usize].handles = true;
    }

    /// Begins with another function.
    pub(crate) fn begin(&mut self) {
        self.fates.clear();
        self.first = self.pass + 1;
    }

    /// Begins the next pass over the function.
    pub(crate) fn pass(&mut self) {
        self.pass += 1;
        self.changed = false;
    }

    /// Whether another pass would find more.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Keeps the state at a label.
    pub(crate) fn keep(&mut self, label: Label, state: &mut State) {
        let kept = &mut self.kept[label.0 as usize];
        if kept.wanted == self.pass {
            // What was used before in this pass was this label's state of the pass before, or none.
            let is_same = kept.pass >= self.first && {
                let (x, y) = self.fates[kept.range()].split_at(kept.x as usize);
                x == state.x && y == state.y && kept.rest == state.rest
            };
            self.changed |= !is_same;
        }
        kept.start = self.fates.len();
        (kept.x, kept.y, kept.rest) = (state.x.len() as u32, state.y.len() as u32, state.rest);
        kept.pass = self.pass;
        self.fates.extend_from_slice(&state.x);
        self.fates.extend_from_slice(&state.y);
        if kept.handles {
            self.note_handler(state);
        }
    }

    fn note_handler(&mut self, state: &mut State) {
        for index in 0..state.y.len() {
            let fate = state.y[index].may();
            let place = if state.trims { 0 } else { index };
            let caught = State::slot(&mut state.caught, place, Fate::DEAD);
            let sum = caught.or(fate);
            // What was written to the slot behind here has not met it yet.
            self.changed |= sum != *caught && state.written & slot_bit(place) != 0;
            *caught = sum;
        }
    }

    fn find(&mut self, label: Label) -> Option<Kept> {
        let kept = &mut self.kept[label.0 as usize];
        if kept.pass != self.pass {
            kept.wanted = self.pass;
        }
        (kept.pass >= self.first).then_some(*kept)
    }

    /// Execution goes on at the label.
    pub(crate) fn jump(&mut self, label: Label, state: &mut State) {
        match self.find(label) {
            None => state.raise(),
            Some(kept) => {
                let (x, y) = self.fates[kept.range()].split_at(kept.x as usize);
                state.x.clear();
                state.x.extend_from_slice(x);
                state.y.clear();
                state.y.extend_from_slice(y);
                state.rest = kept.rest;
            }
        }
    }

    /// Execution may go on at the label as well.
    pub(crate) fn branch(&mut self, label: Label, state: &mut State) {
        let Some(kept) = self.find(label) else { return };
        let (x, y) = self.fates[kept.range()].split_at(kept.x as usize);
        merge(&mut state.x, state.rest, x, kept.rest);
        merge(&mut state.y, state.rest, y, kept.rest);
        state.rest = state.rest.or(kept.rest);
    }

    /// An exception may go on at the label: it finds the slots as they are here.
    pub(crate) fn handler(&mut self, label: Label, state: &mut State) {
        let Some(kept) = self.find(label) else { return };
        for (index, fate) in self.fates[kept.range()][kept.x as usize..].iter().enumerate() {
            let slot = State::slot(&mut state.y, index, state.rest);
            *slot = slot.and(fate.may());
        }
    }
}

fn merge(here: &mut Vec<Fate>, rest: Fate, other: &[Fate], other_rest: Fate) {
    if here.len() < other.len() {
        here.resize(other.len(), rest);
    }
    let (both, behind) = here.split_at_mut(other.len());
    for (fate, other) in both.iter_mut().zip(other) {
        *fate = fate.or(*other);
    }
    for fate in behind {
        *fate = fate.or(other_rest);
    }
}
