//! `update_counter` and `update_element`.

use atoll_heap::{Incoming, Mutator, Stored};
use atoll_operations::arithmetic;
use atoll_term::{Build, Term, compare};
use smallvec::SmallVec;

use crate::fault::Fault;
use crate::table::Table;

/// New values of elements of a row, by index from 0; of several for one index the last counts.
type Changes = SmallVec<[(usize, Term); 4]>;
/// Values that counters have got.
pub type Counted = SmallVec<[Term; 4]>;

/// The index of an element that may be changed.
fn changeable(position: i64, size: usize, key_position: usize) -> Result<usize, Fault> {
    let position = usize::try_from(position).ok().filter(|position| (1..=size).contains(position));
    match position.ok_or(Fault::Position)? {
        position if position == key_position => Err(Fault::KeyPosition),
        position => Ok(position - 1),
    }
}

fn value_of(row: &[Term], changes: &Changes, index: usize) -> Term {
    changes.iter().rev().find(|(changed, _)| *changed == index).map_or(row[index], |(_, value)| *value)
}

/// Adds to an element; gives the new value.
fn count(
    heap: &mut Mutator,
    row: &[Term],
    key_position: usize,
    operation: Term,
    changes: &mut Changes,
) -> Result<Term, Fault> {
    let parts = operation.tuple_elements().ok_or(Fault::Argument)?;
    let (position, increment, limit) = match *parts {
        [position, increment] => (position, increment, None),
        [position, increment, threshold, value] => (position, increment, Some((threshold, value))),
        _ => return Err(Fault::Argument),
    };
    let position = position.as_small().ok_or(Fault::Argument)?;
    // What the operation says comes before what the row has.
    if !increment.is_integer() || limit.is_some_and(|(threshold, value)| !threshold.is_integer() || !value.is_integer())
    {
        return Err(Fault::Argument);
    }
    let index = changeable(position, row.len(), key_position)?;
    let value = value_of(row, changes, index);
    if !value.is_integer() {
        return Err(Fault::Argument);
    }
    let sum = arithmetic::add(heap, value, increment).map_err(|_| Fault::Argument)?;
    let new = match limit {
        Some((threshold, reset)) => {
            let downwards = compare(increment, Term::small(0)).is_lt();
            let order = compare(sum, threshold);
            if if downwards { order.is_lt() } else { order.is_gt() } { reset } else { sum }
        }
        None => sum,
    };
    changes.push((index, new));
    Ok(new)
}

/// Puts the changes into the row in place where that is allowed; else gives the new row.
fn apply(heap: &mut Mutator, row: &mut Stored, changes: &Changes) -> Option<Incoming> {
    if changes.iter().all(|(index, value)| row.replace_element(*index, *value)) {
        return None;
    }
    let whole = row.fetch(heap);
    Some(rebuilt(heap, whole, changes))
}

fn rebuilt(heap: &mut Mutator, row: Term, changes: &Changes) -> Incoming {
    let mut elements = row.tuple_elements().unwrap_or_default().to_vec();
    for (index, value) in changes {
        elements[*index] = *value;
    }
    let row = heap.tuple(&elements);
    Incoming::new_own(heap, row)
}

impl Table {
    /// `update_counter`: does the operations, `{Position, Increment}` or `{Position, Increment, Threshold, Value}`, one
    /// after the other on the row with this key, or on the default row if there is none. Gives the new values.
    ///
    /// # Errors
    /// Nothing is changed then. [`Fault::TableType`], [`Fault::BadKey`], [`Fault::Position`], [`Fault::KeyPosition`],
    /// [`Fault::Argument`], [`Fault::Id`]
    pub fn update_counter(
        &self,
        heap: &mut Mutator,
        key: Term,
        operations: &[Term],
        default: Option<Term>,
    ) -> Result<Counted, Fault> {
        if !self.kind().is_set() {
            return Err(Fault::TableType);
        }
        if default.is_some_and(|default| !self.accepts(default)) {
            return Err(Fault::Argument);
        }
        let position = self.position();
        let mut values = Counted::new();
        self.update(key, |row| {
            let base = match (&row, &default) {
                (Some(row), _) => row.term(),
                (None, None) => return Err(Fault::BadKey),
                (None, Some(default)) => default,
            };
            let mut changes = Changes::new();
            let elements = base.tuple_elements().unwrap_or_default();
            for operation in operations {
                values.push(count(heap, elements, position, *operation, &mut changes)?);
            }
            Ok(match row {
                Some(row) => {
                    // Values that were not computed but found lie in the row.
                    apply(heap, row, &changes)
                }
                None => {
                    changes.push((position - 1, key));
                    Some(rebuilt(heap, *base, &changes))
                }
            })
        })?;
        Ok(values)
    }

    /// `update_element`: puts values, `{Position, Value}`, into the row with this key. `None` for malformed operations.
    /// If there is no such row, the default row is changed and kept under this key, as OTP 27 does; without one, false.
    ///
    /// # Errors
    /// Nothing is changed then. [`Fault::KeyPosition`], [`Fault::Argument`], [`Fault::Id`]
    pub fn update_element(
        &self,
        heap: &mut Mutator,
        key: Term,
        operations: Option<&[Term]>,
        default: Option<Term>,
    ) -> Result<bool, Fault> {
        if !self.kind().is_set() || default.is_some_and(|default| !self.accepts(default)) {
            return Err(Fault::Argument);
        }
        let position = self.position();
        let mut is_there = true;
        self.update(key, |row| {
            let base = match (&row, &default) {
                (Some(row), _) => row.term(),
                (None, Some(default)) => default,
                (None, None) => {
                    is_there = false;
                    return Ok(None);
                }
            };
            let size = base.tuple_elements().map_or(0, <[Term]>::len);
            let change = |operation: &Term| {
                let Some(&[at, value]) = operation.tuple_elements() else { return Err(Fault::Argument) };
                let at = at.as_small().ok_or(Fault::Argument)?;
                match changeable(at, size, position) {
                    Ok(index) => Ok((index, value)),
                    Err(Fault::Position) => Err(Fault::Argument),
                    Err(fault) => Err(fault),
                }
            };
            let mut changes = Changes::new();
            for operation in operations.ok_or(Fault::Argument)? {
                changes.push(change(operation)?);
            }
            Ok(match row {
                Some(row) => apply(heap, row, &changes),
                None => {
                    changes.push((position - 1, key));
                    Some(rebuilt(heap, *base, &changes))
                }
            })
        })?;
        Ok(is_there)
    }
}
