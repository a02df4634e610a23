//! What `shared` keeps: of a mutator, whether and when it ran; of the heap, its ranges and sizes.

use atoll_heap::immovable::NoAddresses;
use atoll_heap::{HeapOptions, Message, Mutator, STATE_WORDS, counters, out_of_memory};
use atoll_platform::Reservation;
use atoll_platform::addresses::Share;
use atoll_term::{WORD_BYTES, Word};

use super::limits::Account;
use super::mark_sweep::MarkSweep;
use crate::common::blocks::words_between;
use crate::common::first_stacks::Beginning;
use crate::common::fragments::FragmentRanges;
use crate::common::in_32_bits;

/// Addresses reserved for the whole heap.
const RESERVED_BYTES: usize = 192 << 30;
/// See [`Share::reserve`]: 96 MB at least.
const HALVINGS: usize = 11;
/// Words of a range whose memory is kept when the range is emptied ...
const KEPT_WORDS: usize = 1 << 20;
/// ... and of a range that will soon be filled again: the system takes longer to give a page than a program to fill it.
const KEPT_SOON: usize = 1 << 22;

/// The overlay of `Mutator::state`.
#[repr(C)]
pub(super) struct State {
    minimum_words: u32,
    /// `max_heap_size`; 0 is no limit.
    maximum_words: u32,
    /// Number of major collections when it ran last.
    pub(super) ran_in: u32,
    /// Messages sent that are not counted yet.
    pub(super) sent: u32,
    full_sweep_after: u16,
    pub(super) beginning: Beginning,
    /// Does it run on a thread now?
    pub(super) running: bool,
    /// What its limit is compared with; from its first limit on.
    pub(super) account: Option<Box<Account>>,
    /// Words at the base of the stack that are covered by a stack marker, the marker being the last; 0: there is none.
    pub(super) covered: u32,
    /// Words at the base of the stack that refer to nothing young.
    pub(super) clean: u32,
    /// The return address whose place the marker takes.
    pub(super) returns_to: Word,
}

const _: () = assert!(size_of::<State>() <= STATE_WORDS * size_of::<usize>());
const _: () = assert!(align_of::<State>() <= align_of::<usize>());

impl State {
    #[inline(always)]
    pub(super) fn of(mutator: &Mutator) -> &State {
        // SAFETY: the state words are this architecture's; all zeros is a valid state.
        unsafe { &*mutator.state.as_ptr().cast::<State>() }
    }

    #[inline(always)]
    pub(super) fn of_mut(mutator: &mut Mutator) -> &mut State {
        // SAFETY: as above.
        unsafe { &mut *mutator.state.as_mut_ptr().cast::<State>() }
    }

    /// `max_heap_size`; 0 is no limit.
    #[inline]
    pub(super) fn maximum_words(&self) -> usize {
        self.maximum_words as usize
    }

    pub(super) fn options(&self) -> HeapOptions {
        HeapOptions {
            minimum_words: self.minimum_words as usize,
            full_sweep_after: self.full_sweep_after,
            maximum_words: self.maximum_words as usize,
        }
    }

    pub(super) fn set_options(&mut self, options: &HeapOptions) {
        self.minimum_words = in_32_bits(options.minimum_words);
        self.full_sweep_after = options.full_sweep_after;
        self.maximum_words = in_32_bits(options.maximum_words);
    }
}

/// A third of the reserved addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    start: usize,
    bytes: usize,
}

impl Range {
    pub(super) fn start(&self) -> *mut Word {
        self.start as *mut Word
    }

    /// First address behind the range.
    pub(super) fn end(&self) -> usize {
        self.start + self.bytes
    }

    /// Ends the run when the range cannot hold this many words.
    pub(super) fn check_room(&self, words: usize) {
        if words > self.bytes / WORD_BYTES {
            out_of_memory(words.saturating_mul(WORD_BYTES));
        }
    }
}

/// The heap as its collector sees it; changed only while the world is stopped, but for the off-heap list.
#[derive(Debug)]
pub(super) struct Collector {
    reservation: Reservation,
    young: [Range; 2],
    old: Range,
    /// Which of the young ranges is in use.
    current: usize,
    /// Size of the young generation.
    pub(super) young_words: usize,
    /// High-water mark: objects below survived the last collection.
    pub(super) mark: *mut Word,
    pub(super) old_top: *mut Word,
    /// Words of objects there, if they are not moved.
    pub(super) old_allocated: usize,
    /// The old generation is not moved.
    pub(super) mark_sweep: Option<MarkSweep>,
    /// Size of the old generation; 0: there is none.
    pub(super) old_words: usize,
    pub(super) young_off_heap: *mut Word,
    pub(super) old_off_heap: *mut Word,
    /// Bytes that the old generation's objects keep outside of the heap.
    pub(super) old_off_heap_bytes: usize,
    /// Bytes that all objects kept outside of the heap after the last major collection.
    pub(super) live_off_heap_bytes: usize,
    /// Fragments outside of the ranges whose objects belong to the young generation.
    pub(super) kept: Vec<Message>,
    /// Minor collections since the last major one.
    pub(super) minors: usize,
    /// The next collection takes a larger young generation.
    pub(super) grow: bool,
    /// When the last collection ended.
    pub(super) ended: i64,
    reported: usize,
    reported_used: usize,
}

// SAFETY: the pointers lead into the reservation that the collector owns.
unsafe impl Send for Collector {}

impl Collector {
    /// Words from the start of the old generation to its end.
    pub(super) fn old_extent(&self) -> usize {
        words_between(self.old().start(), self.old_top)
    }

    /// Words in use in the old generation.
    pub(super) fn old_used(&self) -> usize {
        if self.mark_sweep.is_some() { self.old_allocated } else { self.old_extent() }
    }

    pub(super) fn new(young_words: usize, mark_sweep: bool) -> Result<Collector, NoAddresses> {
        let reservation =
            Share::Heap.reserve(RESERVED_BYTES, HALVINGS).map_err(|refused| NoAddresses(refused.bytes))?;
        let bytes = reservation.bytes() / 3 / 4096 * 4096;
        let start = reservation.start().as_ptr() as usize;
        let range = |number: usize| Range { start: start + number * bytes, bytes };
        Ok(Collector {
            reservation,
            young: [range(0), range(1)],
            old: range(2),
            current: 0,
            young_words,
            mark: range(0).start(),
            old_top: range(2).start(),
            old_allocated: 0,
            mark_sweep: mark_sweep.then(|| MarkSweep::new(range(2))),
            old_words: 0,
            young_off_heap: std::ptr::null_mut(),
            old_off_heap: std::ptr::null_mut(),
            old_off_heap_bytes: 0,
            live_off_heap_bytes: 0,
            kept: Vec::new(),
            minors: 0,
            grow: false,
            ended: atoll_platform::clock::monotonic(),
            // Told by the architecture, which has the counters.
            reported: young_words,
            reported_used: 0,
        })
    }

    /// The range of the young generation.
    pub(super) fn young(&self) -> Range {
        self.young[self.current]
    }

    /// The range that survivors go to.
    pub(super) fn other(&self) -> Range {
        self.young[1 - self.current]
    }

    /// The range of the old generation.
    pub(super) fn old(&self) -> Range {
        self.old
    }

    /// Where the fragments of the young generation are, and their words.
    pub(super) fn kept_ranges(&self) -> (FragmentRanges, usize) {
        let mut ranges = FragmentRanges::default();
        let mut words = 0;
        for fragment in &self.kept {
            ranges.add(fragment);
            words += fragment.used();
        }
        (ranges.sort(), words)
    }

    /// Frees the fragments of the young generation.
    ///
    /// # Safety
    /// Everything that lives has left them.
    pub(super) unsafe fn free_kept(&mut self) {
        self.kept = Vec::new();
    }

    /// The other range is the young generation now; the memory of the one before is given back, but for a part. `soon`:
    /// it is going to be filled again soon.
    ///
    /// # Safety
    /// Everything that lives has left the range in use, of which `used` words were in use.
    pub(super) unsafe fn flip(&mut self, used: usize, soon: bool) {
        let left = self.young();
        self.current = 1 - self.current;
        let kept = if soon { KEPT_SOON } else { KEPT_WORDS };
        // SAFETY: the caller vouches that nothing in it is used.
        unsafe { self.give_back(left, kept.min(self.young_words), used) }
    }

    /// Empties the old generation.
    ///
    /// # Safety
    /// Everything that lives has left it.
    pub(super) unsafe fn empty_old(&mut self) {
        let used = crate::common::blocks::words_between(self.old.start(), self.old_top);
        self.old_top = self.old.start();
        self.old_words = 0;
        // SAFETY: the caller vouches that nothing in it is used.
        unsafe { self.give_back(self.old, KEPT_WORDS, used) }
    }

    /// Gives the memory of words of the old generation back.
    ///
    /// # Safety
    /// They are not used.
    pub(super) unsafe fn give_back_old(&self, from: usize, words: usize) {
        let offset = self.old.start - self.reservation.start().as_ptr() as usize + from * WORD_BYTES;
        // SAFETY: as the caller's.
        unsafe { self.reservation.discard(offset, words * WORD_BYTES) }
    }

    unsafe fn give_back(&self, range: Range, kept: usize, used: usize) {
        if used > kept {
            let offset = range.start - self.reservation.start().as_ptr() as usize + kept * WORD_BYTES;
            // SAFETY: as the caller's.
            unsafe { self.reservation.discard(offset, (used - kept) * WORD_BYTES) }
        }
    }

    /// Tells the statistics how many words are in use. `told`: those of them that it has been told of since the last
    /// time.
    pub(super) fn tell_used(&mut self, words: usize, told: usize) {
        counters::used_changed(words as i64 - (self.reported_used + told) as i64);
        self.reported_used = words;
    }

    /// Tells the statistics how large the heap is.
    pub(super) fn report_size(&mut self) {
        let words = self.young_words + self.old_words;
        counters::heap_changed(words as i64 - self.reported as i64);
        self.reported = words;
    }
}
