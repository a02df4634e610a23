//! Large maps from many pairs at once: the trie is laid out beside the heap, so that no version of a node but the
//! last one takes heap.

use smallvec::SmallVec;

use super::flat;
use super::hashed::Trail;
use crate::FLAT_MAP_LIMIT;
use crate::build::{Allocate, Build};
use crate::equal::exactly_equal;
use crate::header::Kind;
use crate::word::Term;

#[derive(Clone, Copy)]
enum Child {
    None,
    /// Number of a pair.
    Leaf(usize),
    /// Number of a node, higher than its parent's.
    Node(usize),
}

type Node = [Child; 16];

/// A map of these pairs, the last one of each key.
pub(super) fn from_pairs<H: Allocate + ?Sized>(heap: &mut H, pairs: &[(Term, Term)]) -> Term {
    let mut nodes: Vec<Node> = vec![[Child::None; 16]];
    // For the first pair of each key: the last one.
    let mut last: Vec<usize> = (0..pairs.len()).collect();
    let mut trails: Vec<Trail> = Vec::with_capacity(pairs.len());
    let mut kept: Vec<usize> = Vec::with_capacity(pairs.len());
    for (number, (key, _)) in pairs.iter().enumerate() {
        trails.push(Trail::new(*key));
        let mut node = 0;
        loop {
            let index = trails[number].index() as usize;
            match nodes[node][index] {
                Child::None => {
                    nodes[node][index] = Child::Leaf(number);
                    kept.push(number);
                    break;
                }
                Child::Leaf(other) if exactly_equal(pairs[other].0, *key) => {
                    last[other] = number;
                    break;
                }
                Child::Leaf(other) => {
                    // The leaf moves one level down; the new key follows in the next round.
                    let below = nodes.len();
                    trails[other].descend();
                    let mut new_node = [Child::None; 16];
                    new_node[trails[other].index() as usize] = Child::Leaf(other);
                    nodes.push(new_node);
                    nodes[node][index] = Child::Node(below);
                    node = below;
                }
                Child::Node(below) => node = below,
            }
            trails[number].descend();
        }
    }
    if kept.len() <= FLAT_MAP_LIMIT {
        let unique: Vec<(Term, Term)> = kept.iter().map(|number| pairs[last[*number]]).collect();
        return flat::from_pairs(heap, &unique);
    }
    // Children have higher numbers than their parents, so from the last node up each finds its children built.
    let mut built: Vec<Term> = vec![Term::NIL; nodes.len()];
    for (number, node) in nodes.iter().enumerate().rev() {
        let mut words: SmallVec<[Term; 17]> = SmallVec::new();
        let mut bitmap = 0u16;
        if number == 0 {
            words.push(Term::small(kept.len() as i64));
        }
        for (index, child) in node.iter().enumerate() {
            words.push(match child {
                Child::None => continue,
                Child::Leaf(first) => {
                    let (key, value) = pairs[last[*first]];
                    heap.cons(key, value)
                }
                Child::Node(below) => built[*below],
            });
            bitmap |= 1 << index;
        }
        let kind = if number == 0 { Kind::HashMapRoot } else { Kind::HashMapNode };
        built[number] = heap.scanned_object(kind, bitmap, &words);
    }
    built[0]
}
