//! The headers of Treadmill blocks, in three forms, and the doubly-linked lists through them.
//!
//! A block is named by its [`Node`]: its word offset in the area, plus one; 0 is no block. Links are such offsets,
//! which is what lets them be packed. Headers are touched only under the collector's lock.

use crate::config::Headers;

/// A block, by word offset plus one; 0 is none.
pub(crate) type Node = u64;

/// What the information in a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) class: u8,
    pub(crate) colour: u8,
    /// Block length in words; 0 where it does not fit (large blocks).
    pub(crate) length: u16,
    /// Padding in words (rounded to an even number in one-word headers).
    pub(crate) padding: u32,
}

/// Access to the headers of one heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    base: *mut u64,
    headers: Headers,
}

// SAFETY: the pointer is the area's base; headers behind it are touched only under the collector's lock.
unsafe impl Send for Access {}

const LINK27: u64 = (1 << 27) - 1;

impl Access {
    /// Headers at `base`, the first word of the area, which outlives this.
    pub(crate) fn new(base: *mut u64, headers: Headers) -> Access {
        Access { base, headers }
    }

    /// The furthest word offset that links reach.
    pub(crate) fn reach(headers: Headers) -> u64 {
        match headers {
            Headers::Full => u64::MAX,
            Headers::PackedTwo => u32::MAX as u64,
            Headers::PackedOne => LINK27,
        }
    }

    #[inline]
    fn word(&self, node: Node, index: usize) -> u64 {
        debug_assert!(node != 0);
        // SAFETY: nodes name blocks inside the area's pages in use, whose first words are the header.
        unsafe { self.base.add(node as usize - 1 + index).read() }
    }

    #[inline]
    fn set_word(&self, node: Node, index: usize, value: u64) {
        debug_assert!(node != 0);
        // SAFETY: as for `word`; the collector's lock makes this the only access to the header.
        unsafe { self.base.add(node as usize - 1 + index).write(value) }
    }

    #[inline]
    pub(crate) fn previous(&self, node: Node) -> Node {
        match self.headers {
            Headers::Full => self.word(node, 0),
            Headers::PackedTwo => self.word(node, 0) >> 32,
            Headers::PackedOne => self.word(node, 0) >> 27 & LINK27,
        }
    }

    #[inline]
    pub(crate) fn next(&self, node: Node) -> Node {
        match self.headers {
            Headers::Full => self.word(node, 1),
            Headers::PackedTwo => self.word(node, 0) & 0xffff_ffff,
            Headers::PackedOne => self.word(node, 0) & LINK27,
        }
    }

    #[inline]
    fn set_previous(&self, node: Node, to: Node) {
        match self.headers {
            Headers::Full => self.set_word(node, 0, to),
            Headers::PackedTwo => {
                self.set_word(node, 0, self.word(node, 0) & 0xffff_ffff | to << 32);
            }
            Headers::PackedOne => {
                self.set_word(node, 0, self.word(node, 0) & !(LINK27 << 27) | to << 27);
            }
        }
    }

    #[inline]
    fn set_next(&self, node: Node, to: Node) {
        match self.headers {
            Headers::Full => self.set_word(node, 1, to),
            Headers::PackedTwo => self.set_word(node, 0, self.word(node, 0) >> 32 << 32 | to),
            Headers::PackedOne => self.set_word(node, 0, self.word(node, 0) & !LINK27 | to),
        }
    }

    /// The information; a one-word header has neither class nor length (0 for both).
    #[inline]
    pub(crate) fn info(&self, node: Node) -> Info {
        let (class, colour, length, padding) = match self.headers {
            Headers::PackedOne => {
                let word = self.word(node, 0);
                (0, (word >> 54 & 3) as u8, 0, (word >> 56) as u32 * 2)
            }
            Headers::Full | Headers::PackedTwo => {
                let word = self.word(node, self.headers.words() - 1);
                (word as u8, (word >> 8) as u8, (word >> 16) as u16, (word >> 32) as u32)
            }
        };
        Info { class, colour, length, padding }
    }

    #[inline]
    pub(crate) fn set_info(&self, node: Node, info: Info) {
        match self.headers {
            Headers::PackedOne => {
                let links = self.word(node, 0) & ((1 << 54) - 1);
                let padding = (info.padding.div_ceil(2) as u64).min(255);
                self.set_word(node, 0, links | (info.colour as u64) << 54 | padding << 56);
            }
            Headers::Full | Headers::PackedTwo => self.set_word(
                node,
                self.headers.words() - 1,
                info.class as u64
                    | (info.colour as u64) << 8
                    | (info.length as u64) << 16
                    | (info.padding as u64) << 32,
            ),
        }
    }

    #[inline]
    pub(crate) fn set_colour(&self, node: Node, colour: u8) {
        let info = self.info(node);
        self.set_info(node, Info { colour, ..info });
    }
}

/// A doubly-linked list of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct List {
    pub(crate) head: Node,
    pub(crate) tail: Node,
    pub(crate) length: u64,
}

impl List {
    #[inline]
    pub(crate) fn push(&mut self, access: Access, node: Node) {
        access.set_previous(node, 0);
        access.set_next(node, self.head);
        if self.head == 0 {
            self.tail = node;
        } else {
            access.set_previous(self.head, node);
        }
        self.head = node;
        self.length += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self, access: Access) -> Option<Node> {
        if self.head == 0 {
            return None;
        }
        let node = self.head;
        self.remove(access, node);
        Some(node)
    }

    #[inline]
    pub(crate) fn remove(&mut self, access: Access, node: Node) {
        let (previous, next) = (access.previous(node), access.next(node));
        if previous == 0 {
            self.head = next;
        } else {
            access.set_next(previous, next);
        }
        if next == 0 {
            self.tail = previous;
        } else {
            access.set_previous(next, previous);
        }
        self.length -= 1;
    }

    /// Puts all of `other` behind this list, in constant time: two links change.
    pub(crate) fn append(&mut self, access: Access, other: List) {
        if other.head == 0 {
            return;
        }
        if self.head == 0 {
            *self = other;
            return;
        }
        access.set_next(self.tail, other.head);
        access.set_previous(other.head, self.tail);
        self.tail = other.tail;
        self.length += other.length;
    }

    /// Calls `each` with every block, first to last.
    pub(crate) fn each(&self, access: Access, mut each: impl FnMut(Node)) {
        let mut node = self.head;
        while node != 0 {
            let next = access.next(node);
            each(node);
            node = next;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lists_work_in_every_form() {
        for headers in [Headers::Full, Headers::PackedTwo, Headers::PackedOne] {
            let mut memory = vec![0u64; 400];
            let access = Access::new(memory.as_mut_ptr(), headers);
            let nodes: Vec<Node> = (0..20).map(|i| 1 + i * 20).collect();
            let (mut white, mut ecru) = (List::default(), List::default());
            for node in &nodes {
                let info = Info { class: 3, colour: 1, length: 20, padding: 8 };
                access.set_info(*node, info);
                white.push(access, *node);
            }
            for node in &nodes[5..9] {
                white.remove(access, *node);
                access.set_colour(*node, 2);
                ecru.push(access, *node);
            }
            assert_eq!((white.length, ecru.length), (16, 4));
            white.append(access, std::mem::take(&mut ecru));
            let mut seen = Vec::new();
            white.each(access, |node| seen.push((node, access.info(node).colour, access.info(node).padding)));
            assert_eq!(seen.len(), 20);
            assert!(seen.iter().all(|(node, colour, padding)| {
                let moved = nodes[5..9].contains(node);
                *colour == if moved { 2 } else { 1 } && *padding == 8
            }));
            while white.pop(access).is_some() {}
            assert_eq!((white.head, white.tail, white.length), (0, 0, 0));
        }
    }
}
