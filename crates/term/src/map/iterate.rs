//! Walking a map, at once or piece by piece.

use smallvec::SmallVec;

use super::{flat, hashed, is_flat, map_size};
use crate::atoms;
use crate::build::{Allocate, Build};
use crate::word::Term;

/// The leaves `[Key|Value]` of a hashed map, in the order of the iterator or from the last to the first.
pub(crate) struct Cells<'h> {
    /// Children still to come, the lowest level last.
    levels: SmallVec<[&'h [Term]; 8]>,
    backward: bool,
}

impl Cells<'_> {
    /// Of this hashed map.
    pub fn of(map: &Term) -> Cells<'_> {
        let mut levels = SmallVec::new();
        levels.push(hashed::children(map).1);
        Cells { levels, backward: false }
    }
}

impl<'h> Iterator for Cells<'h> {
    type Item = &'h [Term; 2];

    fn next(&mut self) -> Option<&'h [Term; 2]> {
        loop {
            let level = self.levels.last()?;
            let split = if self.backward { level.split_last() } else { level.split_first() };
            let Some((child, rest)) = split else {
                self.levels.pop();
                continue;
            };
            if let Some(level) = self.levels.last_mut() {
                *level = rest;
            }
            if child.is_cons() {
                return Some(child.cons_cell());
            }
            self.levels.push(hashed::children(child).1);
        }
    }
}

/// The pairs of a map in the order of `maps:iterator/1`: that of the keys for flat maps, of their hashes for others.
pub struct MapIter<'h>(Walk<'h>);

enum Walk<'h> {
    Flat(std::iter::Zip<std::slice::Iter<'h, Term>, std::slice::Iter<'h, Term>>),
    Hashed(Cells<'h>),
}

impl MapIter<'_> {
    /// Of this map.
    pub fn new(map: &Term) -> MapIter<'_> {
        MapIter(match is_flat(*map) {
            true => Walk::Flat(flat::keys(map).iter().zip(flat::values(map))),
            false => Walk::Hashed(Cells::of(map)),
        })
    }

    /// The pairs of this map in the order of `maps:to_list/1`: for other maps than flat ones, the reverse.
    pub fn in_list_order(map: &Term) -> MapIter<'_> {
        let mut pairs = MapIter::new(map);
        if let Walk::Hashed(cells) = &mut pairs.0 {
            cells.backward = true;
        }
        pairs
    }
}

impl<'h> MapIter<'h> {
    /// The next pair where it lies.
    pub fn next_in_place(&mut self) -> Option<(&'h Term, &'h Term)> {
        match &mut self.0 {
            Walk::Flat(pairs) => pairs.next(),
            Walk::Hashed(cells) => cells.next().map(|[key, value]| (key, value)),
        }
    }
}

impl Iterator for MapIter<'_> {
    type Item = (Term, Term);

    fn next(&mut self) -> Option<(Term, Term)> {
        self.next_in_place().map(|(key, value)| (*key, *value))
    }
}

/// What `erts_internal:map_next/3` is to build.
#[derive(Clone, Copy, Debug)]
pub enum NextForm {
    /// `{Key, Value, Next}`, nested; the innermost `Next` is `none` or `[Path|Map]`.
    Iterator,
    /// The pairs in front of this list, the last one first for hashed maps, and if there are more, `Path` and `Map` in
    /// front of them all.
    List(Term),
}

/// The path leads to no pair of the map (`badarg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError;

impl std::fmt::Display for PathError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the path leads to no pair of the map")
    }
}

impl std::error::Error for PathError {}

const PATH_BITS: usize = 4;
const STEPS_PER_LIMB: usize = 16;

/// `erts_internal:map_next(Path, Map, Form)`: up to `limit` (at least 1) pairs from the place that `path` names: an
/// integer with four bits for each level, the root's lowest, that count children; zeros follow.
/// A flat map is always taken whole; as on OTP, the path is at most its size.
pub fn map_next<H: Allocate + ?Sized>(
    heap: &mut H,
    map: Term,
    path: Term,
    form: NextForm,
    limit: usize,
) -> Result<Term, PathError> {
    let limbs: SmallVec<[u64; 2]> = match (path.as_small(), path.as_big()) {
        (Some(small), _) => SmallVec::from_slice(&[u64::try_from(small).map_err(|_| PathError)?]),
        (_, Some(big)) if !big.negative => SmallVec::from_slice(big.limbs),
        _ => return Err(PathError),
    };
    if is_flat(map) {
        if limbs.len() > 1 || limbs.first().is_some_and(|path| *path > map_size(map) as u64) {
            return Err(PathError);
        }
        let pairs = flat::keys(&map).iter().copied().zip(flat::values(&map).iter().copied());
        return Ok(match form {
            NextForm::Iterator => heap.nested_pairs(pairs, atoms::NONE),
            NextForm::List(tail) => heap.pairs_before(pairs.rev(), tail),
        });
    }
    let mut levels = enter(&map, &limbs)?;
    let limit = limit.max(1);
    let mut cells: Vec<&[Term; 2]> = Vec::with_capacity(limit.min(map_size(map)));
    gather(&mut levels, limit, &mut cells);
    let next = path_of_next(&mut levels);
    let pairs = cells.iter().map(|[key, value]| (*key, *value));
    Ok(match (form, next) {
        (NextForm::Iterator, None) => heap.nested_pairs(pairs, atoms::NONE),
        (NextForm::Iterator, Some(limbs)) => {
            let path = heap.big_from_limbs(false, &limbs);
            let end = heap.cons(path, map);
            heap.nested_pairs(pairs, end)
        }
        (NextForm::List(tail), next) => {
            let list = heap.pairs_before(pairs, tail);
            match next {
                None => list,
                Some(limbs) => {
                    let path = heap.big_from_limbs(false, &limbs);
                    heap.list_with_tail([path, map], list)
                }
            }
        }
    })
}

/// Children of the nodes on the way down, and the number of the next one of each.
type Levels<'h> = SmallVec<[(&'h [Term], usize); 8]>;

/// Follows a path to its leaf, which comes next.
fn enter<'h>(map: &'h Term, limbs: &[u64]) -> Result<Levels<'h>, PathError> {
    let mut levels = Levels::new();
    let mut node = map;
    for step in 0.. {
        let limb = limbs.get(step / STEPS_PER_LIMB).copied().unwrap_or(0);
        let index = (limb >> (PATH_BITS * (step % STEPS_PER_LIMB))) as usize & 0xf;
        let children = hashed::children(node).1;
        let child = children.get(index).ok_or(PathError)?;
        if child.is_cons() {
            levels.push((children, index));
            return Ok(levels);
        }
        levels.push((children, index + 1));
        node = child;
    }
    Err(PathError)
}

/// Adds the leaves that come next, at most so many.
fn gather<'h>(levels: &mut Levels<'h>, limit: usize, cells: &mut Vec<&'h [Term; 2]>) {
    while let Some((children, mut next)) = levels.pop() {
        while let Some(child) = children.get(next) {
            if child.is_cons() {
                if cells.len() == limit {
                    levels.push((children, next));
                    return;
                }
                cells.push(child.cons_cell());
                next += 1;
                continue;
            }
            levels.push((children, next + 1));
            // SAFETY: the child is no leaf.
            levels.push((unsafe { hashed::children_of_inner(child) }.1, 0));
            break;
        }
    }
}

/// Path of the child that comes next, `None` at the end. Where it is a node, zeros lead on to its first leaf.
fn path_of_next(levels: &mut Levels) -> Option<SmallVec<[u64; 2]>> {
    while levels.last().is_some_and(|(children, next)| *next >= children.len()) {
        levels.pop();
    }
    let lowest = levels.len().checked_sub(1)?;
    let mut limbs: SmallVec<[u64; 2]> = SmallVec::from_elem(0, lowest / STEPS_PER_LIMB + 1);
    for (level, (_, next)) in levels.iter().enumerate() {
        // Above the lowest level the next number is already past the child that the way leads through.
        let index = if level == lowest { *next } else { next - 1 };
        limbs[level / STEPS_PER_LIMB] |= (index as u64) << (PATH_BITS * (level % STEPS_PER_LIMB));
    }
    Some(limbs)
}
