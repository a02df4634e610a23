//! A table: what is known of it, and the operations on rows by their keys.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU8, Ordering};

use atoll_heap::{Incoming, Mutator, Stored};
use atoll_process::{ReferenceId, System};
use atoll_term::{Build, OffHeapBinary, Term, each_off_heap_binary};
use parking_lot::Mutex;

use crate::fault::Fault;
use crate::fixation::Fixations;
use crate::garbage::Garbage;
use crate::hashed::{Duplicates, Hashed, MOST_SEGMENT_BITS, Replaced, Spread};
use crate::ordered::{Ordered, Span};
use crate::segment::key_of;
use crate::standing::Standing;
use crate::status::Status;

/// Type of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `set`
    Set,
    /// `ordered_set`
    OrderedSet,
    /// `bag`
    Bag,
    /// `duplicate_bag`
    DuplicateBag,
}

impl Kind {
    /// Whether each key has one row at most.
    pub fn is_set(self) -> bool {
        matches!(self, Kind::Set | Kind::OrderedSet)
    }
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Protection {
    /// Any process may read and write.
    Public = 0,
    /// Any process may read, the owner may write.
    Protected = 1,
    /// The owner alone.
    Private = 2,
}

/// `write_concurrency`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteConcurrency {
    /// `false`
    Off,
    /// `true`
    On,
    /// `auto`
    Auto,
    /// `{debug_hash_fixed_number_of_locks, Locks}`, which OTP's tests use.
    Locks(u32),
}

/// Options of a new table. `write_concurrency` gives it more locks; the others of concurrency are kept for `ets:info`.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Type.
    pub kind: Kind,
    /// Protection.
    pub protection: Protection,
    /// Position of the key, from 1.
    pub position: usize,
    /// Whether the table is found by its name.
    pub named: bool,
    /// `compressed`
    pub compressed: bool,
    /// `read_concurrency`
    pub read_concurrency: bool,
    /// `write_concurrency`
    pub write_concurrency: WriteConcurrency,
    /// `decentralized_counters`, if it was said.
    pub decentralized_counters: Option<bool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kind: Kind::Set,
            protection: Protection::Protected,
            position: 1,
            named: false,
            compressed: false,
            read_concurrency: false,
            write_concurrency: WriteConcurrency::Off,
            decentralized_counters: None,
        }
    }
}

pub(crate) enum Rows {
    Hashed(Hashed),
    Ordered(Ordered),
}

impl AsRef<Standing> for Table {
    fn as_ref(&self) -> &Standing {
        &self.standing
    }
}

/// A table.
pub struct Table {
    pub(crate) id: u64,
    pub(crate) reference: ReferenceId,
    pub(crate) standing: Standing,
    protection: AtomicU8,
    options: Options,
    pub(crate) status: Status,
    pub(crate) fixations: Mutex<Fixations>,
    pub(crate) rows: Rows,
}

/// Segments of tables that are made for several writers, as a power of two.
const MANY_SEGMENTS: u32 = MOST_SEGMENT_BITS;
/// Segments of others that several processes can use: fewest and most. To insert many rows at once locks most of them.
const FEW_SEGMENTS: RangeInclusive<u32> = 2..=4;

/// As a power of two: four for each scheduler. Two writers on two schedulers took 15% longer with half of them.
fn few_segments(schedulers: usize) -> u32 {
    let (fewest, most) = FEW_SEGMENTS.into_inner();
    (4 * schedulers).next_power_of_two().ilog2().clamp(fewest, most)
}

impl Table {
    pub(crate) fn new(id: u64, standing: Standing, options: Options) -> Table {
        let position = options.position;
        let is_shared = options.protection != Protection::Private;
        let is_written_by_many = is_shared && options.write_concurrency != WriteConcurrency::Off;
        let segments = match (is_written_by_many, is_shared) {
            (true, _) => MANY_SEGMENTS,
            (false, true) => few_segments(System::get().schedulers),
            (false, false) => 0,
        };
        let rows = match options.kind {
            Kind::Set => Rows::Hashed(Hashed::new(segments, position, Duplicates::Replace)),
            Kind::Bag => Rows::Hashed(Hashed::new(segments, position, Duplicates::Different)),
            Kind::DuplicateBag => Rows::Hashed(Hashed::new(segments, position, Duplicates::All)),
            Kind::OrderedSet => Rows::Ordered(Ordered::new(position)),
        };
        Table {
            id,
            reference: ReferenceId::fresh(),
            standing,
            protection: AtomicU8::new(options.protection as u8),
            options,
            status: Status::default(),
            fixations: Mutex::default(),
            rows,
        }
    }

    /// Its name (atom), by which it is found if it is a named one.
    pub fn name(&self) -> Term {
        self.standing.name()
    }

    /// Its owner's pid.
    pub fn owner(&self) -> Term {
        self.standing.owner()
    }

    /// Its protection.
    pub fn protection(&self) -> Protection {
        [Protection::Public, Protection::Protected, Protection::Private]
            [usize::from(self.protection.load(Ordering::Acquire))]
    }

    /// Changes its protection; the caller holds the table.
    pub(crate) fn set_protection(&self, protection: Protection) {
        self.protection.store(protection as u8, Ordering::Release);
    }

    /// The options that it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        self.options.kind
    }

    /// Position of the key, from 1.
    pub fn position(&self) -> usize {
        self.options.position
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        match &self.rows {
            Rows::Hashed(rows) => rows.count(),
            Rows::Ordered(rows) => rows.size().0,
        }
    }

    /// Rows, and the words that they keep outside of collected heaps.
    pub fn size(&self) -> (usize, usize) {
        match &self.rows {
            Rows::Hashed(rows) => rows.size(),
            Rows::Ordered(rows) => rows.size(),
        }
    }

    /// How a hashed table's rows are spread over its slots; looks at all of them.
    pub fn spread(&self) -> Option<Spread> {
        match &self.rows {
            Rows::Hashed(rows) => Some(rows.spread()),
            Rows::Ordered(_) => None,
        }
    }

    /// Visits the binaries outside of heaps that rows hold, those too that are deleted and kept because the table is
    /// fixed.
    pub fn each_binary(&self, mut visit: impl FnMut(&OffHeapBinary)) {
        let mut row = |row: &Stored| each_off_heap_binary(*row.term(), &mut visit);
        match &self.rows {
            Rows::Hashed(rows) => rows.each(row),
            Rows::Ordered(rows) => rows.scan(&Span::ALL, false, |stored| {
                row(stored);
                true
            }),
        }
    }

    fn with_key<R>(&self, key: Term, look: impl FnOnce(&[Stored]) -> R) -> R {
        match &self.rows {
            Rows::Hashed(rows) => rows.with_key(key, look),
            Rows::Ordered(rows) => rows.with_key(key, look),
        }
    }

    /// Whether the term can be a row: a tuple that has a key.
    pub fn accepts(&self, row: Term) -> bool {
        !key_of(row, self.position()).is_none()
    }

    /// Inserts rows, which lie on the heap and have keys. Returns false, and inserts nothing, if only new ones are
    /// wanted and a key is there.
    ///
    /// # Errors
    /// [`Fault::Id`]: the table was deleted
    pub fn insert(&self, heap: &mut Mutator, rows: &[Term], only_new: bool) -> Result<bool, Fault> {
        match (&self.rows, rows) {
            (Rows::Hashed(table), [row]) => {
                // A large row is copied neither in vain nor under a lock.
                if only_new && self.contains(key_of(*row, self.position())) {
                    return Ok(false);
                }
                let (inserted, replaced) = table.insert_one(&self.status, Incoming::new(heap, *row), only_new)?;
                drop(replaced);
                Ok(inserted)
            }
            (Rows::Hashed(table), _) => {
                let rows = rows.iter().map(|row| Incoming::new(heap, *row));
                Ok(table.insert(&self.status, rows, only_new, &mut Replaced::new())?)
            }
            (Rows::Ordered(table), [row]) => {
                let (inserted, replaced) = table.insert_one(&self.status, Stored::new(heap, *row), only_new)?;
                drop(replaced);
                Ok(inserted)
            }
            (Rows::Ordered(table), _) => {
                let rows = rows.iter().map(|row| Stored::new(heap, *row)).collect();
                let (inserted, replaced) = table.insert(&self.status, rows, only_new)?;
                drop(replaced);
                Ok(inserted)
            }
        }
    }

    /// The rows with this key, as a list.
    pub fn lookup(&self, heap: &mut Mutator, key: Term) -> Term {
        self.with_key(key, |rows| fetch_all(heap, rows))
    }

    /// Whether a row has this key.
    pub fn contains(&self, key: Term) -> bool {
        self.with_key(key, |rows| !rows.is_empty())
    }

    /// The elements at `position` (from 1) of the rows with this key: one, or a list for bags.
    ///
    /// # Errors
    /// [`Fault::BadKey`], [`Fault::Argument`]: a row is too short
    pub fn lookup_element(&self, heap: &mut Mutator, key: Term, position: usize) -> Result<Term, Fault> {
        self.with_key(key, |rows| {
            if rows.is_empty() {
                return Err(Fault::BadKey);
            }
            let element = |row: &Stored| match key_of(*row.term(), position) {
                element if element.is_none() => Err(Fault::Argument),
                element => Ok(element),
            };
            if let ([row], true) = (rows, self.kind().is_set()) {
                return Ok(row.fetch_part(heap, element(row)?));
            }
            let elements = rows.iter().map(element).collect::<Result<Vec<Term>, Fault>>()?;
            let fetched: Vec<Term> =
                rows.iter().zip(elements).map(|(row, element)| row.fetch_part(heap, element)).collect();
            Ok(heap.list(fetched))
        })
    }

    /// Takes out the rows with this key; returns them as a list.
    pub fn take(&self, heap: &mut Mutator, key: Term) -> Term {
        self.remove(key, |rows| fetch_all(heap, rows))
    }

    /// Takes out the rows with this key.
    pub fn delete_key(&self, key: Term) {
        self.remove(key, |_| ());
    }

    fn remove<R>(&self, key: Term, look: impl FnOnce(&[Stored]) -> R) -> R {
        let (result, removed) = match &self.rows {
            Rows::Hashed(rows) => rows.remove(&self.status, key, look),
            Rows::Ordered(rows) => rows.remove(key, look),
        };
        drop(removed);
        result
    }

    /// Takes out the rows that are the same as this one, which has a key.
    pub fn delete_object(&self, object: Term) {
        let removed = match &self.rows {
            Rows::Hashed(rows) => rows.remove_object(&self.status, object),
            Rows::Ordered(rows) => rows.remove_object(object),
        };
        drop(removed);
    }

    /// Takes out everything.
    pub fn clear(&self) -> Garbage {
        match &self.rows {
            Rows::Hashed(rows) => rows.clear(&self.status),
            Rows::Ordered(rows) => rows.clear(),
        }
    }

    /// Calls `change` with the row of a key, or without one; what it gives is put in its place, or added. For sets.
    ///
    /// # Errors
    /// Those of `change`; [`Fault::Id`]: the table was deleted
    pub(crate) fn update(
        &self,
        key: Term,
        change: impl FnOnce(Option<&mut Stored>) -> Result<Option<Incoming>, Fault>,
    ) -> Result<(), Fault> {
        match &self.rows {
            Rows::Hashed(rows) => drop(rows.update(&self.status, key, change)?),
            Rows::Ordered(rows) => drop(rows.update(&self.status, key, change)?),
        }
        Ok(())
    }

    /// The first key of the table's order, or the last.
    pub fn edge(&self, heap: &mut Mutator, last: bool) -> Option<Term> {
        let key = |row: &Stored| row.fetch_part(heap, key_of(*row.term(), self.position()));
        match &self.rows {
            Rows::Hashed(rows) => rows.first(key),
            Rows::Ordered(rows) => rows.edge(last, key),
        }
    }

    /// The key behind this one in the table's order, or before it. Hashed tables have one order, whichever is asked
    /// for.
    ///
    /// # Errors
    /// [`Fault::Argument`]: the key is not in a hashed table
    pub fn neighbour(&self, heap: &mut Mutator, key: Term, before: bool) -> Result<Option<Term>, Fault> {
        let found = |row: &Stored| row.fetch_part(heap, key_of(*row.term(), self.position()));
        match &self.rows {
            Rows::Hashed(rows) => rows.next(key, found).map_err(|()| Fault::Argument),
            Rows::Ordered(rows) => Ok(rows.beside(key, before, found)),
        }
    }

    /// The rows of slot number `number`; `None`: that is the number of slots.
    ///
    /// # Errors
    /// [`Fault::Argument`]: the number is higher
    pub fn slot(&self, heap: &mut Mutator, number: usize) -> Result<Option<Term>, Fault> {
        match &self.rows {
            Rows::Ordered(rows) => match rows.nth(number, |row| row.fetch(heap)) {
                Some(row) => Ok(Some(heap.list([row]))),
                None if number == rows.size().0 => Ok(None),
                None => Err(Fault::Argument),
            },
            Rows::Hashed(rows) => {
                let bits = rows.slot_bits();
                let slots = 1u64 << bits;
                if number as u64 >= slots {
                    return if number as u64 == slots { Ok(None) } else { Err(Fault::Argument) };
                }
                let mut found = Vec::new();
                rows.slot(number as u32, bits, |rows| found.extend(rows.iter().map(|row| row.fetch(heap))));
                Ok(Some(heap.list(found)))
            }
        }
    }
}

fn fetch_all(heap: &mut Mutator, rows: &[Stored]) -> Term {
    let mut fetched = Term::NIL;
    for row in rows.iter().rev() {
        let row = row.fetch(heap);
        fetched = heap.cons(row, fetched);
    }
    fetched
}
