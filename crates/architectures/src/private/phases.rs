//! What the kinds of collection share: phases 2 to 4 and 7 (`mod.rs`), and the blocks of a heap.

use std::ptr::NonNull;

use atoll_heap::{Fragment, HeapFull, Message, Mutator, RootSet, link_off_heap};
use atoll_term::{Term, Word};

use super::room;
use super::state::State;
use crate::common::cheney::{Copier, Policy};
use crate::common::counted::{self, Counted};
use crate::common::fragments::FragmentRanges;
use crate::common::relocate::Move;
use crate::common::{blocks, fibonacci, off_heap};

/// A major collection shrinks to the series' next size above this times what is needed.
pub(super) const SHRINK_FACTOR: usize = 2;

/// Each collection visits all roots: it leaves room for this part of their words, so that a process with a large
/// dictionary, or many messages in its heap, is not collected each time that it has allocated a few words.
const PART_OF_ROOTS: usize = 2;

/// Words up to which a block doubles when most of what was collected survived.
const DOUBLED_AT_MOST: usize = 2_584;

/// Words up to which a block does not shrink in a minor collection, unless it is larger than the old generation.
const SMALL_BLOCK: usize = 8_000;

/// A callback that needs the new places of objects: it gets a function from an object to its new place, `None` for a
/// dead one.
pub(crate) type Followed<'a> = dyn FnMut(&dyn Fn(Term) -> Option<Term>) + 'a;

/// What a collection does for an architecture with memory beside the private heaps.
pub(crate) struct Beside<'a> {
    /// Objects, and copies of them in immovable memory, that they are redirected to; those that stay where they are
    /// remain in the list.
    pub(crate) elsewhere: &'a mut Vec<(Term, Term)>,
    /// Told of the blocks of a large heap that are about to be freed, by their first words.
    pub(crate) leaving: &'a mut dyn FnMut(*const Word),
    /// Told, when a collection has copied all that lives, where objects have gone.
    pub(crate) followed: &'a mut Followed<'a>,
}

/// The roots of one collection beside the stack.
pub(super) struct Roots<'a> {
    pub(super) live: &'a mut [Term],
    pub(super) set: &'a mut dyn RootSet,
    /// Root words beside the stack that a collection has visited.
    pub(super) visited: usize,
    pub(super) beside: Beside<'a>,
}

impl Roots<'_> {
    /// Visits the stack and all other roots as runs of words.
    pub(super) fn each_run(&mut self, mutator: &Mutator, mut visit: impl FnMut(*mut Word, usize)) {
        visit(mutator.stack, mutator.stack_words());
        visit(self.live.as_mut_ptr().cast(), self.live.len());
        let mut words = 0;
        self.set.each_slice(&mut |start, terms| {
            words += terms;
            visit(start.cast(), terms);
        });
        self.visited = words;
    }

    /// Words that shall be free after a collection because of the number of roots. Under a limit, memory counts more
    /// than time.
    fn room(&self, state: &State) -> usize {
        if state.options().maximum_words == 0 { self.visited / PART_OF_ROOTS } else { 0 }
    }
}

/// Phases 3 and 4: copies what the roots reach to these places; gives the next free words there.
///
/// # Safety
/// The roots hold whole terms, and the destinations have room for all that is collected.
pub(super) unsafe fn copy<P: Policy>(
    mutator: &Mutator,
    roots: &mut Roots<'_>,
    policy: P,
    young: *mut Word,
    old: *mut Word,
) -> (*mut Word, *mut Word) {
    if counted::is_wanted() {
        let mut ranges = FragmentRanges::default();
        if let Some(generation) = State::of(mutator).old() {
            generation.each_block(|block| ranges.add_run(block.start, block.used()));
        }
        // SAFETY: as the caller's.
        return unsafe { copy_by(mutator, roots, Counted::new(policy, ranges.sort()), young, old) };
    }
    // SAFETY: as the caller's.
    unsafe { copy_by(mutator, roots, policy, young, old) }
}

unsafe fn copy_by<P: Policy>(
    mutator: &Mutator,
    roots: &mut Roots<'_>,
    policy: P,
    young: *mut Word,
    old: *mut Word,
) -> (*mut Word, *mut Word) {
    let mut copier = Copier::new(policy, young, old);
    // SAFETY: as the caller's.
    unsafe {
        copier.redirect(roots.beside.elsewhere);
        roots.each_run(mutator, |start, words| copier.visit_run(start, words));
        copier.scan(young, old);
        (roots.beside.followed)(&|object| copier.moved(object));
    }
    (copier.young, copier.old)
}

/// Room that a collection must leave.
#[derive(Clone, Copy)]
pub(super) struct Need {
    /// Free words between heap and stack.
    pub(super) words: usize,
    /// Leave nothing else free.
    pub(super) exact: bool,
}

/// Phase 1: the limit of the heap counts what is there and what would be allocated for the collection.
pub(super) fn check_limit(mutator: &Mutator, new_words: usize) -> Result<(), HeapFull> {
    let state = State::of(mutator);
    let maximum = state.options().maximum_words;
    if maximum == 0 {
        return Ok(());
    }
    let young = blocks::words_between(mutator.block, mutator.top) + mutator.fragment_words;
    let words = young + state.old().map_or(0, |old| old.words()) + new_words;
    if words > maximum { Err(HeapFull { words }) } else { Ok(()) }
}

/// Phase 2: a new block with the stack at its upper end. The mutator's stack is the new one afterwards; gives the
/// first word of the block.
pub(super) fn move_stack(mutator: &mut Mutator, new_words: usize) -> *mut Word {
    move_stack_to(mutator, blocks::allocate(new_words), new_words)
}

/// As [`move_stack`], to this block.
pub(super) fn move_stack_to(mutator: &mut Mutator, block: *mut Word, new_words: usize) -> *mut Word {
    let stack_words = mutator.stack_words();
    mutator.stack_base = block.wrapping_add(new_words);
    let stack = mutator.stack_base.wrapping_sub(stack_words);
    // SAFETY: the new block is larger than the stack, whose words are those between its pointers.
    unsafe { std::ptr::copy_nonoverlapping(mutator.stack, stack, stack_words) };
    mutator.stack = stack;
    block
}

/// Phase 6: the new block takes the place of the old one, which is given to `free`.
///
/// # Safety
/// Everything that lives has left the old block and the fragments.
pub(super) unsafe fn replace_block(
    mutator: &mut Mutator,
    block: *mut Word,
    old_words: usize,
    free: unsafe fn(*mut Word, usize),
) {
    let old_block = std::mem::replace(&mut mutator.block, block);
    // SAFETY: nothing in them is used any more.
    unsafe {
        free(old_block, old_words);
        free_fragments(mutator);
    }
}

/// Frees a process's fragments.
///
/// # Safety
/// Nothing in them is used any more; their off-heap lists have been joined to the process's.
pub(super) unsafe fn free_fragments(mutator: &mut Mutator) {
    let mut list = std::mem::replace(&mut mutator.fragments, std::ptr::null_mut());
    mutator.fragment_words = 0;
    while let Some(fragment) = NonNull::new(list) {
        // SAFETY: the fragment is the process's own and given up.
        unsafe {
            list = fragment.as_ref().next();
            Message::from_raw(fragment).free_empty();
        }
    }
}

/// Where a process's fragments are, to be sorted, and their words in use.
pub(super) fn fragment_ranges(mutator: &Mutator) -> (FragmentRanges, usize) {
    let mut ranges = FragmentRanges::default();
    let mut words = 0;
    each_fragment(mutator, |fragment| {
        ranges.add(fragment);
        words += fragment.used();
    });
    (ranges, words)
}

/// Visits the runs of whole objects of a process's heap.
pub(crate) fn each_block(mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
    visit(mutator.block, blocks::words_between(mutator.block, mutator.top));
    each_old_block(mutator, visit);
    each_fragment(mutator, |fragment| visit(fragment.words(), fragment.used()));
}

/// Visits the blocks of the old generation: first words, and words in use.
pub(crate) fn each_old_block(mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
    if let Some(old) = State::of(mutator).old() {
        old.each_block(|block| visit(block.start, block.used()));
    }
}

/// Visits a process's fragments.
pub(super) fn each_fragment(mutator: &Mutator, mut visit: impl FnMut(&Fragment)) {
    let mut list = mutator.fragments;
    // SAFETY: the fragments on the list are the process's own.
    while let Some(fragment) = unsafe { list.as_ref() } {
        list = fragment.next();
        visit(fragment);
    }
}

/// Phase 7: sets the flag for growth, and makes the block smaller when it is too large: `factor` x needed, up to the
/// series' next size. A small block where most survived in a minor collection doubles: what is promoted leaves free
/// room, but so will what comes next not.
pub(super) fn resize(mutator: &mut Mutator, need: Need, factor: usize, most_survived: bool, roots: &mut Roots<'_>) {
    let state = State::of(mutator);
    let block = state.block_words(mutator);
    let used = blocks::words_between(mutator.block, mutator.top) + mutator.stack_words();
    let for_roots = roots.room(state);
    let needed = used + need.words.max(for_roots);
    let old_words = state.old().map_or(0, |old| old.words());
    let minimum = state.options().minimum_words;
    let roomy = state.is_roomy();
    let growth = if most_survived && block <= DOUBLED_AT_MOST || roomy && block <= room::largest(state) / 2 {
        block.max(for_roots)
    } else if needed * 4 > block * 3 {
        for_roots.max(1)
    } else {
        0
    };
    State::of_mut(mutator).set_growth(growth);
    let wanted = if need.exact {
        used + need.words
    } else if !most_survived
        && !roomy
        && needed * 4 < block
        && (factor == SHRINK_FACTOR || block > SMALL_BLOCK || block > old_words)
    {
        fibonacci::at_least((factor * needed).max(minimum))
    } else {
        return;
    };
    if wanted < block {
        shrink(mutator, block, wanted, roots);
    }
}

/// Phase 7 in a large heap: the young generation shall have this room.
pub(super) fn resize_large(mutator: &mut Mutator, need: Need, nursery: usize, roots: &mut Roots<'_>) {
    let state = State::of(mutator);
    let block = state.block_words(mutator);
    let used = blocks::words_between(mutator.block, mutator.top) + mutator.stack_words();
    let nursery = nursery.max(roots.room(state));
    let room = nursery.max(need.words);
    let wanted = fibonacci::at_least((used + room).max(state.options().minimum_words));
    State::of_mut(mutator).set_growth(if block < used + nursery / 4 * 3 { nursery } else { 0 });
    if block > used + 2 * room && wanted < block {
        shrink(mutator, block, wanted, roots);
    }
}

fn shrink(mutator: &mut Mutator, block: usize, wanted: usize, roots: &mut Roots<'_>) {
    let heap = mutator.block;
    let used = blocks::words_between(heap, mutator.top);
    let stack_words = mutator.stack_words();
    // SAFETY: the smaller block has room for heap and stack; the stack is moved down first, over free words.
    let moved = unsafe {
        std::ptr::copy(mutator.stack, heap.add(wanted - stack_words), stack_words);
        blocks::shrink(heap, block, wanted)
    };
    mutator.stack_base = moved.wrapping_add(wanted);
    mutator.stack = mutator.stack_base.wrapping_sub(stack_words);
    mutator.block = moved;
    if moved != heap {
        let shift = Move { from: heap, words: used, to: moved };
        // SAFETY: the heap consists of whole objects, as a collection has just left it; no old object points into it.
        unsafe { shift_heap(mutator, &shift, roots) };
    }
    mutator.top = moved.wrapping_add(used);
    State::of_mut(mutator).high_water = mutator.top;
}

/// The objects of a heap without an old generation, or whose old generation does not point to them, have moved as
/// they are: shifts pointers to them.
///
/// # Safety
/// At the new place there are copies of whole objects.
pub(super) unsafe fn shift_heap(mutator: &mut Mutator, shift: &Move, roots: &mut Roots<'_>) {
    // SAFETY: as the caller's; roots hold whole terms, and lists of objects with off-heap parts those of the heap.
    unsafe {
        shift.shift_objects(shift.to, shift.words);
        roots.each_run(mutator, |start, words| shift.shift_run(start, words));
        let list = std::mem::replace(&mut mutator.off_heap, std::ptr::null_mut());
        off_heap::each_moved(list, shift, |object| link_off_heap(&mut mutator.off_heap, object));
        (roots.beside.followed)(&|object| Some(Term::from_word(shift.shifted(object.word()))));
    }
}
