//! Marking: from roots to grey, from grey to black.

use super::header::Node;
use super::{Lists, PAGE_WORDS, Tally, add};
use crate::heap::Context;
use crate::runtime::{Portion, Visitor};
use crate::statistics::{Cause, Start};
use std::ptr::NonNull;

/// Objects scanned at most in one increment, as in the paper.
const INCREMENT_OBJECTS: usize = 1500;
/// Root slots scanned at most in one increment: the paper's 80 KB.
const INCREMENT_SLOTS: usize = 10_240;

impl Lists {
    /// Greys an object unless it was found live before.
    pub(super) fn mark(&mut self, object: usize) {
        let node = self.node(object);
        let access = self.access;
        let info = access.info(node);
        if info.colour == self.live {
            return;
        }
        let class = self.class_of_node(node);
        access.set_colour(node, self.live);
        let lists = &mut self.classes[class];
        lists.ecru.remove(access, node);
        lists.grey.push(access, node);
        let words = lists.words;
        self.grey |= 1 << class;
        let page = self.page_of(node);
        self.pages.touch(page, self.cycle);
        let (block, padding) = match words {
            0 => {
                let page = self.pages.get(page);
                (page.run as usize * PAGE_WORDS, page.lost)
            }
            words => (words, info.padding),
        };
        let (block, header) = (block as u64, self.header_words() as u64);
        let padding = (padding as u64).min(block - header);
        add(&mut self.marked, Tally { useful: block - header - padding, header, padding });
    }

    /// Blackens one grey object by greying what it refers to; its words, or `None` if there is no grey object.
    fn scan_one(&mut self, cx: &Context<'_>) -> Option<usize> {
        let node = loop {
            if self.grey == 0 {
                return None;
            }
            let class = self.grey.trailing_zeros() as usize;
            let access = self.access;
            let lists = &mut self.classes[class];
            match lists.grey.pop(access) {
                Some(node) => {
                    lists.black.push(access, node);
                    break node;
                }
                None => self.grey &= !(1 << class),
            }
        };
        let class = self.class_of_node(node);
        let words = self.object_words(node, class);
        self.describe(cx, node, words);
        Some(words)
    }

    fn describe(&mut self, cx: &Context<'_>, node: Node, words: usize) {
        let object = self.object(node);
        let Some(pointer) = NonNull::new(self.space.area().pointer(object)) else {
            return;
        };
        let mut sink = |reference: NonNull<u64>| {
            self.mark(reference.addr().get());
            reference
        };
        // SAFETY: the object was reached from roots through references that the runtime reported.
        unsafe {
            cx.runtime.describe(pointer, words, 0..words, &mut Visitor::new(&mut sink));
        }
    }

    /// Scans until nothing is grey.
    pub(super) fn drain(&mut self, cx: &Context<'_>) {
        while self.scan_one(cx).is_some() {}
    }

    /// Greys what the global roots and the runtime's own refer to.
    pub(super) fn mark_global_roots(&mut self, cx: &Context<'_>) {
        cx.globals.scan(0, usize::MAX, |object| self.mark(object));
        cx.runtime.begin_roots();
        self.push_runtime_roots(|slots, visitor| cx.runtime.push_roots(slots, visitor));
    }

    pub(super) fn mark_changed_roots(&mut self, cx: &Context<'_>) {
        cx.globals.scan(0, usize::MAX, |object| self.mark(object));
        self.push_runtime_roots(|slots, visitor| cx.runtime.push_changed_roots(slots, visitor));
    }

    fn push_runtime_roots(&mut self, push: impl Fn(usize, &mut Visitor<'_>) -> Portion) {
        let mut sink = |reference: NonNull<u64>| {
            self.mark(reference.addr().get());
            reference
        };
        while push(INCREMENT_SLOTS, &mut Visitor::new(&mut sink)) == Portion::More {}
    }

    /// The increment of an allocation of `total` words: starts a collection, marks, or brings it nearer to its end.
    pub(super) fn increment(&mut self, cx: &Context<'_>, total: usize) {
        if !self.marking {
            if self.start_is_due() {
                let since = cx.log.start();
                self.start(cx);
                cx.log.pause(since, Cause::Start);
            }
            return;
        }
        self.debt += total as u64 * self.ratio;
        // Increments of a few words each would cost more than they mark.
        if self.debt < 256 {
            return;
        }
        let since = cx.log.start();
        let mut objects = 0;
        while self.debt > 0 && objects < INCREMENT_OBJECTS {
            let Some(words) = self.scan_one(cx) else {
                self.finish_portion(cx, since);
                return;
            };
            self.debt = self.debt.saturating_sub(words as u64);
            objects += 1;
        }
        cx.log.pause(since, Cause::Increment);
    }

    /// Scans one portion of the threads' roots; with the last, the collection ends.
    fn finish_portion(&mut self, cx: &Context<'_>, since: Start) {
        self.debt = 0;
        let members = cx.world.members();
        let mut slots = 0;
        while slots < INCREMENT_SLOTS {
            let Some(member) = members.get(self.finishing) else {
                self.finish(cx);
                cx.log.pause(since, Cause::Finish);
                return;
            };
            member.roots.take_touched();
            slots += member.roots.len();
            member.roots.scan(0, usize::MAX, |object| self.mark(object));
            self.finishing += 1;
        }
        cx.log.pause(since, Cause::Increment);
    }

    /// The paper's condition: SUM over lists of (A/ratio - F) reaches the truly free memory.
    fn start_is_due(&self) -> bool {
        let mut wanted = 0;
        for (index, class) in self.classes.iter().enumerate() {
            let (allocated, free) = if Some(index) == self.large {
                let pages = self.space.in_use() as u64 - self.pages.small().len() as u64;
                (pages * PAGE_WORDS as u64, 0)
            } else {
                let words = class.words as u64;
                (class.ecru.length * words, class.white.length * words)
            };
            wanted += (allocated / self.ratio).saturating_sub(free);
        }
        let free_pages = self.pages.free_count() as u64 + self.space.available() as u64;
        wanted >= free_pages * PAGE_WORDS as u64
    }
}
