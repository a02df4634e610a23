//! The sections of the heap: how much of each is free, and from which one a thread takes lines next.

use std::collections::BTreeSet;

use atoll_heap::counters;

use super::bits::GROUP;
use super::space::{FEWEST_LINES, SECTION_LINES, SECTION_WORDS};

/// Free lines of a section that can be taken, from which on threads take lines from it.
const WORTH_TAKING: usize = if cfg!(test) { 1 } else { SECTION_LINES / 4 };
/// Lines in a row, in the mean, from which on a section's are taken before those of a free one: with shorter rows
/// processes would spend their time taking buffers.
const LONG_RUN: usize = 32;

/// Where a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All of its lines are free.
    Free,
    /// Some of its lines are free, in long rows, and nobody takes them now.
    Partial,
    /// The same, in short rows.
    Sparse,
    /// A thread takes its free lines.
    Owned,
    /// It has no free lines, or too few to be taken.
    Full,
}

/// Free lines that can be taken, because enough of them lie in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) lines: usize,
    /// Rows of them.
    pub(super) runs: usize,
}

impl Room {
    /// A group of lines follows a row of free ones: which of it are free, the lowest bit for the first. The row at its
    /// end is left in `row`.
    #[inline]
    pub(super) fn add_group(&mut self, row: &mut usize, free: u8) {
        let mut left = GROUP;
        let mut bits = free;
        while bits != 0 {
            let used = bits.trailing_zeros() as usize;
            let lines = (bits >> used).trailing_ones() as usize;
            if used > 0 {
                *row = 0;
            }
            self.add(*row, lines);
            *row += lines;
            left -= used + lines;
            bits = bits.checked_shr((used + lines) as u32).unwrap_or(0);
        }
        if left > 0 {
            *row = 0;
        }
    }

    /// So many free lines more follow a row of others.
    #[inline]
    fn add(&mut self, row: usize, lines: usize) {
        if row >= FEWEST_LINES {
            self.lines += lines;
        } else if row + lines >= FEWEST_LINES {
            self.lines += row + lines;
            self.runs += 1;
        }
    }

    fn place(self) -> Place {
        match self.lines {
            SECTION_LINES => Place::Free,
            WORTH_TAKING.. if self.lines >= LONG_RUN * self.runs => Place::Partial,
            WORTH_TAKING.. => Place::Sparse,
            _ => Place::Full,
        }
    }
}

#[derive(Debug)]
pub(super) struct Section {
    pub(super) place: Place,
    /// It has had memory since that was last given back.
    pub(super) backed: bool,
    /// It may have lines that are neither free nor marked.
    pub(super) is_young: bool,
    /// How often threads have begun or ended to take lines from it.
    pub(super) turns: usize,
    /// Lines with marked objects, and those that are free and can be taken, as the last sweep has left them.
    pub(super) marked: usize,
    pub(super) usable: Room,
}

impl Section {
    pub(super) const NEW: Section = Section {
        place: Place::Full,
        backed: false,
        is_young: true,
        turns: 0,
        marked: 0,
        usable: Room { lines: 0, runs: 0 },
    };

    /// Lines are taken from it. Whether it had no memory.
    pub(super) fn give_to(&mut self, place: Place) -> bool {
        self.place = place;
        self.turns += 1;
        self.is_young = true;
        let gets_memory = !self.backed;
        if gets_memory {
            self.backed = true;
            counters::heap_changed(SECTION_WORDS as i64);
        }
        gets_memory
    }

    /// Lines that threads may come to take.
    pub(super) fn takeable(&self) -> usize {
        if self.place == Place::Full { 0 } else { self.usable.lines }
    }
}

#[derive(Debug, Default)]
pub(super) struct Sections {
    /// Those that were ever used, by their number.
    pub(super) all: Vec<Section>,
    pub(super) free: BTreeSet<usize>,
    partial: Vec<usize>,
    sparse: Vec<usize>,
}

impl Sections {
    /// Number of those of which a part is free, and that nobody takes lines from.
    pub(super) fn partial(&self) -> usize {
        self.partial.len() + self.sparse.len()
    }

    /// The one to take lines from next, out of those that were ever used.
    pub(super) fn take(&mut self) -> Option<usize> {
        // The lowest free one has memory, as a rule: see `Space::give_back`.
        let is_backed = self.free.first().is_some_and(|first| self.all[*first].backed);
        let partial = self.partial.pop().or_else(|| if is_backed { None } else { self.sparse.pop() });
        partial.or_else(|| self.free.pop_first())
    }

    /// A thread takes no more lines from one. `has_more`: it has free lines.
    pub(super) fn give(&mut self, number: usize, has_more: bool) {
        let section = &mut self.all[number];
        section.turns += 1;
        section.place = match section.usable.place() {
            _ if !has_more => Place::Full,
            Place::Sparse => Place::Sparse,
            _ => Place::Partial,
        };
        self.list(number);
    }

    /// A sweep has found out what is free in a section. `void`: no thread takes lines from it any more.
    pub(super) fn place(&mut self, number: usize, void: bool) {
        let before = self.all[number].place;
        if before == Place::Owned && !void {
            return;
        }
        let after = self.all[number].usable.place();
        if after == before {
            return;
        }
        match before {
            Place::Partial => self.partial.retain(|partial| *partial != number),
            Place::Sparse => self.sparse.retain(|sparse| *sparse != number),
            _ => {}
        }
        self.all[number].place = after;
        self.list(number);
    }

    fn list(&mut self, number: usize) {
        match self.all[number].place {
            Place::Free => drop(self.free.insert(number)),
            Place::Partial => self.partial.push(number),
            Place::Sparse => self.sparse.push(number),
            Place::Owned | Place::Full => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections with so many free lines in so many rows.
    fn sections(rooms: &[(usize, usize)]) -> Sections {
        let mut sections = Sections::default();
        for (number, (lines, runs)) in rooms.iter().enumerate() {
            sections.all.push(Section { usable: Room { lines: *lines, runs: *runs }, ..Section::NEW });
            sections.place(number, false);
        }
        sections
    }

    #[test]
    fn long_rows_are_taken_first_and_memory_is_used_before_more_is_asked_for() {
        const LINES: usize = SECTION_LINES / 2;
        let rooms = [(SECTION_LINES, 1), (LINES, LINES), (SECTION_LINES, 1), (LINES, 2), (0, 0)];
        let mut all = sections(&rooms);
        all.all[0].backed = true;
        assert_eq!(all.partial(), 2);
        assert_eq!(std::iter::from_fn(|| all.take()).collect::<Vec<_>>(), [3, 0, 1, 2]);
        for number in [3, 1, 0] {
            all.give(number, number != 0);
        }
        assert_eq!([0, 1, 3].map(|number| all.all[number].place), [Place::Full, Place::Sparse, Place::Partial]);
    }

    #[test]
    fn groups_count_as_their_lines_do() {
        for (first, second) in (0..=u8::MAX).flat_map(|first| (0..=u8::MAX).map(move |second| (first, second))) {
            let (mut room, mut row) = (Room::default(), 0);
            room.add_group(&mut row, first);
            room.add_group(&mut row, second);
            let (mut expected, mut length) = (Room::default(), 0);
            for line in 0..16 {
                let is_free = u16::from_le_bytes([first, second]) >> line & 1 == 1;
                if is_free {
                    expected.add(length, 1);
                }
                length = if is_free { length + 1 } else { 0 };
            }
            assert_eq!((room, row), (expected, length), "{first:08b} {second:08b}");
        }
    }

    #[test]
    fn rows_count_from_the_fewest_lines_on() {
        let mut room = Room::default();
        room.add(0, FEWEST_LINES - 1);
        assert_eq!(room, Room::default());
        room.add(FEWEST_LINES - 1, 1);
        room.add(FEWEST_LINES, 8);
        assert_eq!(room, Room { lines: FEWEST_LINES + 8, runs: 1 });
    }
}
