//! Hashed tables: `set`, `bag` and `duplicate_bag`. Several segments, each under a lock that readers share, so that
//! writers of different rows seldom meet.

use atoll_heap::{Incoming, Stored};
use atoll_term::{Term, exactly_equal, hash};
use smallvec::SmallVec;

use crate::fault::Fault;
use crate::garbage::Garbage;
use crate::locked::{Locked, Writing};
use crate::segment::{Entry, Rows, Segment, key_of};
use crate::status::{Gone, Status};
use crate::traversal::Fate;

/// Most segments, as a power of two: those that several rows concern are bits of a word.
pub(crate) const MOST_SEGMENT_BITS: u32 = u64::BITS.trailing_zeros();

/// Rows that are inserted at once without room for more being asked for.
const FEW: usize = 16;

/// How rows with the same key are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// The new one takes the old one's place.
    Replace,
    /// Both stay, unless they are the same.
    Different,
    /// Both stay.
    All,
}

/// What several rows have replaced.
pub(crate) type Replaced = SmallVec<[Rows; FEW]>;

/// How the rows of a hashed table are spread over its slots.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Slots, as `ets:slot/2` numbers them.
    pub slots: usize,
    /// Rows, those of dead keys too.
    pub rows: usize,
    /// Sum of the squares of the slots' numbers of rows.
    pub squares: usize,
    /// Fewest rows of a slot.
    pub fewest: usize,
    /// Most rows of a slot.
    pub most: usize,
    /// Rows that were deleted and are kept because the table is fixed.
    pub dead: usize,
}

/// The rows of a hashed table.
pub(crate) struct Hashed {
    segments: Box<[Locked]>,
    segment_bits: u32,
    position: usize,
    duplicates: Duplicates,
}

/// Of keys that are immediates, which need no more than to be spread: two to the power of 64, divided by the golden
/// ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn hash_of(key: Term) -> u32 {
    if key.is_immediate() {
        let word = key.word();
        return ((word ^ word >> 32).wrapping_mul(SPREAD) >> 32) as u32;
    }
    // The mixing of the map's hash is even in its lower bits; here the highest choose.
    let mut mixed = hash::map_hash(key);
    mixed ^= mixed >> 16;
    mixed = mixed.wrapping_mul(0x9e37_79b1);
    mixed ^ mixed >> 15
}

impl Hashed {
    /// An empty table with two to the power of `segment_bits` segments.
    pub(crate) fn new(segment_bits: u32, position: usize, duplicates: Duplicates) -> Hashed {
        debug_assert!(segment_bits <= MOST_SEGMENT_BITS);
        let segments = (0..1 << segment_bits).map(|_| Locked::new(segment_bits)).collect();
        Hashed { segments, segment_bits, position, duplicates }
    }

    fn index(&self, hash: u32) -> usize {
        (u64::from(hash) >> (u32::BITS - self.segment_bits)) as usize
    }

    fn segment(&self, hash: u32) -> &Locked {
        &self.segments[self.index(hash)]
    }

    /// Calls `look` with the rows of a key.
    pub(crate) fn with_key<R>(&self, key: Term, look: impl FnOnce(&[Stored]) -> R) -> R {
        let hash = hash_of(key);
        let segment = self.segment(hash).read();
        match segment.find(hash, key, self.position) {
            Ok(place) => look(segment.entry(place).map_or(&[], Entry::live)),
            Err(_) => look(&[]),
        }
    }

    /// Inserts rows, all or none as others see it; `only_new`: none if one of the keys is there. Returns whether they
    /// were inserted, and gives what they have replaced.
    pub(crate) fn insert(
        &self,
        status: &Status,
        rows: impl Iterator<Item = Incoming>,
        only_new: bool,
        replaced: &mut Replaced,
    ) -> Result<bool, Gone> {
        let mut hashed: SmallVec<[(u32, Incoming); FEW]> = SmallVec::new();
        let mut concerned = 0u64;
        for row in rows {
            let hash = hash_of(key_of(*row.term(), self.position));
            concerned |= 1 << self.index(hash);
            hashed.push((hash, row));
        }
        // All segments concerned, in their order.
        let mut guards: SmallVec<[Writing<'_>; FEW]> = SmallVec::new();
        let mut others = concerned;
        while others != 0 {
            guards.push(self.segments[others.trailing_zeros() as usize].write());
            others &= others - 1;
        }
        let guard_of = |hash: u32| (concerned & ((1 << self.index(hash)) - 1)).count_ones() as usize;
        if !status.is_alive() {
            return Err(Gone);
        }
        let is_there = |(hash, row): &(u32, Incoming)| {
            let segment = &guards[guard_of(*hash)];
            let found = segment.find(*hash, key_of(*row.term(), self.position), self.position);
            found.is_ok_and(|place| segment.entry(place).is_some_and(|entry| !entry.dead))
        };
        if only_new && hashed.iter().any(is_there) {
            drop(guards);
            return Ok(false);
        }
        for (hash, row) in hashed {
            let segment = &mut guards[guard_of(hash)];
            let found = segment.find(hash, key_of(*row.term(), self.position), self.position);
            if let Some(rows) = self.put_at(segment, found, hash, row) {
                replaced.push(rows);
            }
        }
        drop(guards);
        Ok(true)
    }

    /// As [`Hashed::insert`], of a single row.
    pub(crate) fn insert_one(
        &self,
        status: &Status,
        row: Incoming,
        only_new: bool,
    ) -> Result<(bool, Option<Rows>), Gone> {
        let key = key_of(*row.term(), self.position);
        let hash = hash_of(key);
        let mut segment = self.segment(hash).write();
        if !status.is_alive() {
            return Err(Gone);
        }
        let found = segment.find(hash, key, self.position);
        if only_new && found.is_ok_and(|place| segment.entry(place).is_some_and(|entry| !entry.dead)) {
            drop(segment);
            return Ok((false, Some(Rows::One(row.keep()))));
        }
        let replaced = self.put_at(&mut segment, found, hash, row);
        drop(segment);
        Ok((true, replaced))
    }

    /// Puts a row where [`Segment::find`] has found its key, or adds it. Returns what it replaces.
    #[inline]
    fn put_at(&self, segment: &mut Segment, found: Result<usize, usize>, hash: u32, row: Incoming) -> Option<Rows> {
        let words = row.words();
        let Ok(place) = found else {
            segment.add(Entry { hash, dead: false, rows: Rows::One(row.keep()) });
            segment.rows += 1;
            segment.words += words;
            return None;
        };
        let entry = segment.entry_mut(place)?;
        let was_dead = std::mem::replace(&mut entry.dead, false);
        if was_dead || self.duplicates == Duplicates::Replace {
            let lost: usize = if was_dead { 0 } else { entry.words() };
            let refused = match &mut entry.rows {
                Rows::One(old) => old.replace(row).err(),
                Rows::Many(_) => Some(row),
            };
            let old = refused.map(|row| std::mem::replace(&mut entry.rows, Rows::One(row.keep())));
            segment.rows += usize::from(was_dead);
            segment.words = segment.words + words - lost;
            return old;
        }
        if self.duplicates == Duplicates::Different
            && entry.live().iter().any(|other| exactly_equal(*other.term(), *row.term()))
        {
            return Some(Rows::One(row.keep()));
        }
        let row = row.keep();
        match &mut entry.rows {
            Rows::Many(rows) => rows.push(row),
            rows => {
                if let Rows::One(first) = std::mem::replace(rows, Rows::Many(Vec::new())) {
                    *rows = Rows::Many(vec![first, row]);
                }
            }
        }
        segment.rows += 1;
        segment.words += words;
        None
    }

    /// Takes out the rows of a key. While the table is fixed the key stays, and `keep` rows are looked at only.
    pub(crate) fn remove<R>(&self, status: &Status, key: Term, look: impl FnOnce(&[Stored]) -> R) -> (R, Vec<Stored>) {
        let hash = hash_of(key);
        let mut segment = self.segment(hash).write();
        let Ok(place) = segment.find(hash, key, self.position) else { return (look(&[]), Vec::new()) };
        let Some(entry) = segment.entry_mut(place).filter(|entry| !entry.dead) else { return (look(&[]), Vec::new()) };
        let result = look(entry.live());
        let (rows, words) = (entry.live().len(), entry.live().iter().map(Stored::words).sum::<usize>());
        segment.rows -= rows;
        segment.words -= words;
        (result, bury(&mut segment, place, status))
    }

    /// Takes out the rows that are the same as this one.
    pub(crate) fn remove_object(&self, status: &Status, object: Term) -> Vec<Stored> {
        let key = key_of(object, self.position);
        let hash = hash_of(key);
        let mut segment = self.segment(hash).write();
        let Ok(place) = segment.find(hash, key, self.position) else { return Vec::new() };
        remove_rows(&mut segment, place, status, &mut |row| {
            if exactly_equal(*row.term(), object) { Fate::Delete } else { Fate::Keep }
        })
    }

    /// As [`crate::table::Table::update`]. Returns what is not in the table any more.
    pub(crate) fn update(
        &self,
        status: &Status,
        key: Term,
        change: impl FnOnce(Option<&mut Stored>) -> Result<Option<Incoming>, Fault>,
    ) -> Result<Option<Rows>, Fault> {
        let hash = hash_of(key);
        let mut segment = self.segment(hash).write();
        if !status.is_alive() {
            return Err(Fault::Id);
        }
        let row = match segment.find(hash, key, self.position) {
            Ok(place) => segment.entry_mut(place).filter(|entry| !entry.dead).and_then(|entry| match &mut entry.rows {
                Rows::One(row) => Some(row),
                Rows::Many(rows) => rows.first_mut(),
            }),
            Err(_) => None,
        };
        let Some(new) = change(row)? else { return Ok(None) };
        debug_assert_eq!(hash_of(key_of(*new.term(), self.position)), hash);
        let found = segment.find(hash, key, self.position);
        let replaced = self.put_at(&mut segment, found, hash, new);
        drop(segment);
        Ok(replaced)
    }

    /// Visits the rows of keys in the order of their hashes, from the first above `after` on, until `visit` returns
    /// false; the keys with the same hash are visited then too. Returns the hash to go on after; `None`: all were
    /// visited.
    pub(crate) fn scan(&self, after: Option<u32>, mut visit: impl FnMut(&[Stored]) -> bool) -> Option<u32> {
        let first = after.map_or(0, |hash| self.index(hash));
        let mut stop = None;
        for (number, segment) in self.segments.iter().enumerate().skip(first) {
            let segment = segment.read();
            for entry in segment.entries_after(after.filter(|_| number == first)) {
                if stop.is_some_and(|hash| hash != entry.hash) {
                    return stop;
                }
                if !entry.dead && !visit(entry.live()) {
                    stop = Some(entry.hash);
                }
            }
        }
        stop
    }

    /// Decides of every row what becomes of it. Returns those that are not in the table any more.
    pub(crate) fn change_all(&self, status: &Status, decide: &mut dyn FnMut(&Stored) -> Fate) -> Vec<Stored> {
        let mut gone = Vec::new();
        for segment in &self.segments {
            let mut segment = segment.write();
            let segment = &mut *segment;
            let is_fixed = status.is_fixed();
            let (mut rows, mut words, mut has_empty) = (segment.rows, segment.words, false);
            for entry in segment.entries_mut().filter(|entry| !entry.dead) {
                let (rows_before, words_before) = (entry.rows().len(), entry.words());
                if change_rows(entry, decide, &mut gone) {
                    rows = rows + entry.rows().len() - rows_before;
                    words = words + entry.words() - words_before;
                    continue;
                }
                // It goes below, or stays for its key's sake.
                (rows, words) = (rows - rows_before, words - words_before);
                entry.dead = true;
                has_empty = true;
                if let (true, Rows::Many(rows)) = (is_fixed, &mut entry.rows) {
                    gone.extend(rows.drain(1..));
                }
            }
            (segment.rows, segment.words) = (rows, words);
            if has_empty && is_fixed {
                segment.has_dead = true;
            } else if has_empty {
                gone.extend(segment.retain(|entry| !entry.dead).into_iter().flat_map(Entry::into_rows));
            }
        }
        gone
    }

    /// As [`Hashed::change_all`] for the rows of one key.
    pub(crate) fn change_key(
        &self,
        status: &Status,
        key: Term,
        decide: &mut dyn FnMut(&Stored) -> Fate,
    ) -> Vec<Stored> {
        let hash = hash_of(key);
        let mut segment = self.segment(hash).write();
        match segment.find(hash, key, self.position) {
            Ok(place) => remove_rows(&mut segment, place, status, decide),
            Err(_) => Vec::new(),
        }
    }

    /// The key that comes first in the table's order.
    pub(crate) fn first<R>(&self, found: impl FnOnce(&Stored) -> R) -> Option<R> {
        self.first_after(0, None, found)
    }

    fn first_after<R>(&self, from: usize, after: Option<u32>, found: impl FnOnce(&Stored) -> R) -> Option<R> {
        for (number, segment) in self.segments.iter().enumerate().skip(from) {
            let segment = segment.read();
            let mut entries = segment.entries_after(after.filter(|_| number == from));
            if let Some(row) = entries.find_map(|entry| entry.live().first()) {
                return Some(found(row));
            }
        }
        None
    }

    /// The row after those of this key. `Err` if the key is not in the table.
    pub(crate) fn next<R>(&self, key: Term, found: impl FnOnce(&Stored) -> R) -> Result<Option<R>, ()> {
        let hash = hash_of(key);
        {
            let segment = self.segment(hash).read();
            let place = segment.find(hash, key, self.position).map_err(|_| ())?;
            // Others with the same hash stand right behind.
            let same = (place + 1..).map_while(|place| segment.entry(place)).take_while(|entry| entry.hash == hash);
            if let Some(row) = same.filter_map(|entry| entry.live().first()).next() {
                return Ok(Some(found(row)));
            }
        }
        Ok(self.first_after(self.index(hash), Some(hash), found))
    }

    /// Takes everything out; while the table is fixed the keys stay.
    pub(crate) fn clear(&self, status: &Status) -> Garbage {
        let mut garbage = Garbage::default();
        // All of them, in the order in which `insert` takes them: nobody sees a part of the table empty.
        let mut segments: Vec<_> = self.segments.iter().map(|segment| segment.write()).collect();
        let keep = status.is_fixed() && status.is_alive();
        for segment in &mut segments {
            let rows = segment.rows;
            if keep {
                garbage.count(rows);
                (segment.rows, segment.words) = (0, 0);
                segment.has_dead = true;
                segment.retain(|entry| {
                    entry.dead = true;
                    true
                });
            } else {
                garbage.add(std::mem::replace(&mut **segment, Segment::new(self.segment_bits)).into_places(), rows);
            }
        }
        garbage
    }

    /// The table is not fixed any more: takes out the keys that were kept.
    pub(crate) fn unfixed(&self, status: &Status) {
        for segment in &self.segments {
            let mut segment = segment.write();
            if !segment.has_dead || status.is_fixed() {
                continue;
            }
            segment.has_dead = false;
            let removed = segment.retain(|entry| !entry.dead);
            drop(segment);
            drop(removed);
        }
    }

    /// Rows at one moment.
    pub(crate) fn count(&self) -> usize {
        Locked::count(&self.segments).unwrap_or_else(|| self.size().0)
    }

    /// Rows, and the words that they keep outside of collected heaps.
    pub(crate) fn size(&self) -> (usize, usize) {
        let own = self.segments.len() * size_of::<Locked>() / size_of::<Term>();
        // All of them, in the order in which `insert` and `clear` take them: nobody counts a part of what goes at once.
        let segments: SmallVec<[_; FEW]> = self.segments.iter().map(|segment| segment.read()).collect();
        segments.iter().fold((0, own), |(rows, words), segment| {
            let places = segment.places() * size_of::<Option<Entry>>() / size_of::<Term>();
            (rows + segment.rows, words + segment.words + places)
        })
    }

    /// Bits of the hash that number the slots of `ets:slot/2`.
    pub(crate) fn slot_bits(&self) -> u32 {
        let most = self.segments.iter().map(|segment| segment.read().bits()).max().unwrap_or(0);
        self.segment_bits + most
    }

    /// How the rows are spread over the slots.
    pub(crate) fn spread(&self) -> Spread {
        let bits = self.slot_bits();
        let mut spread = Spread { slots: 1 << bits, rows: 0, squares: 0, fewest: usize::MAX, most: 0, dead: 0 };
        let mut used = 0;
        let mut end_slot = |spread: &mut Spread, rows: usize| {
            used += 1;
            spread.rows += rows;
            spread.squares += rows * rows;
            spread.fewest = spread.fewest.min(rows);
            spread.most = spread.most.max(rows);
        };
        for segment in &self.segments {
            let segment = segment.read();
            let mut slot: Option<(u64, usize)> = None;
            for entry in segment.entries_after(None) {
                let number = u64::from(entry.hash) >> (u32::BITS - bits);
                let rows = entry.rows().len();
                spread.dead += if entry.dead { rows } else { 0 };
                slot = match slot {
                    Some((current, count)) if current == number => Some((number, count + rows)),
                    Some((_, count)) => {
                        end_slot(&mut spread, count);
                        Some((number, rows))
                    }
                    None => Some((number, rows)),
                };
            }
            if let Some((_, count)) = slot {
                end_slot(&mut spread, count);
            }
        }
        if used < spread.slots {
            spread.fewest = 0;
        }
        spread
    }

    /// Visits all rows, those of dead keys too.
    pub(crate) fn each(&self, mut visit: impl FnMut(&Stored)) {
        for segment in &self.segments {
            segment.read().entries_after(None).for_each(|entry| entry.rows().iter().for_each(&mut visit));
        }
    }

    /// Visits the rows of a slot.
    pub(crate) fn slot(&self, number: u32, bits: u32, mut visit: impl FnMut(&[Stored])) {
        let first = ((u64::from(number)) << (u32::BITS - bits)) as u32;
        let in_slot = |hash: u32| u64::from(hash) >> (u32::BITS - bits) == u64::from(number);
        let segment = self.segment(first).read();
        let entries =
            segment.entries_after(first.checked_sub(1).filter(|before| self.index(*before) == self.index(first)));
        entries.take_while(|entry| in_slot(entry.hash)).for_each(|entry| visit(entry.live()));
    }
}

/// Decides of the rows of an entry what becomes of them. False: none is to stay; they are all there still.
fn change_rows(entry: &mut Entry, decide: &mut dyn FnMut(&Stored) -> Fate, gone: &mut Vec<Stored>) -> bool {
    match &mut entry.rows {
        Rows::One(row) => match decide(row) {
            Fate::Keep => true,
            Fate::Delete => false,
            Fate::Replace(new) => {
                gone.push(std::mem::replace(row, new));
                true
            }
        },
        Rows::Many(rows) => {
            let mut fates: Vec<Fate> = rows.iter().map(decide).collect();
            if fates.iter().all(|fate| matches!(fate, Fate::Delete)) {
                return false;
            }
            for (row, fate) in rows.iter_mut().zip(&mut fates) {
                if matches!(fate, Fate::Replace(_))
                    && let Fate::Replace(new) = std::mem::replace(fate, Fate::Keep)
                {
                    gone.push(std::mem::replace(row, new));
                }
            }
            let mut fates = fates.into_iter();
            gone.extend(rows.extract_if(.., |_| matches!(fates.next(), Some(Fate::Delete))));
            true
        }
    }
}

/// An entry has lost its rows: it goes, or stays for its key's sake. Returns the rows that are not needed.
fn bury(segment: &mut Segment, place: usize, status: &Status) -> Vec<Stored> {
    if !status.is_fixed() {
        return segment.remove(place).map(Entry::into_rows).unwrap_or_default();
    }
    let Some(entry) = segment.entry_mut(place) else { return Vec::new() };
    entry.dead = true;
    let others = match &mut entry.rows {
        Rows::Many(rows) => rows.split_off(1),
        Rows::One(_) => Vec::new(),
    };
    segment.has_dead = true;
    others
}

/// Decides of the rows of an entry what becomes of them.
fn remove_rows(
    segment: &mut Segment,
    place: usize,
    status: &Status,
    decide: &mut dyn FnMut(&Stored) -> Fate,
) -> Vec<Stored> {
    let Some(entry) = segment.entry_mut(place).filter(|entry| !entry.dead) else { return Vec::new() };
    let (rows, words) = (entry.rows().len(), entry.words());
    let mut gone = Vec::new();
    let stays = change_rows(entry, decide, &mut gone);
    let (rows_after, words_after) = if stays { (entry.rows().len(), entry.words()) } else { (0, 0) };
    segment.rows = segment.rows + rows_after - rows;
    segment.words = segment.words + words_after - words;
    if !stays {
        gone.extend(bury(segment, place, status));
    }
    gone
}
