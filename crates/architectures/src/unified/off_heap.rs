//! Objects with parts outside of the heap (handles of binaries, magic references) that no process lists any more.

use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard};

use atoll_heap::{join_off_heap, link_off_heap, next_off_heap, off_heap_bytes};
use atoll_term::{Word, release_off_heap_part};

use super::space::Space;

#[derive(Debug)]
struct Lists {
    /// What the next cycle decides about.
    young: *mut Word,
    /// What was allocated after the present cycle had begun to scan processes.
    new: *mut Word,
    /// What has been found live: cycles that keep marks do not look at it.
    old: *mut Word,
    /// What the present cycle has not decided about yet.
    waiting: *mut Word,
    /// Bytes outside of the heap that `old` keeps.
    old_bytes: usize,
}

// SAFETY: threads reach the lists under their lock alone.
unsafe impl Send for Lists {}

/// The lists.
#[derive(Debug)]
pub(super) struct OffHeap(Mutex<Lists>);

impl OffHeap {
    pub(super) fn new() -> OffHeap {
        let none = null_mut();
        OffHeap(Mutex::new(Lists { young: none, new: none, old: none, waiting: none, old_bytes: 0 }))
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes over a process's list. `is_new`: its objects were allocated after the process was scanned in this cycle.
    ///
    /// # Safety
    /// The list consists of whole objects of the heap.
    pub(super) unsafe fn adopt(&self, list: *mut Word, is_new: bool) {
        if !list.is_null() {
            let mut lists = self.lists();
            // SAFETY: both lists consist of whole objects.
            unsafe { join_off_heap(if is_new { &mut lists.new } else { &mut lists.young }, list) }
        }
    }

    /// All that lives is marked: what is young is to be decided about, and with `all` what is old.
    pub(super) fn begin(&self, all: bool) {
        let mut lists = self.lists();
        lists.waiting = std::mem::replace(&mut lists.young, null_mut());
        if all {
            let Lists { waiting, old, .. } = &mut *lists;
            // SAFETY: both lists consist of whole objects.
            unsafe { join_off_heap(old, std::mem::replace(waiting, null_mut())) };
            lists.waiting = std::mem::replace(&mut lists.old, null_mut());
            lists.old_bytes = 0;
        }
    }

    /// Decides about some; whether that were the last ones. What lives is marked, `full`: by the full marking too.
    pub(super) fn sweep(&self, space: &Space, full: bool, most: usize) -> bool {
        let mut lists = self.lists();
        for _ in 0..most {
            let Some(object) = std::ptr::NonNull::new(lists.waiting) else { break };
            // SAFETY: the object is whole, dead or alive, because its lines are not freed yet; it is on one list.
            unsafe {
                lists.waiting = next_off_heap(object.as_ptr());
                if space.index(object.as_ptr()).is_some_and(|index| space.is_live(index, full)) {
                    lists.old_bytes += off_heap_bytes(object);
                    link_off_heap(&mut lists.old, object);
                } else {
                    release_off_heap_part(object);
                }
            }
        }
        if !lists.waiting.is_null() {
            return false;
        }
        true
    }

    /// Every thread knows that a cycle has begun: it decides about what was new in the one before.
    pub(super) fn settle(&self) {
        let mut lists = self.lists();
        let new = std::mem::replace(&mut lists.new, null_mut());
        // SAFETY: both lists consist of whole objects.
        unsafe { join_off_heap(&mut lists.young, new) };
    }

    /// The present cycle is given up: the next one decides about everything.
    pub(super) fn give_up(&self) {
        let mut lists = self.lists();
        let Lists { new, waiting, .. } = &mut *lists;
        let (new, waiting) = (std::mem::replace(new, null_mut()), std::mem::replace(waiting, null_mut()));
        // SAFETY: the lists consist of whole objects.
        unsafe {
            join_off_heap(&mut lists.young, new);
            join_off_heap(&mut lists.young, waiting);
        }
    }

    /// Bytes outside of the heap that what has been found live keeps.
    pub(super) fn old_bytes(&self) -> usize {
        self.lists().old_bytes
    }

    /// Calls `then` while the lists are empty.
    #[cfg(test)]
    pub(super) fn hide<R>(&self, then: impl FnOnce() -> R) -> R {
        let before = std::mem::replace(&mut *self.lists(), OffHeap::new().0.into_inner().unwrap());
        let result = then();
        *self.lists() = before;
        result
    }

    /// Visits all objects on the lists.
    pub(super) fn each(&self, visit: &mut dyn FnMut(*mut Word)) {
        let lists = self.lists();
        for list in [lists.young, lists.new, lists.old, lists.waiting] {
            let mut object = list;
            while !object.is_null() {
                visit(object);
                // SAFETY: the objects of the lists are whole.
                object = unsafe { next_off_heap(object) };
            }
        }
    }
}
