//! Hashed maps: one key at a time.

use smallvec::SmallVec;

use super::flat;
use crate::FLAT_MAP_LIMIT;
use crate::build::{Allocate, Build};
use crate::equal::{exactly_equal, same_key};
use crate::hash::{map_hash, map_hash_below};
use crate::header::Kind;
use crate::map::{MapIter, map_size};
use crate::word::Term;

/// Bits of the hash that choose a child.
const LEVEL_BITS: u32 = 4;
/// Levels after which the key is hashed anew.
const LEVELS_OF_HASH: u32 = 8;

/// The way of a key down the trie.
#[derive(Clone, Copy)]
pub(super) struct Trail {
    key: Term,
    hash: u32,
    level: u32,
}

impl Trail {
    /// At the root.
    #[inline]
    pub fn new(key: Term) -> Trail {
        Trail { key, hash: map_hash(key), level: 0 }
    }

    /// At a level.
    pub fn at(key: Term, level: u32) -> Trail {
        let hash = match level / LEVELS_OF_HASH {
            0 => map_hash(key),
            round => map_hash_below(key, round),
        };
        Trail { key, hash: hash >> (LEVEL_BITS * (level % LEVELS_OF_HASH)), level }
    }

    /// Number of the child at this level, 0 to 15.
    #[inline]
    pub fn index(&self) -> u32 {
        self.hash & 0xf
    }

    /// One level down.
    #[inline]
    pub fn descend(&mut self) {
        self.level += 1;
        self.hash = match self.level % LEVELS_OF_HASH {
            0 => map_hash_below(self.key, self.level / LEVELS_OF_HASH),
            _ => self.hash >> LEVEL_BITS,
        };
    }

    pub fn bit(&self) -> u16 {
        1 << self.index()
    }
}

/// Bitmap and children of a root or a node.
#[inline]
pub(super) fn children(node: &Term) -> (u16, &[Term]) {
    let (header, words) = (node.header(), node.boxed_terms());
    let children = if header.kind() == Kind::HashMapRoot { &words[1..] } else { words };
    (header.extra(), children)
}

/// [`children`] of a child that is no leaf.
///
/// # Safety
/// It is a child of a root or node, and no cons.
#[inline(always)]
pub(super) unsafe fn children_of_inner(node: &Term) -> (u16, &[Term]) {
    // SAFETY: what is no leaf is a node, and those are scanned.
    let (header, words) = unsafe { node.scanned_parts() };
    (header.extra(), words)
}

/// How many bits of a byte are set: the instruction that counts them is none that every processor has, and this table
/// is faster than what stands in for it.
const ONES: [u8; 256] = {
    let mut ones = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        ones[byte] = byte.count_ones() as u8;
        byte += 1;
    }
    ones
};

/// Place among the children of the one with this bit.
#[inline]
pub(super) fn place_of(bitmap: u16, bit: u16) -> usize {
    let [low, high] = (bitmap & (bit - 1)).to_le_bytes();
    usize::from(ONES[usize::from(low)] + ONES[usize::from(high)])
}

#[inline(never)]
pub(super) fn get(map: Term, key: Term) -> Option<Term> {
    let mut trail = Trail::new(key);
    let (mut bitmap, mut children) = children(&map);
    loop {
        if bitmap & trail.bit() == 0 {
            return None;
        }
        let child = &children[place_of(bitmap, trail.bit())];
        if child.is_cons() {
            let [found, value] = *child.cons_cell();
            return same_key(found, key).then_some(value);
        }
        // SAFETY: the child is no leaf.
        (bitmap, children) = unsafe { children_of_inner(child) };
        trail.descend();
    }
}

/// Nodes from the root down with the bit of the child taken at each.
type Path = SmallVec<[(Term, u16); 12]>;

/// Where a key's way ends.
enum End {
    /// At a leaf with that key: its value.
    Found(Term),
    /// At a leaf with another key.
    Other(Term),
    /// At an empty place.
    Empty,
}

/// Follows a key's way from the root down, which is noted in `path`.
fn descend(map: Term, trail: &mut Trail, path: &mut Path) -> End {
    let mut node = &map;
    let (mut bitmap, mut children) = children(&map);
    loop {
        let bit = trail.bit();
        path.push((*node, bit));
        if bitmap & bit == 0 {
            return End::Empty;
        }
        let child = &children[place_of(bitmap, bit)];
        if child.is_cons() {
            let [found, value] = *child.cons_cell();
            return if same_key(found, trail.key) { End::Found(value) } else { End::Other(*child) };
        }
        node = child;
        // SAFETY: the child is no leaf.
        (bitmap, children) = unsafe { children_of_inner(child) };
        trail.descend();
    }
}

/// Copies a root or node with other children; `size` is the root's.
fn copy<H: Allocate + ?Sized>(
    heap: &mut H,
    node: Term,
    bitmap: u16,
    size: usize,
    (before, new, after): (&[Term], &[Term], &[Term]),
) -> Term {
    let kind = node.header().kind();
    let count = [Term::small(size as i64)];
    let count = if kind == Kind::HashMapRoot { &count[..] } else { &[] };
    heap.scanned_runs(kind, bitmap, [count, before, new, after])
}

/// Copies the nodes of a path from the bottom up, with `child` in the place of the lowest one's.
fn copy_path<H: Allocate + ?Sized>(heap: &mut H, path: &[(Term, u16)], size: usize, child: Term) -> Term {
    let mut child = child;
    for (node, bit) in path.iter().rev() {
        let (bitmap, children) = children(node);
        let place = place_of(bitmap, *bit);
        child = if bitmap & bit == 0 {
            let (before, after) = children.split_at(place);
            copy(heap, *node, bitmap | bit, size, (before, &[child], after))
        } else {
            let (kind, words) = (node.header().kind(), node.boxed_terms());
            let first = words.len() - children.len();
            // A root begins with the size.
            let changes = [(0, Term::small(size as i64)), (first + place, child)];
            heap.scanned_changed(kind, bitmap, words, &changes[1 - first..])
        };
    }
    child
}

pub(super) fn put<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term, value: Term) -> Term {
    let (mut trail, mut path) = (Trail::new(key), Path::new());
    let end = descend(map, &mut trail, &mut path);
    let size = map_size(map);
    match end {
        End::Found(old) => replace(heap, map, &path, old, (key, value)),
        End::Empty => {
            let leaf = heap.cons(key, value);
            copy_path(heap, &path, size + 1, leaf)
        }
        End::Other(other) => {
            let leaf = heap.cons(key, value);
            let below = split(heap, trail, leaf, other);
            copy_path(heap, &path, size + 1, below)
        }
    }
}

pub(super) fn update<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term, value: Term) -> Option<Term> {
    let mut path = Path::new();
    match descend(map, &mut Trail::new(key), &mut path) {
        End::Found(old) => Some(replace(heap, map, &path, old, (key, value))),
        _ => None,
    }
}

/// The map with another leaf at the end of a path that leads to the same key.
fn replace<H: Allocate + ?Sized>(
    heap: &mut H,
    map: Term,
    path: &[(Term, u16)],
    old: Term,
    (key, value): (Term, Term),
) -> Term {
    if old == value {
        return map;
    }
    let leaf = heap.cons(key, value);
    copy_path(heap, path, map_size(map), leaf)
}

/// The nodes that tell two leaves apart below the level of `trail`, where they meet.
pub(super) fn split<H: Allocate + ?Sized>(heap: &mut H, mut trail: Trail, leaf: Term, other: Term) -> Term {
    let mut other_trail = Trail::at(other.head(), trail.level);
    let mut shared: SmallVec<[u16; 8]> = SmallVec::new();
    loop {
        trail.descend();
        other_trail.descend();
        if trail.index() != other_trail.index() {
            break;
        }
        shared.push(trail.bit());
    }
    let pair = if trail.index() < other_trail.index() { [leaf, other] } else { [other, leaf] };
    let lowest = heap.scanned_object(Kind::HashMapNode, trail.bit() | other_trail.bit(), &pair);
    shared.iter().rev().fold(lowest, |child, bit| heap.scanned_object(Kind::HashMapNode, *bit, &[child]))
}

pub(super) fn remove<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term) -> Option<(Term, Term)> {
    let mut path = Path::new();
    let End::Found(value) = descend(map, &mut Trail::new(key), &mut path) else { return None };
    let size = map_size(map) - 1;
    if size <= FLAT_MAP_LIMIT {
        let pairs: SmallVec<[(Term, Term); FLAT_MAP_LIMIT]> =
            MapIter::new(&map).filter(|(other, _)| !exactly_equal(*other, key)).collect();
        return Some((value, flat::from_pairs(heap, &pairs)));
    }
    // A node left with a single leaf gives way to the leaf, as does then its parent if it had no other child.
    let mut lone_leaf = None;
    while path.len() > 1
        && let Some((node, bit)) = path.last()
    {
        let (bitmap, children) = children(node);
        lone_leaf = match (children, lone_leaf) {
            ([_], Some(leaf)) => Some(leaf),
            ([first, second], None) => {
                let left = if place_of(bitmap, *bit) == 0 { second } else { first };
                if !left.is_cons() {
                    break;
                }
                Some(*left)
            }
            _ => break,
        };
        path.pop();
    }
    let new_map = match (lone_leaf, path.split_last()) {
        (Some(leaf), _) => copy_path(heap, &path, size, leaf),
        (None, Some(((node, bit), above))) => {
            let (bitmap, children) = children(node);
            let (before, after) = children.split_at(place_of(bitmap, *bit));
            let lowest = copy(heap, *node, bitmap & !bit, size, (before, &[], &after[1..]));
            copy_path(heap, above, size, lowest)
        }
        (None, None) => return None,
    };
    Some((value, new_map))
}
