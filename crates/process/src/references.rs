//! Visits all words that may refer to code, or to terms that no collector moves. Code and literals are freed when no
//! such word refers to them.

use atoll_heap::{Fragment, KeptPlace, RootSet, StoppedWorld, architecture, stack_markers};
use atoll_term::Word;

use crate::held::Stopped;
use crate::run_state::state;
use crate::system::System;

/// A stopped world in which every process is between two time slices: all it has is on its stack, on its heap, in its
/// messages and in its saved registers.
pub struct AtRest(Stopped<'static>);

/// Calls `look` while all processes are at rest. `None`: some process is in the middle of a slice, because it wants to
/// stop the world itself; then the world goes on at once. The thread that calls this runs no process.
pub fn at_rest<R>(look: impl FnOnce(&mut AtRest) -> R) -> Option<R> {
    let stopped = Stopped::after_others(None);
    let mut is_at_rest = true;
    let table = &System::get().table;
    table.each(|process| is_at_rest &= !matches!(process.state(), state::RUNNING | state::RUNNING_PENDING));
    is_at_rest.then(|| look(&mut AtRest(stopped)))
}

/// # Safety
/// The words are readable, and nobody writes them meanwhile.
unsafe fn run<'w>(start: *const Word, words: usize) -> &'w [Word] {
    match words {
        0 => &[],
        // SAFETY: the caller's obligation.
        words => unsafe { std::slice::from_raw_parts(start, words) },
    }
}

fn each_word_of_message(fragment: &Fragment, visit: &mut dyn FnMut(bool, &[Word])) {
    visit(false, &[fragment.term().word()]);
    // SAFETY: the fragment is whole, and the world is stopped.
    visit(false, unsafe { run(fragment.words(), fragment.used()) });
}

impl AtRest {
    /// Visits all words that may refer to code, each run with whether it may: stacks, which hold terms too, and where
    /// processes go on; and all words that hold terms: heaps, messages, other roots. See
    /// [`atoll_heap::Architecture::shows_all_blocks`].
    pub fn each_run(&mut self, visit: &mut dyn FnMut(bool, &[Word])) {
        self.0.each(|process, own| {
            visit(true, &[own.address as Word]);
            if let Some((_, address)) = stack_markers().and_then(|markers| markers.marker(&own.mutator)) {
                visit(true, &[address]);
            }
            // SAFETY: the words of its stack.
            visit(true, unsafe { run(own.mutator.stack, own.mutator.stack_words()) });
            // SAFETY: words of its heap.
            architecture().each_block(&own.mutator, &mut |start, words| visit(false, unsafe { run(start, words) }));
            let (_, mut roots) = own.roots(Some(&process.inbox));
            // SAFETY: words that it has saved.
            roots.each_slice(&mut |start, terms| visit(false, unsafe { run(start.cast(), terms) }));
            roots.each_message(&mut |fragment| each_word_of_message(fragment, visit));
        });
        let mut kept = Some(KeptPlace::START);
        while let Some(from) = kept {
            let timers = &System::get().timers;
            kept = timers.each_message(from, usize::MAX, &mut |fragment| each_word_of_message(fragment, visit));
        }
        // SAFETY: the world is stopped, and these are words that hold terms.
        self.0.each_global_slice(&mut |start, terms| visit(false, unsafe { run(start.cast(), terms) }));
        // SAFETY: as above.
        architecture().each_common_block(&mut |start, words| visit(false, unsafe { run(start, words) }));
    }
}
