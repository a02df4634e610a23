//! A part of a hashed table: a sorted array with gaps.
//!
//! An entry's place of choice follows from the highest bits of its hash; from there it moves on to the next free place,
//! and entries with lower hashes stand before those with higher ones. So the array as a whole is in the order of the
//! hashes, and growing it does not change that order: a position in a traversal is a hash, which stays valid whatever
//! happens.

use atoll_heap::Stored;
use atoll_term::{Term, exactly_equal};

/// Fewest places, as a power of two.
const FEWEST_BITS: u32 = 3;
/// Most places, as a power of two.
const MOST_BITS: u32 = 26;

/// The rows with one key.
pub(crate) enum Rows {
    /// A single row.
    One(Stored),
    /// Rows of a bag, in the order of their insertion; never empty.
    Many(Vec<Stored>),
}

impl Rows {
    /// All of them.
    pub(crate) fn as_slice(&self) -> &[Stored] {
        match self {
            Rows::One(row) => std::slice::from_ref(row),
            Rows::Many(rows) => rows,
        }
    }
}

/// A key with its rows. The key stands in the rows.
pub(crate) struct Entry {
    pub(crate) hash: u32,
    /// Deleted, but kept for the key's sake because the table is fixed.
    pub(crate) dead: bool,
    pub(crate) rows: Rows,
}

impl Entry {
    /// The rows that are not deleted.
    pub(crate) fn live(&self) -> &[Stored] {
        if self.dead { &[] } else { self.rows() }
    }

    /// The rows, whether they are deleted or not.
    pub(crate) fn rows(&self) -> &[Stored] {
        self.rows.as_slice()
    }

    /// Words that the rows keep outside of collected heaps.
    pub(crate) fn words(&self) -> usize {
        self.rows().iter().map(Stored::words).sum()
    }

    /// The key.
    pub(crate) fn key(&self, position: usize) -> Term {
        self.rows().first().map_or(Term::NONE, |row| key_of(*row.term(), position))
    }

    /// Takes the rows out, for an entry that is about to go.
    pub(crate) fn into_rows(self) -> Vec<Stored> {
        match self.rows {
            Rows::One(row) => vec![row],
            Rows::Many(rows) => rows,
        }
    }
}

/// The key of a row: its element at the position, which counts from 1. `NONE` if it has none.
#[inline(always)]
pub(crate) fn key_of(row: Term, position: usize) -> Term {
    row.tuple_elements().and_then(|elements| elements.get(position.wrapping_sub(1)).copied()).unwrap_or(Term::NONE)
}

/// A part of a hashed table.
#[derive(Default)]
pub(crate) struct Segment {
    /// As many as the power of two, and as many more as the last entries need.
    places: Vec<Option<Entry>>,
    bits: u32,
    entries: usize,
    /// Highest bits of each hash, which choose the segment and say nothing here.
    skip: u32,
    /// Whether entries died since the table was fixed.
    pub(crate) has_dead: bool,
    /// Rows that are not deleted.
    pub(crate) rows: usize,
    /// Words that they keep outside of collected heaps.
    pub(crate) words: usize,
}

impl Segment {
    /// An empty one. The highest `skip` bits of all hashes in it are the same.
    pub(crate) fn new(skip: u32) -> Segment {
        Segment { skip, ..Segment::default() }
    }

    fn home(&self, hash: u32) -> usize {
        (u64::from(hash << self.skip) >> (u32::BITS - self.bits)) as usize
    }

    /// Where the key stands, or where it would.
    pub(crate) fn find(&self, hash: u32, key: Term, position: usize) -> Result<usize, usize> {
        let mut place = self.home(hash);
        while let Some(Some(entry)) = self.places.get(place) {
            if entry.hash > hash {
                break;
            }
            if entry.hash == hash && exactly_equal(entry.key(position), key) {
                return Ok(place);
            }
            place += 1;
        }
        Err(place)
    }

    /// The entry at a place that [`Segment::find`] gave.
    pub(crate) fn entry(&self, place: usize) -> Option<&Entry> {
        self.places.get(place).and_then(Option::as_ref)
    }

    /// As [`Segment::entry`].
    pub(crate) fn entry_mut(&mut self, place: usize) -> Option<&mut Entry> {
        self.places.get_mut(place).and_then(Option::as_mut)
    }

    /// The entries from the first one on whose hash is above `after`.
    pub(crate) fn entries_after(&self, after: Option<u32>) -> impl Iterator<Item = &Entry> {
        let from = after.map_or(0, |hash| self.home(hash));
        let rest = self.places.get(from..).unwrap_or_default();
        rest.iter().flatten().skip_while(move |entry| after.is_some_and(|hash| entry.hash <= hash))
    }

    /// All entries.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.places.iter_mut().flatten()
    }

    /// Adds an entry whose key is not there.
    pub(crate) fn add(&mut self, entry: Entry) {
        if (self.entries + 1) * 4 > (1usize << self.bits) * 3 || self.bits == 0 {
            self.resize((self.bits + 1).clamp(FEWEST_BITS, MOST_BITS));
        }
        let mut place = self.home(entry.hash);
        while self.entry(place).is_some_and(|other| other.hash <= entry.hash) {
            place += 1;
        }
        let free = (place..self.places.len()).find(|place| self.places[*place].is_none()).unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place..=free].rotate_right(1);
        self.places[place] = Some(entry);
        self.entries += 1;
    }

    /// Takes out the entry at a place.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Entry> {
        let removed = self.places.get_mut(place)?.take()?;
        let mut gap = place;
        while let Some(Some(entry)) = self.places.get(gap + 1)
            && self.home(entry.hash) <= gap
        {
            self.places.swap(gap, gap + 1);
            gap += 1;
        }
        self.entries -= 1;
        if self.entries * 8 < 1 << self.bits && self.bits > FEWEST_BITS {
            self.resize(self.bits - 1);
        }
        Some(removed)
    }

    fn resize(&mut self, bits: u32) {
        if bits == self.bits {
            return;
        }
        self.bits = bits;
        let mut places: Vec<Option<Entry>> = Vec::with_capacity((1 << bits) + 1);
        for entry in std::mem::take(&mut self.places).into_iter().flatten() {
            let home = self.home(entry.hash);
            while places.len() < home {
                places.push(None);
            }
            places.push(Some(entry));
        }
        while places.len() < 1 << bits {
            places.push(None);
        }
        self.places = places;
    }

    /// Takes out the entries that `keep` refuses, in one pass. Returns them.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut Entry) -> bool) -> Vec<Entry> {
        let mut removed = Vec::new();
        let mut kept = Vec::with_capacity(self.entries);
        for mut entry in std::mem::take(&mut self.places).into_iter().flatten() {
            if keep(&mut entry) { kept.push(Some(entry)) } else { removed.push(entry) }
        }
        self.entries = kept.len();
        self.places = kept;
        let bits = (self.entries * 2).next_power_of_two().ilog2().clamp(FEWEST_BITS, MOST_BITS);
        self.bits = 0;
        self.resize(bits);
        removed
    }

    /// Places, as a power of two.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Places; not the few more that the last entries may need, so that tables with the same rows tell the same.
    pub(crate) fn places(&self) -> usize {
        if self.bits == 0 { 0 } else { 1 << self.bits }
    }

    /// The places of a segment that goes.
    pub(crate) fn into_places(self) -> Vec<Option<Entry>> {
        self.places
    }
}
