//! What a process asks for: room, which it gets at once, or a collection of everything, for which the world stops.

use std::sync::atomic::Ordering;

use atoll_heap::{Asker, Collection, HeapFull, Mutator, RootSet, world};
use atoll_term::Term;

use super::space::LINE_WORDS;
use super::state::State;
use super::{Unified, limits};
use crate::common::stack;

/// Under stress, one collection in so many stops the world, and after it no cycle begins before some nurseries have
/// been collected; the others work for the cycle that is on.
const STRESSED_STOPS: usize = 16;
const STRESSED_NURSERIES: usize = 4;
/// Bytes outside of the heap, beside four times those at which a cycle begins, for which the world is stopped.
const TOO_MUCH_OFF_HEAP: usize = 256 << 20;

impl Unified {
    pub(super) fn collect_for(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        self.flush_counters(mutator);
        if limits::is_due(mutator, &request) {
            limits::check(&self.space, mutator, &request, live, roots)?;
        }
        let has_extended = std::mem::take(&mut mutator.fragment_words) > 0;
        self.reserve_stack(mutator, request.stack_words);
        if request.hibernate {
            stack::fit(mutator, request.stack_words);
            return Ok(());
        }
        if request.major || self.must_stop() || self.space.is_short(request.heap_words.div_ceil(LINE_WORDS)) {
            self.stop_and_collect(mutator, request, live, roots);
        }
        self.make_room(mutator, request.heap_words, has_extended, live, roots);
        if mutator.off_heap_bytes > 0 {
            self.off_heap_bytes.fetch_add(std::mem::take(&mut mutator.off_heap_bytes), Ordering::Relaxed);
        }
        self.pay();
        Ok(())
    }

    fn reserve_stack(&self, mutator: &mut Mutator, words: usize) {
        if let Some(words) = stack::reserve(mutator, words) {
            self.first_stacks.grew(State::of(mutator).beginning, words);
        }
    }

    /// Under stress: whether a cycle is to be on.
    pub(super) fn wants_cycle_under_stress(&self) -> bool {
        self.base.settings.is_stressed() && self.asked.load(Ordering::Relaxed) % STRESSED_STOPS > STRESSED_NURSERIES
    }

    fn must_stop(&self) -> bool {
        let is_stressed = self.base.settings.is_stressed();
        let budget = self.off_heap_budget.load(Ordering::Relaxed);
        is_stressed && self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(STRESSED_STOPS)
            || self.off_heap_bytes.load(Ordering::Relaxed) > 4 * budget + TOO_MUCH_OFF_HEAP
    }

    fn stop_and_collect(&self, mutator: &mut Mutator, request: Collection, live: &mut [Term], roots: &mut dyn RootSet) {
        // The live registers are found on the stack, by another thread's collection too, which may go first.
        self.reserve_stack(mutator, live.len() + request.stack_words);
        mutator.stack = mutator.stack.wrapping_sub(live.len());
        // SAFETY: the stack has room for the live registers.
        unsafe { std::ptr::copy_nonoverlapping(live.as_ptr().cast(), mutator.stack, live.len()) };
        world().stopped(Asker { mutator, roots }, &mut |stopped| self.collect_stopped(stopped));
        mutator.stack = mutator.stack.wrapping_add(live.len());
        stack::trim(mutator, request.stack_words);
    }
}
