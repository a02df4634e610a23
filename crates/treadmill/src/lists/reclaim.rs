//! The beginning and the end of a collection.

use super::{Lists, Tally};
use crate::config::Filling;
use crate::heap::Context;
use crate::statistics::Cause;
use crate::sync::Ordering;
use std::ptr::NonNull;

impl Lists {
    /// Switches marking on and greys the global roots, with the other threads stopped for that moment.
    pub(super) fn start(&mut self, cx: &Context<'_>) {
        cx.world.stop(cx.me);
        self.begin();
        cx.marking.store(true, Ordering::Release);
        self.mark_global_roots(cx);
        cx.world.resume();
    }

    fn begin(&mut self) {
        self.before = self.usage();
        self.cycle = self.cycle.wrapping_add(1);
        self.marking = true;
        self.marked = Tally::default();
        self.finishing = 0;
        self.debt = 0;
    }

    /// Ends the collection that is on: the last roots, what they reach, and the garbage.
    pub(super) fn finish(&mut self, cx: &Context<'_>) {
        cx.world.stop(cx.me);
        for (index, member) in cx.world.members().iter().enumerate() {
            if member.roots.take_touched() || index >= self.finishing {
                member.roots.scan(0, usize::MAX, |object| self.mark(object));
            }
        }
        self.mark_changed_roots(cx);
        self.drain(cx);
        self.reclaim(cx);
        cx.marking.store(false, Ordering::Release);
        cx.world.resume();
    }

    /// A whole collection with the world stopped.
    pub(crate) fn collect(&mut self, cx: &Context<'_>, cause: Cause) {
        let since = cx.log.start();
        let collection = self.clock_start();
        if self.marking {
            self.finish(cx);
        }
        cx.world.stop(cx.me);
        self.begin();
        self.mark_global_roots(cx);
        for member in cx.world.members() {
            member.roots.scan(0, usize::MAX, |object| self.mark(object));
        }
        self.drain(cx);
        self.reclaim(cx);
        cx.world.resume();
        self.clock_stop(collection, |times| &mut times.collection);
        cx.log.pause(since, cause);
    }

    /// Nothing is grey and every root is scanned: what is ecru is dead.
    fn reclaim(&mut self, cx: &Context<'_>) {
        self.finalize(cx);
        let access = self.access;
        for index in 0..self.classes.len() {
            let ecru = std::mem::take(&mut self.classes[index].ecru);
            if Some(index) == self.large {
                ecru.each(access, |node| self.give_large(node));
            } else {
                self.classes[index].white.append(access, ecru);
            }
            let class = &mut self.classes[index];
            class.ecru = std::mem::take(&mut class.black);
        }
        self.live = 3 - self.live;
        self.marking = false;
        for index in 0..self.pages.small().len() {
            let page = self.pages.small()[index];
            if self.pages.get(page).epoch != self.cycle {
                self.pages.make_free(page);
            }
        }
        self.tally = self.marked;
        if self.settings.filling != Filling::Off {
            self.find_gaps();
        }
        cx.log.collection(self.before, self.usage());
    }

    fn finalize(&mut self, cx: &Context<'_>) {
        let mut finalizers = std::mem::take(&mut self.finalizers);
        finalizers.rewind();
        finalizers.step(usize::MAX, |object| {
            let node = self.node(object);
            if self.access.info(node).colour == self.live {
                return Some(object);
            }
            let words = self.object_words(node, self.class_of_node(node));
            if let Some(pointer) = NonNull::new(self.space.area().pointer(object)) {
                // SAFETY: the object is dead and its memory not yet given to anybody else.
                unsafe { cx.runtime.finalize(pointer, words) };
            }
            None
        });
        self.finalizers = finalizers;
    }

    /// Finalizes everything: the heap ends.
    pub(crate) fn finalize_all(&mut self, cx: &Context<'_>) {
        for object in self.finalizers.take_all() {
            let node = self.node(object);
            let words = self.object_words(node, self.class_of_node(node));
            if let Some(pointer) = NonNull::new(self.space.area().pointer(object)) {
                // SAFETY: no mutator is left, so nothing refers to the object any more.
                unsafe { cx.runtime.finalize(pointer, words) };
            }
        }
    }
}
