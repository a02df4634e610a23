//! The standard order of terms:
//!
//! number < atom < reference < fun < port < pid < tuple < map < `[]` < list < bitstring
//!
//! Terms can be nested without limit, so nothing here recurses on the native stack.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::atoms::atom_name;
use crate::bit_order::compare_bits;
use crate::equal::exactly_equal;
use crate::equal::same_float;
use crate::header::Kind;
use crate::map::{self, Cells};
use crate::number::{compare_bigs, compare_numbers};
use crate::part::this_node;
use crate::view::{External, ExternalKind, View};
use crate::word::{Term, pid_parts};

/// The order of `==`, `<` and sorting: integers and floats by value, except inside the keys of maps.
#[inline]
pub fn compare(a: Term, b: Term) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if Term::both_small(a, b) {
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    shallow(a, b, false, SHALLOW)
}

/// The order of the keys of a map: as [`compare`], but every integer is before every float.
#[inline]
pub fn compare_exact(a: Term, b: Term) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if Term::both_small(a, b) {
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    match (a.is_small(), b.is_small()) {
        (true, false) if b.is_atom() => Ordering::Less,
        (false, true) if a.is_atom() => Ordering::Greater,
        _ => shallow(a, b, true, SHALLOW),
    }
}

/// The order of two atoms. Most names differ in the first byte, which takes no call.
fn atoms(a: Term, b: Term) -> Ordering {
    let (left, right) = (atom_name(a).as_bytes(), atom_name(b).as_bytes());
    match (left.first(), right.first()) {
        (Some(one), Some(other)) if one != other => one.cmp(other),
        _ => left.cmp(right),
    }
}

/// Levels of nesting that are compared on the native stack.
const SHALLOW: u32 = 8;

/// The order of two terms. Most are of the kinds that are handled here, and end after a few words.
#[inline(never)]
fn shallow(mut a: Term, mut b: Term, exact: bool, levels: u32) -> Ordering {
    loop {
        if a == b {
            return Ordering::Equal;
        }
        if Term::both_small(a, b) {
            return (a.word() as i64).cmp(&(b.word() as i64));
        }
        if levels == 0 {
            return deep(a, b, exact);
        }
        if a.is_cons() && b.is_cons() {
            let ([head_a, tail_a], [head_b, tail_b]) = (*a.cons_cell(), *b.cons_cell());
            if head_a != head_b {
                let order = shallow(head_a, head_b, exact, levels - 1);
                if order.is_ne() {
                    return order;
                }
            }
            (a, b) = (tail_a, tail_b);
            continue;
        }
        if a.is_atom() && b.is_atom() {
            return atoms(a, b);
        }
        if let (Some(one), Some(other)) = (frequent_rank(a), frequent_rank(b))
            && one != other
        {
            return one.cmp(&other);
        }
        return match (a.boxed_kind(), b.boxed_kind()) {
            (Some(Kind::Tuple), Some(Kind::Tuple)) => {
                // SAFETY: both are tuples, which are scanned.
                let (left, right) = unsafe { (a.scanned_parts().1, b.scanned_parts().1) };
                if left.len() != right.len() {
                    return left.len().cmp(&right.len());
                }
                for (one, other) in left.iter().zip(right) {
                    if one == other {
                        continue;
                    }
                    if Term::both_small(*one, *other) {
                        return (one.word() as i64).cmp(&(other.word() as i64));
                    }
                    let order = shallow(*one, *other, exact, levels - 1);
                    if order.is_ne() {
                        return order;
                    }
                }
                Ordering::Equal
            }
            (Some(Kind::Float), Some(Kind::Float)) if !exact => {
                a.as_float().partial_cmp(&b.as_float()).unwrap_or(Ordering::Equal)
            }
            (Some(left), Some(right)) if left.is_bits() && right.is_bits() => {
                match (a.aligned_binary(), b.aligned_binary()) {
                    (Some(left), Some(right)) => left.cmp(right),
                    _ => deep(a, b, exact),
                }
            }
            _ => deep(a, b, exact),
        };
    }
}

/// Ranks of the types of [`frequent_rank`].
const INTEGERS: u8 = 0;
const ATOMS: u8 = 2;
const TUPLES: u8 = 8;
const NIL: u8 = 10;
const CELLS: u8 = 11;

/// [`rank`] of the types that most comparisons of different types are about.
#[inline(always)]
fn frequent_rank(term: Term) -> Option<u8> {
    if term.is_small() {
        return Some(INTEGERS);
    }
    if term.is_atom() {
        return Some(ATOMS);
    }
    if term.is_cons() {
        return Some(CELLS);
    }
    match term.boxed_kind() {
        Some(Kind::Tuple) => Some(TUPLES),
        None if term.is_nil() => Some(NIL),
        _ => None,
    }
}

/// What remains to be done when the comparison at hand has its result.
enum Frame<'h> {
    /// If equal so far: these terms, one after the other.
    Terms(&'h [Term], &'h [Term]),
    /// The keys of a flat map are done: its values are compared by value again.
    LeaveExact,
    /// Search for the least key that only one of two hashed maps has.
    LeastKey(Box<LeastKey<'h>>),
    /// Search for the least key with different values in two hashed maps with the same keys.
    LeastDifference(Box<LeastDifference<'h>>),
}

struct LeastKey<'h> {
    /// Keys found in one of the maps only, and what the order is if this is the least.
    candidates: Vec<(&'h [Term], Ordering)>,
    best: usize,
    next: usize,
    was_exact: bool,
}

struct LeastDifference<'h> {
    left: Cells<'h>,
    right: Cells<'h>,
    key: &'h [Term],
    /// Order of the values of `key`, once known: then the keys are being compared.
    values: Option<Ordering>,
    best: Option<(&'h [Term], Ordering)>,
    was_exact: bool,
}

enum Step<'h> {
    /// Compare these, keys (exactly) or values.
    Compare(&'h [Term], &'h [Term], bool),
    Done(Ordering),
}

impl<'h> LeastKey<'h> {
    fn step(&mut self, order: Ordering) -> Step<'h> {
        if order.is_lt() {
            self.best = self.next;
        }
        self.next += 1;
        match self.candidates.get(self.next) {
            Some((key, _)) => Step::Compare(key, self.candidates[self.best].0, true),
            None => Step::Done(self.candidates[self.best].1),
        }
    }
}

impl<'h> LeastDifference<'h> {
    fn step(&mut self, order: Ordering) -> Step<'h> {
        match (self.values.take(), self.best) {
            (Some(values), _) if order.is_lt() => self.best = Some((self.key, values)),
            (None, None) if order.is_ne() => self.best = Some((self.key, order)),
            (None, Some((key, _))) if order.is_ne() => {
                self.values = Some(order);
                return Step::Compare(self.key, key, true);
            }
            _ => {}
        }
        while let (Some(left), Some(right)) = (self.left.next(), self.right.next()) {
            if left[1] != right[1] {
                self.key = &left[..1];
                return Step::Compare(&left[1..], &right[1..], self.was_exact);
            }
        }
        Step::Done(self.best.map_or(Ordering::Equal, |(_, order)| order))
    }
}

enum Relation<'h> {
    Ordered(Ordering),
    /// As these terms, one after the other.
    Inside(&'h [Term], &'h [Term]),
    /// Flat maps of the same size: their words.
    FlatMaps(&'h [Term], &'h [Term]),
    /// Hashed maps of the same size.
    HashedMaps,
}

/// As [`shallow`], of any terms: what waits is kept outside of the native stack.
#[inline(never)]
fn deep(a: Term, b: Term, exact: bool) -> Ordering {
    let (a, b) = ([a], [b]);
    let mut frames: SmallVec<[Frame; 4]> = SmallVec::new();
    let (mut left, mut right, mut exact) = (&a[..], &b[..], exact);
    loop {
        let mut result = Ordering::Equal;
        while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
            (left, right) = (rest_left, rest_right);
            if a == b {
                continue;
            }
            let relation = relation(a, b, exact);
            if let Relation::Ordered(order) = relation {
                if order.is_ne() {
                    result = order;
                    break;
                }
                continue;
            }
            if !left.is_empty() {
                frames.push(Frame::Terms(left, right));
            }
            match relation {
                Relation::FlatMaps(words_a, words_b) if !exact => {
                    frames.push(Frame::Terms(&words_a[1..], &words_b[1..]));
                    frames.push(Frame::LeaveExact);
                    exact = true;
                    (left, right) = (&words_a[..1], &words_b[..1]);
                }
                Relation::Inside(inner_a, inner_b) | Relation::FlatMaps(inner_a, inner_b) => {
                    (left, right) = (inner_a, inner_b);
                }
                Relation::HashedMaps => {
                    frames.push(compare_hashed(a, b, exact));
                    // The frame takes the first result as that of nothing.
                    (left, right) = (&[], &[]);
                }
                Relation::Ordered(_) => {}
            }
        }
        // The terms at hand are compared: go back to what waits for the result.
        loop {
            let Some(frame) = frames.last_mut() else { return result };
            let step = match frame {
                Frame::Terms(waiting_left, waiting_right) => {
                    (left, right) = (*waiting_left, *waiting_right);
                    frames.pop();
                    if result.is_eq() {
                        break;
                    }
                    continue;
                }
                Frame::LeaveExact => {
                    exact = false;
                    frames.pop();
                    continue;
                }
                Frame::LeastKey(search) => {
                    exact = search.was_exact;
                    search.step(result)
                }
                Frame::LeastDifference(search) => {
                    exact = search.was_exact;
                    search.step(result)
                }
            };
            match step {
                Step::Compare(next_left, next_right, exactly) => {
                    (left, right, exact) = (next_left, next_right, exactly);
                    break;
                }
                Step::Done(order) => {
                    result = order;
                    frames.pop();
                }
            }
        }
    }
}

/// The frame that finds the order of two hashed maps of the same size.
fn compare_hashed<'h>(a: &'h Term, b: &'h Term, exact: bool) -> Frame<'h> {
    let cells = |map: &'h Term| Cells::of(map);
    // Maps with the same keys have the same shape, so their leaves come in the same order.
    if cells(a).zip(cells(b)).all(|(left, right)| exactly_equal(left[0], right[0])) {
        return Frame::LeastDifference(Box::new(LeastDifference {
            left: cells(a),
            right: cells(b),
            key: &[],
            values: None,
            best: None,
            was_exact: exact,
        }));
    }
    let only_in = |map: &'h Term, other: &'h Term, order| {
        cells(map).filter(move |cell| map::get(*other, cell[0]).is_none()).map(move |cell| (&cell[..1], order))
    };
    let candidates: Vec<_> = only_in(a, b, Ordering::Less).chain(only_in(b, a, Ordering::Greater)).collect();
    Frame::LeastKey(Box::new(LeastKey { candidates, best: 0, next: 0, was_exact: exact }))
}

/// Position of a term's type in the order; numbers are told apart only in the exact order.
fn rank(view: &View, exact: bool) -> u8 {
    match view {
        View::Small(_) | View::Big(_) => INTEGERS,
        View::Float(_) => u8::from(exact),
        View::Atom(_) => ATOMS,
        View::Reference(_) => 3,
        View::Fun(_) => 4,
        View::ExternalFun(_) => 5,
        View::Port(_) => 6,
        View::Pid(_) => 7,
        View::External(External { kind: ExternalKind::Reference, .. }) => 3,
        View::External(External { kind: ExternalKind::Port, .. }) => 6,
        View::External(External { kind: ExternalKind::Pid, .. }) => 7,
        View::Tuple(_) => TUPLES,
        View::Map(_) => 9,
        View::Nil => NIL,
        View::Cons(..) => CELLS,
        View::Bits(_) => 12,
        View::Internal => 13,
    }
}

/// The relation of two terms with different words.
fn relation<'h>(a: &'h Term, b: &'h Term, exact: bool) -> Relation<'h> {
    if a.is_cons() && b.is_cons() {
        return Relation::Inside(a.cons_cell(), b.cons_cell());
    }
    let (view_a, view_b) = (a.view(), b.view());
    let ranks = rank(&view_a, exact).cmp(&rank(&view_b, exact));
    if ranks.is_ne() {
        return Relation::Ordered(ranks);
    }
    Relation::Ordered(match (view_a, view_b) {
        (View::Atom(a), View::Atom(b)) => atom_name(a).as_bytes().cmp(atom_name(b).as_bytes()),
        (View::Big(a), View::Big(b)) => compare_bigs(a, b),
        (View::Tuple(a), View::Tuple(b)) => match a.len().cmp(&b.len()) {
            Ordering::Equal => return Relation::Inside(a, b),
            order => order,
        },
        (View::Map(map_a), View::Map(map_b)) => match map::map_size(map_a).cmp(&map::map_size(map_b)) {
            Ordering::Equal if map::is_flat(map_a) && map::is_flat(map_b) => {
                return Relation::FlatMaps(a.boxed_terms(), b.boxed_terms());
            }
            Ordering::Equal => return Relation::HashedMaps,
            order => order,
        },
        (View::Bits(a), View::Bits(b)) => compare_bits(a, b),
        (View::Fun(a), View::Fun(b)) => {
            let (entry, other) = (a.entry, b.entry);
            let order = atom_name(entry.module)
                .as_bytes()
                .cmp(atom_name(other.module).as_bytes())
                .then(entry.index.cmp(&other.index))
                .then((entry.old_unique as i32).cmp(&(other.old_unique as i32)))
                .then(a.free.len().cmp(&b.free.len()));
            match order {
                Ordering::Equal => return Relation::Inside(a.free, b.free),
                order => order,
            }
        }
        (View::ExternalFun(a), View::ExternalFun(b)) => {
            let name = |atom| atom_name(atom).as_bytes();
            name(a.module).cmp(name(b.module)).then(name(a.name).cmp(name(b.name))).then(a.arity.cmp(&b.arity))
        }
        (a, b) => match (Identifier::of(&a), Identifier::of(&b)) {
            (Some(a), Some(b)) => a.compare(&b),
            _ => match (&a, &b) {
                (View::Float(a), View::Float(b)) if exact && a == b && !same_float(*a, *b) => a.total_cmp(b),
                _ => compare_numbers(a, b).unwrap_or(Ordering::Equal),
            },
        },
    })
}

/// A pid, port or reference, with the node that local ones do not carry.
struct Identifier {
    kind: ExternalKind,
    node: Term,
    creation: u32,
    /// Number and serial of a pid, number of a port, numbers of a reference from the first on.
    data: [u64; 5],
}

impl Identifier {
    fn of(view: &View) -> Option<Identifier> {
        let local = |kind, data| {
            let (node, creation) = this_node();
            Some(Identifier { kind, node, creation, data })
        };
        match view {
            View::Pid(data) => {
                let (number, serial) = pid_parts(*data);
                local(ExternalKind::Pid, [number, serial, 0, 0, 0])
            }
            View::Port(data) => local(ExternalKind::Port, [*data, 0, 0, 0, 0]),
            View::Reference(reference) => {
                let [first, second, third] = reference.numbers().map(u64::from);
                local(ExternalKind::Reference, [first, second, third, 0, 0])
            }
            View::External(external) => {
                let mut data = [0; 5];
                data.iter_mut().zip(external.data).for_each(|(word, given)| *word = *given);
                let External { kind, node, creation, .. } = *external;
                Some(Identifier { kind, node, creation, data })
            }
            _ => None,
        }
    }

    fn compare(&self, other: &Identifier) -> Ordering {
        let nodes = || {
            let names = atom_name(self.node).as_bytes().cmp(atom_name(other.node).as_bytes());
            names.then(self.creation.cmp(&other.creation))
        };
        match self.kind {
            ExternalKind::Pid => {
                self.data[1].cmp(&other.data[1]).then(self.data[0].cmp(&other.data[0])).then_with(nodes)
            }
            ExternalKind::Port => nodes().then(self.data[0].cmp(&other.data[0])),
            // The last number of a reference is the most significant one.
            ExternalKind::Reference => nodes().then_with(|| self.data.iter().rev().cmp(other.data.iter().rev())),
        }
    }
}
