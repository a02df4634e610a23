//! Page filling: placing objects into the gaps of under-used pages of another size.
//!
//! The gaps of pages that are neither full nor free are found at the end of each collection; a page is in the bucket of
//! the logarithm of its longest gap. Filling a gap takes the white blocks in it off their lists and makes one block of
//! the wanted class, and a *filler* of what is left, which is on no list until its page is free or another block takes
//! it.

use super::header::{Info, Node};
use super::{FREE, Lists, PAGE_WORDS};

/// The class of fillers.
pub(super) const FILLER: u8 = 254;
/// Pages looked at, at most, in a bucket that may hold long enough gaps.
const LOOKS: usize = 8;

/// Pages by the logarithm of their longest gap in words.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    buckets: [Vec<u32>; PAGE_WORDS.ilog2() as usize + 1],
}

impl Gaps {
    fn add(&mut self, page: u32, gap: usize) {
        if gap > 0 {
            self.buckets[gap.ilog2() as usize].push(page);
        }
    }
}

impl Lists {
    /// Finds the gaps anew, and colours every white block on pages with gaps so that it is known as free.
    pub(super) fn find_gaps(&mut self) {
        self.gaps.buckets.iter_mut().for_each(Vec::clear);
        let live = self.ecru_colour();
        for page in self.pages.small().to_vec() {
            if self.pages.is_free(page) {
                continue;
            }
            for node in self.blocks_of(page) {
                if self.access.info(node).colour != live {
                    self.access.set_colour(node, FREE);
                }
            }
            let gap = self.longest_gap(page);
            self.gaps.add(page, gap);
        }
    }

    fn longest_gap(&self, page: u32) -> usize {
        let (mut longest, mut run) = (0, 0);
        for node in self.blocks_of(page) {
            let info = self.access.info(node);
            run = if info.colour == FREE { run + info.length as usize } else { 0 };
            longest = longest.max(run);
        }
        longest
    }

    /// A block of the class out of a gap.
    pub(super) fn fill(&mut self, class: usize) -> Option<Node> {
        let words = self.classes[class].words;
        if words == 0 || words > PAGE_WORDS {
            return None;
        }
        for bucket in words.ilog2() as usize..self.gaps.buckets.len() {
            for _ in 0..LOOKS {
                let Some(page) = self.gaps.buckets[bucket].pop() else { break };
                if self.pages.is_free(page) || self.pages.get(page).class == u8::MAX {
                    continue;
                }
                let node = self.fill_page(page, class, words);
                let gap = self.longest_gap(page);
                if node.is_some() {
                    self.gaps.add(page, gap);
                    return node;
                }
                // Too short for this size: leave it to smaller ones, behind those not yet looked at.
                if gap > 0 {
                    self.gaps.buckets[gap.ilog2() as usize].insert(0, page);
                }
            }
        }
        None
    }

    fn fill_page(&mut self, page: u32, class: usize, words: usize) -> Option<Node> {
        let mut run: Vec<Node> = Vec::new();
        let mut length = 0;
        for node in self.blocks_of(page) {
            let info = self.access.info(node);
            if info.colour != FREE {
                run.clear();
                length = 0;
                continue;
            }
            run.push(node);
            length += info.length as usize;
            if length >= words {
                return Some(self.join(page, &run, length, class, words));
            }
        }
        None
    }

    fn join(&mut self, page: u32, run: &[Node], length: usize, class: usize, words: usize) -> Node {
        let access = self.access;
        for node in run {
            let of = access.info(*node).class;
            if of != FILLER {
                self.classes[of as usize].white.remove(access, *node);
            }
        }
        let rest = length - words;
        let whole = rest < self.header_words();
        let node = run[0];
        access.set_info(
            node,
            Info { class: class as u8, colour: FREE, length: if whole { length } else { words } as u16, padding: 0 },
        );
        if !whole {
            access
                .set_info(node + words as Node, Info { class: FILLER, colour: FREE, length: rest as u16, padding: 0 });
        }
        self.pages.get_mut(page).mixed = true;
        node
    }
}
