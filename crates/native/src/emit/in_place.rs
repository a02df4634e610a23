//! Calls that are written in place: the called function's instructions follow its arguments, up to where it calls,
//! leaves or returns. The address to return to is on the stack all the same, so each place where native code leaves is
//! as in the function's own code; a return knows where it goes.
//!
//! A function is called so by itself, if it may return before it calls anything: half of the calls of a recursion that
//! branches end at once. Other functions of the module are, if they are short and call nothing.

use cranelift_codegen::ir::InstBuilder;

use super::Emitter;
use crate::compile::Source;
use crate::flow::{Registers, first};

/// An instruction of a call in place: the number of the call, the instruction's index.
pub type Place = (usize, usize);

/// Instructions of a region behind which no call is written in place.
const MOST_WRITTEN: usize = 60;

/// A call that is written in place, or the region itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct InPlace {
    /// Which function is called.
    pub source: usize,
    /// Where the call stands.
    from: Place,
    /// Y registers that held small integers at the call.
    small_y: Registers,
}

impl Emitter<'_, '_> {
    /// The next instruction to be written, of the innermost call first: then all is known of what it returns.
    pub(super) fn next_place(&mut self) -> Option<Place> {
        let (at, _) = self.pending.iter().enumerate().max_by_key(|(at, (call, _))| (*call, *at))?;
        Some(self.pending.remove(at))
    }

    /// Which function a call in place here is of, if this one may be called so. A call inside of another would gain
    /// little more.
    pub(super) fn in_place(&self, function: usize) -> Option<usize> {
        let source = self.sources.iter().position(|source| source.flow.function == function)?;
        let fits = self.sources[source].flow.is_short() && self.call == 0 && self.written < MOST_WRITTEN;
        fits.then_some(source)
    }

    /// Instructions of this function are written from now on.
    pub(super) fn write_of(&mut self, source: usize) {
        let Source { flow, piece } = &self.sources[source];
        (self.flow, self.piece) = (flow, piece);
    }

    /// Goes on with the first instruction of a function that is called in place, with so many arguments. The address to
    /// return to is on the stack.
    pub(super) fn begin_in_place(&mut self, source: usize, (call, arity): Place, small_y: Registers) {
        let place = (self.calls.len(), self.sources[source].flow.entry);
        self.calls.push(InPlace { source, from: (self.call, call), small_y });
        self.known.insert(place, (self.small_x & first(arity), 0));
        let start = self.block_at(place);
        self.b.ins().jump(start, &[]);
    }

    /// Goes on behind a call in place, whose result is in X0. The stack is as it was at the call.
    pub(super) fn end_in_place(&mut self) {
        let InPlace { from: (call, index), small_y, .. } = self.calls[self.call];
        let behind = (call, index + 1);
        let is_handler = self.sources[0].flow.live(index + 1) & !1 != 0;
        let block = if is_handler || self.written >= MOST_WRITTEN || index + 1 == self.head {
            self.departure(index + 1)
        } else {
            let known = self.known.entry(behind).or_insert((1, small_y));
            known.0 &= self.small_x;
            self.block_at(behind)
        };
        self.b.ins().jump(block, &[]);
    }
}
