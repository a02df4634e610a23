//! Tables in the order of their keys: `ordered_set`. A B-tree under a lock that readers share.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

use atoll_heap::{Incoming, Stored};
use atoll_term::{Immediate, Term, compare, exactly_equal};
use parking_lot::RwLock;

use crate::fault::Fault;
use crate::garbage::Garbage;
use crate::partial::{PartialKey, compare_partial};
use crate::segment::key_of;
use crate::status::{Gone, Status};
use crate::traversal::Fate;

/// A place in the order of keys.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// That of a key.
    Key(Term),
    /// Before all keys that a partially bound key may match.
    Before(PartialKey),
    /// Behind them.
    Behind(PartialKey),
}

trait Placed {
    fn place(&self) -> Place;
}

impl Placed for Place {
    fn place(&self) -> Place {
        *self
    }
}

/// A row, in the order of its key. A key that is an immediate lies here as well: a search for one reads the nodes of
/// the tree, and no rows.
pub(crate) struct Row {
    /// [`Immediate::NONE`]: it is none.
    key: Immediate,
    position: u32,
    /// None: this is an immediate key that is looked for.
    stored: Option<Stored>,
}

impl Row {
    fn new(stored: Stored, position: usize) -> Row {
        let key = Immediate::or_none(key_of(*stored.term(), position));
        Row { key, position: position as u32, stored: Some(stored) }
    }

    fn sought(key: Immediate) -> Row {
        Row { key, position: 0, stored: None }
    }

    #[inline]
    fn key(&self) -> Term {
        match &self.stored {
            Some(stored) if self.key.is_none() => key_of(*stored.term(), self.position as usize),
            _ => self.key.term(),
        }
    }
}

impl Placed for Row {
    fn place(&self) -> Place {
        Place::Key(self.key())
    }
}

impl Ord for dyn Placed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.place(), other.place()) {
            (Place::Key(one), Place::Key(other)) => compare(one, other),
            (Place::Key(key), Place::Before(pattern)) => {
                compare_partial(pattern, key).reverse().then(Ordering::Greater)
            }
            (Place::Key(key), Place::Behind(pattern)) => compare_partial(pattern, key).reverse().then(Ordering::Less),
            (Place::Before(pattern), Place::Key(key)) => compare_partial(pattern, key).then(Ordering::Less),
            (Place::Behind(pattern), Place::Key(key)) => compare_partial(pattern, key).then(Ordering::Greater),
            // Bounds are made in pairs of the same pattern.
            (Place::Before(_), Place::Behind(_)) => Ordering::Less,
            (Place::Behind(_), Place::Before(_)) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

impl PartialOrd for dyn Placed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Placed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Placed + '_ {}

impl Ord for Row {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.key.term().as_small(), other.key.term().as_small()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => compare(self.key(), other.key()),
        }
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Row {}

impl<'p> std::borrow::Borrow<dyn Placed + 'p> for Row {
    fn borrow(&self) -> &(dyn Placed + 'p) {
        self
    }
}

#[derive(Default)]
struct Tree {
    rows: BTreeSet<Row>,
    words: usize,
}

impl Tree {
    fn get(&self, key: Term) -> Option<&Stored> {
        let row = match Immediate::of(key) {
            Some(key) => self.rows.get(&Row::sought(key)),
            None => self.rows.get(&Place::Key(key) as &dyn Placed),
        };
        row?.stored.as_ref()
    }

    fn take(&mut self, key: Term) -> Option<Stored> {
        let row = match Immediate::of(key) {
            Some(key) => self.rows.take(&Row::sought(key)),
            None => self.rows.take(&Place::Key(key) as &dyn Placed),
        };
        let stored = row?.stored?;
        self.words -= stored.words();
        Some(stored)
    }

    fn put(&mut self, stored: Stored, position: usize) -> Option<Stored> {
        self.words += stored.words();
        let old = self.rows.replace(Row::new(stored, position))?.stored?;
        self.words -= old.words();
        Some(old)
    }
}

/// The rows of an ordered table.
pub(crate) struct Ordered {
    tree: RwLock<Tree>,
    position: usize,
}

/// A run of keys.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// Where it starts.
    pub(crate) from: Bound<Place>,
    /// Where it ends.
    pub(crate) to: Bound<Place>,
}

impl Span {
    /// All keys.
    pub(crate) const ALL: Span = Span { from: Bound::Unbounded, to: Bound::Unbounded };

    /// All keys behind a place, or before it.
    pub(crate) fn beside(place: Place, before: bool) -> Span {
        match before {
            true => Span { from: Bound::Unbounded, to: Bound::Excluded(place) },
            false => Span { from: Bound::Excluded(place), to: Bound::Unbounded },
        }
    }

    /// Whether no key can lie in it; a search for such a run would not be allowed.
    fn is_empty(&self) -> bool {
        let (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) =
            (&self.from, &self.to)
        else {
            return false;
        };
        let excluded = matches!(self.from, Bound::Excluded(_)) || matches!(self.to, Bound::Excluded(_));
        let order = (from as &dyn Placed).cmp(to as &dyn Placed);
        order.is_gt() || order.is_eq() && excluded
    }
}

fn as_placed<'b>(bound: &'b Bound<Place>) -> Bound<&'b (dyn Placed + 'b)> {
    match bound {
        Bound::Included(place) => Bound::Included(place),
        Bound::Excluded(place) => Bound::Excluded(place),
        Bound::Unbounded => Bound::Unbounded,
    }
}

impl Ordered {
    /// An empty table.
    pub(crate) fn new(position: usize) -> Ordered {
        Ordered { tree: RwLock::default(), position }
    }

    /// Calls `look` with the row of a key, if there is one.
    pub(crate) fn with_key<R>(&self, key: Term, look: impl FnOnce(&[Stored]) -> R) -> R {
        let tree = self.tree.read();
        look(tree.get(key).map_or(&[], std::slice::from_ref))
    }

    /// As [`crate::hashed::Hashed::insert`].
    pub(crate) fn insert(
        &self,
        status: &Status,
        rows: Vec<Stored>,
        only_new: bool,
    ) -> Result<(bool, Vec<Stored>), Gone> {
        let mut tree = self.tree.write();
        if !status.is_alive() {
            return Err(Gone);
        }
        if only_new && rows.iter().any(|row| tree.get(key_of(*row.term(), self.position)).is_some()) {
            return Ok((false, rows));
        }
        Ok((true, rows.into_iter().filter_map(|row| tree.put(row, self.position)).collect()))
    }

    /// As [`Ordered::insert`], of a single row.
    pub(crate) fn insert_one(
        &self,
        status: &Status,
        row: Stored,
        only_new: bool,
    ) -> Result<(bool, Option<Stored>), Gone> {
        let mut tree = self.tree.write();
        if !status.is_alive() {
            return Err(Gone);
        }
        if only_new && tree.get(key_of(*row.term(), self.position)).is_some() {
            drop(tree);
            return Ok((false, Some(row)));
        }
        Ok((true, tree.put(row, self.position)))
    }

    /// Takes out the row of a key.
    pub(crate) fn remove<R>(&self, key: Term, look: impl FnOnce(&[Stored]) -> R) -> (R, Vec<Stored>) {
        let taken = self.tree.write().take(key);
        (look(taken.as_slice()), taken.into_iter().collect())
    }

    /// Takes out the row that is the same as this one.
    pub(crate) fn remove_object(&self, object: Term) -> Vec<Stored> {
        let key = key_of(object, self.position);
        let mut tree = self.tree.write();
        match tree.get(key) {
            Some(row) if exactly_equal(*row.term(), object) => tree.take(key).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// As [`crate::hashed::Hashed::update`].
    pub(crate) fn update(
        &self,
        status: &Status,
        key: Term,
        change: impl FnOnce(Option<&mut Stored>) -> Result<Option<Incoming>, Fault>,
    ) -> Result<Vec<Stored>, Fault> {
        let mut tree = self.tree.write();
        if !status.is_alive() {
            return Err(Fault::Id);
        }
        let mut row = tree.take(key);
        let new = change(row.as_mut());
        let mut put = |row: Stored| tree.put(row, self.position);
        match new {
            Ok(Some(new)) => Ok(put(new.keep()).into_iter().chain(row).collect()),
            Ok(None) => Ok(row.and_then(put).into_iter().collect()),
            Err(fault) => {
                let twin = row.and_then(put);
                drop(tree);
                drop(twin);
                Err(fault)
            }
        }
    }

    /// Visits the rows of a run of keys in their order, or backwards, until `visit` returns false.
    pub(crate) fn scan(&self, span: &Span, backwards: bool, mut visit: impl FnMut(&Stored) -> bool) {
        if span.is_empty() {
            return;
        }
        let tree = self.tree.read();
        let mut rows = tree.rows.range::<dyn Placed, _>((as_placed(&span.from), as_placed(&span.to)));
        while let Some(row) = if backwards { rows.next_back() } else { rows.next() } {
            if !row.stored.as_ref().is_none_or(&mut visit) {
                return;
            }
        }
    }

    /// Decides of the rows of a run of keys what becomes of them. Returns those that are not in the table any more.
    pub(crate) fn change(&self, span: &Span, decide: &mut dyn FnMut(&Stored) -> Fate) -> Vec<Stored> {
        if span.is_empty() {
            return Vec::new();
        }
        let mut tree = self.tree.write();
        let mut changes = Vec::new();
        for row in tree.rows.range::<dyn Placed, _>((as_placed(&span.from), as_placed(&span.to))) {
            match row.stored.as_ref().map_or(Fate::Keep, &mut *decide) {
                Fate::Keep => {}
                Fate::Delete => changes.push((row.key(), None)),
                Fate::Replace(new) => changes.push((row.key(), Some(new))),
            }
        }
        let mut gone = Vec::with_capacity(changes.len());
        for (key, new) in changes {
            gone.extend(match new {
                Some(new) => tree.put(new, self.position),
                None => tree.take(key),
            });
        }
        gone
    }

    /// The row with the first key, or the last.
    pub(crate) fn edge<R>(&self, last: bool, found: impl FnOnce(&Stored) -> R) -> Option<R> {
        let tree = self.tree.read();
        let row = if last { tree.rows.last() } else { tree.rows.first() };
        row?.stored.as_ref().map(found)
    }

    /// The row behind a key, or before it.
    pub(crate) fn beside<R>(&self, key: Term, before: bool, found: impl FnOnce(&Stored) -> R) -> Option<R> {
        let tree = self.tree.read();
        let row = match Immediate::of(key) {
            Some(key) => {
                let key = Row::sought(key);
                match before {
                    true => tree.rows.range::<Row, _>((Bound::Unbounded, Bound::Excluded(&key))).next_back(),
                    false => tree.rows.range::<Row, _>((Bound::Excluded(&key), Bound::Unbounded)).next(),
                }
            }
            None => {
                let span = Span::beside(Place::Key(key), before);
                let mut rows = tree.rows.range::<dyn Placed, _>((as_placed(&span.from), as_placed(&span.to)));
                if before { rows.next_back() } else { rows.next() }
            }
        };
        row?.stored.as_ref().map(found)
    }

    /// The row number `number` in the order of keys.
    pub(crate) fn nth<R>(&self, number: usize, found: impl FnOnce(&Stored) -> R) -> Option<R> {
        self.tree.read().rows.iter().nth(number)?.stored.as_ref().map(found)
    }

    /// Takes everything out.
    pub(crate) fn clear(&self) -> Garbage {
        Garbage::ordered(std::mem::take(&mut *self.tree.write()).rows)
    }

    /// Rows, and the words that they keep outside of collected heaps.
    pub(crate) fn size(&self) -> (usize, usize) {
        let tree = self.tree.read();
        (tree.rows.len(), tree.words + tree.rows.len() * (size_of::<Row>() / size_of::<Term>()))
    }
}
