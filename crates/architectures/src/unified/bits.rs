//! Tables beside the heap: a bit for each of its words, a byte for each of its lines. All read as zero at first.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use atoll_heap::immovable::NoAddresses;
use atoll_platform::Reservation;

use super::space::{LINE_WORDS, SECTION_LINES, SECTION_WORDS};

/// Bytes of the system's pages, or a part of them.
const PAGE_BYTES: usize = 4096;

/// Words of the heap whose bits are one word.
const WORDS: usize = u64::BITS as usize;
/// Lines whose bits are one word.
const LINES: usize = WORDS / LINE_WORDS;
/// Lines whose bytes are one word: a group.
pub(super) const GROUP: usize = size_of::<u64>();

/// A bit for each word of the heap: whether a live object begins there.
#[derive(Debug)]
pub(super) struct MarkBits(Reservation);

impl MarkBits {
    /// For a heap of so many bytes.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub(super) fn new(heap_bytes: usize) -> Result<MarkBits, NoAddresses> {
        let bytes = heap_bytes / WORDS;
        Reservation::new(bytes).map(MarkBits).map_err(|_| NoAddresses(bytes))
    }

    #[inline(always)]
    fn word(&self, number: usize) -> &AtomicU64 {
        debug_assert!(number < self.0.bytes() / size_of::<AtomicU64>());
        // SAFETY: there is a bit for each word of the heap, and words are numbered by `Space::index`.
        unsafe { &*self.0.start().as_ptr().cast::<AtomicU64>().add(number) }
    }

    /// Marks the object that begins at a word; whether it was not marked before.
    #[inline(always)]
    pub(super) fn mark(&self, index: usize) -> bool {
        let (word, bit) = (self.word(index / WORDS), 1 << (index % WORDS));
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Whether the object that begins at a word is marked.
    #[inline]
    pub(super) fn is_marked(&self, index: usize) -> bool {
        self.word(index / WORDS).load(Ordering::Relaxed) & (1 << (index % WORDS)) != 0
    }

    /// The marks of a line, the lowest bit for its first word.
    pub(super) fn of_line(&self, line: usize) -> u32 {
        (self.word(line / LINES).load(Ordering::Relaxed) >> (line % LINES * LINE_WORDS)) as u32
    }

    /// Replaces the marks of a line, while nobody marks.
    pub(super) fn set_line(&self, line: usize, marks: u32) {
        let (word, shift) = (self.word(line / LINES), line % LINES * LINE_WORDS);
        let others = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
        word.store(others | u64::from(marks) << shift, Ordering::Relaxed);
    }

    /// Replaces the marks of a group of lines by others, while nobody marks.
    pub(super) fn copy_group(&self, from: &MarkBits, group: usize) {
        for number in group * GROUP / LINES..(group + 1) * GROUP / LINES {
            self.word(number).store(from.word(number).load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The system gives the memory of a section's marks now, and not while somebody marks.
    pub(super) fn touch_section(&self, section: usize) {
        let words = SECTION_WORDS / WORDS;
        for number in (section * words..(section + 1) * words).step_by(PAGE_BYTES / size_of::<AtomicU64>()) {
            // A compiler may make a load of other operations that change nothing.
            let _ = self.word(number).compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Takes away the marks of a section, while nobody marks there.
    pub(super) fn clear_section(&self, section: usize) {
        let words = SECTION_WORDS / WORDS;
        for number in section * words..(section + 1) * words {
            let word = self.word(number);
            // Memory that was never touched stays so.
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Visits the words at which marked objects begin, in the first sections.
    pub(super) fn each(&self, sections: usize, visit: &mut dyn FnMut(usize)) {
        for number in 0..sections * SECTION_WORDS / WORDS {
            let mut marks = self.word(number).load(Ordering::Relaxed);
            while marks != 0 {
                visit(number * WORDS + marks.trailing_zeros() as usize);
                marks &= marks - 1;
            }
        }
    }
}

/// One in each byte.
const BYTES: u64 = u64::MAX / 0xff;

/// The bytes of a group of lines, each of which is less than 4, the lowest for the first line.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupBytes(u64);

impl GroupBytes {
    /// The lines of the group that say this, the lowest bit for the first one. Without a branch for each line, whose
    /// outcome nothing could foresee.
    #[inline]
    pub(super) fn that_say(self, what: u8) -> u8 {
        let differ = self.0 ^ (BYTES * u64::from(what));
        let same = !(differ | differ >> 1) & BYTES;
        // Bit 8n of the one factor and bit 56 - 7n of the other make bit n of the highest byte.
        (same.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    }
}

/// The numbers of the bits that are set, from the lowest on.
pub(super) fn each_bit(bits: u8) -> impl Iterator<Item = usize> {
    let rest = |bits: &u8| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(bits).filter(|bits| *bits != 0), rest).map(|bits| bits.trailing_zeros() as usize)
}

/// A byte for each line of the heap.
#[derive(Debug)]
pub(super) struct LineBytes(Reservation);

impl LineBytes {
    /// For a heap of so many bytes.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub(super) fn new(heap_bytes: usize) -> Result<LineBytes, NoAddresses> {
        let bytes = heap_bytes / (LINE_WORDS * size_of::<u64>());
        Reservation::new(bytes).map(LineBytes).map_err(|_| NoAddresses(bytes))
    }

    /// The byte of a line.
    #[inline(always)]
    pub(super) fn of(&self, line: usize) -> &AtomicU8 {
        debug_assert!(line < self.0.bytes());
        // SAFETY: there is a byte for each line, and lines are numbered by `Space::index`.
        unsafe { &*self.0.start().as_ptr().add(line).cast::<AtomicU8>() }
    }

    /// The bytes of a group of lines.
    #[inline]
    pub(super) fn group(&self, group: usize) -> GroupBytes {
        let byte = |index| self.of(group * GROUP + index).load(Ordering::Relaxed);
        GroupBytes(u64::from_le_bytes(std::array::from_fn(byte)))
    }

    /// Whether the bytes of a group of lines all say this.
    #[inline]
    pub(super) fn are_all(&self, group: usize, what: u8) -> bool {
        self.group(group).0 == BYTES * u64::from(what)
    }

    /// Sets the bytes of a group of lines.
    #[inline]
    pub(super) fn set_group(&self, group: usize, byte: u8, ordering: Ordering) {
        (group * GROUP..(group + 1) * GROUP).for_each(|line| self.of(line).store(byte, ordering));
    }

    /// As [`MarkBits::touch_section`].
    pub(super) fn touch_section(&self, section: usize) {
        for line in (section * SECTION_LINES..(section + 1) * SECTION_LINES).step_by(PAGE_BYTES) {
            let _ = self.of(line).compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Sets the bytes of a section to 0.
    pub(super) fn clear_section(&self, section: usize) {
        for group in section * SECTION_LINES / GROUP..(section + 1) * SECTION_LINES / GROUP {
            if !self.are_all(group, 0) {
                self.set_group(group, 0, Ordering::Relaxed);
            }
        }
    }
}
