//! Merging hashed maps: level by level, so that what only one of them has is shared and not looked at.

use smallvec::SmallVec;

use super::hashed::{Trail, children, place_of, split};
use crate::build::{Allocate, Build};
use crate::equal::exactly_equal;
use crate::header::Kind;
use crate::map::{Cells, map_size};
use crate::word::Term;

/// The pairs of both hashed maps; the second one's value counts where both have a key.
pub(super) fn merge<H: Allocate + ?Sized>(heap: &mut H, first: Term, second: Term) -> Term {
    let mut merging = Merging { heap, common: 0 };
    let (bitmap, merged) = merging.children_of((&first, &second), 0);
    let size = map_size(first) + map_size(second) - merging.common;
    for map in [first, second] {
        if children(&map).1 == &*merged {
            return map;
        }
    }
    heap.scanned_runs(Kind::HashMapRoot, bitmap, [&[Term::small(size as i64)], &merged])
}

/// Which value counts where a leaf meets its key in a node.
#[derive(Clone, Copy, PartialEq)]
enum Counts {
    Leaf,
    Node,
}

type Children = SmallVec<[Term; 16]>;

struct Merging<'h, H: ?Sized> {
    heap: &'h mut H,
    /// Keys that both maps have.
    common: usize,
}

impl<H: Allocate + ?Sized> Merging<'_, H> {
    /// The merged children of two roots or nodes at a level.
    fn children_of(&mut self, (first, second): (&Term, &Term), level: u32) -> (u16, Children) {
        let ((first_bits, firsts), (second_bits, seconds)) = (children(first), children(second));
        let bitmap = first_bits | second_bits;
        let mut merged = Children::new();
        let mut left = bitmap;
        while left != 0 {
            let bit = 1 << left.trailing_zeros();
            left &= left - 1;
            let in_first = firsts.get(place_of(first_bits, bit)).filter(|_| first_bits & bit != 0);
            let in_second = seconds.get(place_of(second_bits, bit)).filter(|_| second_bits & bit != 0);
            merged.push(match (in_first, in_second) {
                (Some(first), Some(second)) => self.both(first, second, level),
                (Some(only), None) | (None, Some(only)) => *only,
                (None, None) => continue,
            });
        }
        (bitmap, merged)
    }

    /// What takes the place of two children with the same place at a level.
    fn both(&mut self, first: &Term, second: &Term, level: u32) -> Term {
        match (first.is_cons(), second.is_cons()) {
            (true, true) => {
                if exactly_equal(first.head(), second.head()) {
                    self.common += 1;
                    return if first.tail() == second.tail() { *first } else { *second };
                }
                split(self.heap, Trail::at(second.head(), level), *second, *first)
            }
            (true, false) => self.put(*second, *first, Trail::at(first.head(), level + 1), Counts::Node),
            (false, true) => self.put(*first, *second, Trail::at(second.head(), level + 1), Counts::Leaf),
            (false, false) if first == second => {
                self.common += Cells::of(first).count();
                *first
            }
            (false, false) => {
                let (bitmap, merged) = self.children_of((first, second), level + 1);
                for node in [first, second] {
                    if children(node).1 == &*merged {
                        return *node;
                    }
                }
                self.heap.scanned_object(Kind::HashMapNode, bitmap, &merged)
            }
        }
    }

    /// A node with one more leaf, whose trail has come to the node.
    fn put(&mut self, node: Term, leaf: Term, mut trail: Trail, counts: Counts) -> Term {
        let (bitmap, old) = children(&node);
        let bit = trail.bit();
        let place = place_of(bitmap, bit);
        if bitmap & bit == 0 {
            let (before, after) = old.split_at(place);
            return self.heap.scanned_runs(Kind::HashMapNode, bitmap | bit, [before, &[leaf], after]);
        }
        let child = old[place];
        let new = if !child.is_cons() {
            trail.descend();
            self.put(child, leaf, trail, counts)
        } else if exactly_equal(child.head(), leaf.head()) {
            self.common += 1;
            if counts == Counts::Node || child.tail() == leaf.tail() { child } else { leaf }
        } else {
            split(self.heap, trail, leaf, child)
        };
        if new == child {
            return node;
        }
        self.heap.scanned_changed(Kind::HashMapNode, bitmap, old, &[(place, new)])
    }
}
