//! A small object model over the raw interface, and a shadow of the heap to compare with.
#![allow(dead_code)]

pub mod driven;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use treadmill::raw::{RawHeap, RawMutator, RootSlot, Runtime, Visitor};
use treadmill::{Config, OutOfMemory};

/// Word 0: references in the lower half, words in the upper; word 1: identity; then references; then words made of the
/// identity.
pub struct Model {
    pub dead: Arc<Mutex<Vec<u64>>>,
}

unsafe fn word(object: NonNull<u64>, index: usize) -> &'static AtomicU64 {
    // SAFETY: the tests only reach words of live objects.
    unsafe { AtomicU64::from_ptr(object.as_ptr().add(index)) }
}

// SAFETY: reports all references that the first word counts.
unsafe impl Runtime for Model {
    unsafe fn describe(&self, object: NonNull<u64>, _: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        // SAFETY: the collector passes live objects of this model.
        unsafe {
            let refs = word(object, 0).load(Ordering::Relaxed) as u32 as usize;
            for index in portion.start.max(2)..portion.end.min(2 + refs) {
                let cell = word(object, index);
                if let Some(value) = NonNull::new(cell.load(Ordering::Acquire) as *mut u64) {
                    let now = visitor.visit(value);
                    if now != value {
                        cell.store(now.as_ptr() as u64, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    fn has_roots(&self) -> bool {
        false
    }

    unsafe fn finalize(&self, object: NonNull<u64>, _: usize) {
        // SAFETY: the object is dead but not yet reclaimed.
        let id = unsafe { word(object, 1).load(Ordering::Relaxed) };
        self.dead.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(id);
    }
}

pub fn heap(config: &Config) -> (RawHeap, Arc<Mutex<Vec<u64>>>) {
    let dead = Arc::new(Mutex::new(Vec::new()));
    let heap = RawHeap::new(config, Box::new(Model { dead: Arc::clone(&dead) })).expect("a heap");
    (heap, dead)
}

pub fn pattern(id: u64, index: usize) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64) << 3
}

/// An object of `words` words of which `refs` are references, all null.
pub fn allocate(
    mutator: &RawMutator,
    id: u64,
    refs: usize,
    words: usize,
    finalizable: bool,
) -> Result<NonNull<u64>, OutOfMemory> {
    let words = words.max(2 + refs);
    // SAFETY: initialised at once; the callers root it.
    let object = unsafe { if finalizable { mutator.allocate_finalizable(words)? } else { mutator.allocate(words)? } };
    initialise(object, id, refs, words);
    Ok(object)
}

/// Writes all words of a new object.
pub fn initialise(object: NonNull<u64>, id: u64, refs: usize, words: usize) {
    // SAFETY: callers pass new objects of that length.
    unsafe {
        word(object, 0).store(refs as u64 | (words as u64) << 32, Ordering::Relaxed);
        word(object, 1).store(id, Ordering::Relaxed);
        for index in 2..2 + refs {
            word(object, index).store(0, Ordering::Relaxed);
        }
        for index in 2 + refs..words {
            word(object, index).store(pattern(id, index), Ordering::Relaxed);
        }
    }
}

pub fn id_of(object: NonNull<u64>) -> u64 {
    // SAFETY: callers pass live objects.
    unsafe { word(object, 1).load(Ordering::Relaxed) }
}

pub fn link(mutator: &RawMutator, from: NonNull<u64>, index: usize, to: Option<NonNull<u64>>) {
    // SAFETY: callers pass live objects and an index below the number of references.
    unsafe {
        match to {
            Some(to) => mutator.store(from, 2 + index, to),
            None => word(from, 2 + index).store(0, Ordering::Release),
        }
    }
}

pub fn reference(from: NonNull<u64>, index: usize) -> Option<NonNull<u64>> {
    // SAFETY: callers pass live objects and an index below the number of references.
    NonNull::new(unsafe { word(from, 2 + index).load(Ordering::Acquire) } as *mut u64)
}

pub fn rooted(mutator: &RawMutator, slot: RootSlot) -> Option<NonNull<u64>> {
    // SAFETY: the tests use each slot with its own mutator, until they end it.
    unsafe { mutator.rooted(slot) }
}

pub fn unroot(mutator: &RawMutator, slot: RootSlot) {
    // SAFETY: as above.
    unsafe { mutator.unroot(slot) }
}

/// What the heap should contain.
#[derive(Default)]
pub struct Shadow {
    pub objects: HashMap<u64, (Vec<Option<u64>>, usize)>,
    pub roots: Vec<(RootSlot, u64)>,
    pub finalizable: HashSet<u64>,
}

impl Shadow {
    pub fn reachable(&self) -> HashSet<u64> {
        let mut seen = HashSet::new();
        let mut grey: Vec<u64> = self.roots.iter().map(|(_, id)| *id).collect();
        while let Some(id) = grey.pop() {
            if seen.insert(id) {
                grey.extend(self.objects[&id].0.iter().flatten());
            }
        }
        seen
    }

    /// The end of a run: what is reachable is there, and nothing else.
    pub fn finish(&self, config: &Config, heap: &RawHeap, mutator: &RawMutator, dead: &Mutex<Vec<u64>>, exact: bool) {
        self.check(mutator);
        mutator.collect();
        mutator.collect();
        mutator.verify().expect("a sound heap");
        self.check(mutator);
        let reachable = self.reachable();
        let dead = dead.lock().expect("no panic");
        assert!(dead.iter().all(|id| !reachable.contains(id)), "a live object was finalized");
        if exact {
            let expected = self.finalizable.difference(&reachable).count();
            assert_eq!(dead.len(), expected, "every unreachable object is reclaimed");
            mutator.publish_counts();
            let words: usize = reachable.iter().map(|id| self.objects[id].1).sum();
            let useful = heap.usage().useful as usize / 8;
            // One-word headers round the padding of each object to an even number of words; padding within a page is
            // estimated.
            let slack = reachable.len();
            assert!(
                useful + slack >= words && useful <= words + words / 8 + slack + 64,
                "{useful} for {words}: {config:?}"
            );
        }
    }

    /// Compares everything reachable with the heap.
    pub fn check(&self, mutator: &RawMutator) {
        let mut seen = HashSet::new();
        let mut grey: Vec<(NonNull<u64>, u64)> =
            self.roots.iter().map(|(slot, id)| (rooted(mutator, *slot).expect("rooted"), *id)).collect();
        while let Some((object, id)) = grey.pop() {
            if !seen.insert(id) {
                continue;
            }
            let (refs, words) = &self.objects[&id];
            // SAFETY: reachable, or the test fails.
            unsafe {
                let header = word(object, 0).load(Ordering::Relaxed);
                assert_eq!(header, refs.len() as u64 | (*words as u64) << 32, "header of {id}");
                assert_eq!(id_of(object), id);
                for index in 2 + refs.len()..*words {
                    let value = word(object, index).load(Ordering::Relaxed);
                    assert_eq!(value, pattern(id, index), "word {index} of {id}");
                }
            }
            for (index, to) in refs.iter().enumerate() {
                let found = reference(object, index);
                assert_eq!(found.is_some(), to.is_some(), "reference {index} of {id}");
                if let (Some(found), Some(to)) = (found, to) {
                    grey.push((found, *to));
                }
            }
        }
    }
}

/// How many cases to try: this many, or as many times more as the environment's `TREADMILL_EFFORT` says.
pub fn effort(cases: u32) -> u32 {
    let effort = std::env::var("TREADMILL_EFFORT").ok().and_then(|effort| effort.parse().ok());
    cases * effort.unwrap_or(1)
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
