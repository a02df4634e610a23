//! Which `catch` and `try` are active.

use std::collections::HashMap;

use super::registers::Set;
use crate::instruction::Label;

/// Stacks of active `catch` and `try`, each known by a number. Equal stacks have equal numbers, so
/// that comparing them is cheap.
pub(crate) struct Catches {
    nodes: Vec<Node>,
    known: HashMap<(u16, Label, u32), u32>,
}

struct Node {
    /// The innermost.
    slot: u16,
    handler: Label,
    /// The stack without it.
    outer: u32,
    /// Every slot that is occupied here or further out.
    occupied: Set,
}

impl Default for Catches {
    fn default() -> Self {
        let empty = Node { slot: 0, handler: Label::NONE, outer: Catches::NONE, occupied: Set::EMPTY };
        Catches { nodes: vec![empty], known: HashMap::new() }
    }
}

impl Catches {
    /// The stack where nothing is active.
    pub(crate) const NONE: u32 = 0;

    /// The slots that a stack occupies.
    pub(crate) fn occupied(&self, stack: u32) -> &Set {
        &self.nodes[stack as usize].occupied
    }

    /// The stack with one more on the inside.
    pub(crate) fn push(&mut self, outer: u32, slot: u16, handler: Label) -> u32 {
        if let Some(&stack) = self.known.get(&(slot, handler, outer)) {
            return stack;
        }
        let mut occupied = *self.occupied(outer);
        occupied.insert(slot);
        let stack = self.nodes.len() as u32;
        self.nodes.push(Node { slot, handler, outer, occupied });
        self.known.insert((slot, handler, outer), stack);
        stack
    }

    /// The innermost slot, its handler, and the stack without it.
    pub(crate) fn pop(&self, stack: u32) -> Option<(u16, Label, u32)> {
        let node = &self.nodes[stack as usize];
        (stack != Catches::NONE).then_some((node.slot, node.handler, node.outer))
    }
}
