//! Finds the copy in the area of a term that a process has sent before, so that a large term is copied once, however
//! often it is sent.
//!
//! A large term that was copied stays on the sender's heap until its next collection, which redirects it to its copy
//! (`common/cheney.rs`). Until then the copy is found here. Terms are often sent as parts of small new ones
//! (`{data, L}`, the environment of a fun), so the parts of small terms are noted, and looked for, too.
//!
//! Objects with off-heap parts are not noted, because a collection finds those through lists of their own.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use atoll_heap::Mutator;
use atoll_heap::counters::area;
use atoll_term::{Allocate, Header, Term, Word};

use crate::common::Immovable;

/// Locks; a process has one of them.
const SHARDS: usize = 64;
/// Terms noted for a process; older ones give way.
const NOTED: usize = 16;
/// Objects looked at for one message.
pub(super) const LOOKED_AT: usize = 16;
/// Largest object whose parts are looked at, in words.
const SMALL_OBJECT: usize = 16;
/// Depth to which small objects are looked into.
const DEPTH: usize = 3;

/// Original and copy.
type Pair = (Term, Term);
/// The pairs of processes, by the address of their mutator, which does not change.
type ByProcess = HashMap<usize, Vec<Pair>>;

/// Copies in the area of what processes still have.
pub(super) struct Copies([Mutex<ByProcess>; SHARDS]);

/// The words of a small object that hold terms; `None` for others.
///
/// # Safety
/// The term is a pointer to a whole object.
pub(super) unsafe fn parts(term: Term) -> Option<(*mut Word, usize)> {
    let place = term.pointer();
    if term.is_cons() {
        return Some((place, 2));
    }
    // SAFETY: a boxed term points to a header.
    let header = Header::from_word(unsafe { *place });
    let small = !header.is_opaque() && header.object_words() <= SMALL_OBJECT;
    small.then(|| (place.wrapping_add(1), header.arity()))
}

/// Visits a term that was copied, and parts near its root that were copied with it, each with its copy: `MOST` at most,
/// as far as they are found through small objects.
///
/// # Safety
/// Both are pointers to whole objects of the same shape.
#[inline]
pub(super) unsafe fn each_part<const MOST: usize>(
    original: Term,
    copy: Term,
    immovable: Immovable,
    mut visit: impl FnMut(Term, Term),
) {
    let mut queue = [(original, copy); MOST];
    let mut queued = 1;
    let mut next = 0;
    while next < queued {
        let (original, copy) = queue[next];
        next += 1;
        visit(original, copy);
        if queued == MOST {
            continue;
        }
        // SAFETY: parts of what is whole are whole, and of the same shape.
        unsafe {
            let Some((fields, count)) = parts(original) else { continue };
            let copied = copy.pointer().wrapping_add(fields.offset_from_unsigned(original.pointer()));
            for index in 0..count {
                let part = Term::from_word(*fields.add(index));
                if part.is_pointer() && !immovable.contains(part) && queued < MOST {
                    queue[queued] = (part, Term::from_word(*copied.add(index)));
                    queued += 1;
                }
            }
        }
    }
}

impl Copies {
    pub(super) fn new() -> Copies {
        Copies(std::array::from_fn(|_| Mutex::default()))
    }

    fn shard(&self, mutator: &Mutator) -> MutexGuard<'_, ByProcess> {
        let mixed = (address(mutator) >> 5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0[mixed >> 58].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes that `original`, a whole term of this process, has a copy, and that its parts have.
    pub(super) fn note(&self, mutator: &Mutator, original: Term, copy: Term, immovable: Immovable) {
        let mut shard = self.shard(mutator);
        let pairs = shard.entry(address(mutator)).or_default();
        // SAFETY: both are pointers to whole objects of the same shape.
        unsafe {
            each_part::<LOOKED_AT>(original, copy, immovable, |original, copy| {
                if original.is_cons() || !Header::from_word(*original.pointer()).is_opaque() {
                    if pairs.len() == NOTED {
                        pairs.remove(0);
                    }
                    pairs.push((original, copy));
                }
            });
        }
    }

    /// The term with its noted parts replaced by their copies: the copy itself, or a new small object on the process's
    /// heap.
    pub(super) fn replace(&self, mutator: &mut Mutator, term: Term, immovable: Immovable) -> Term {
        let shard = self.shard(mutator);
        let Some(pairs) = shard.get(&address(mutator)) else { return term };
        // SAFETY: the term is whole.
        let Some(replaced) = (unsafe { replace(pairs, mutator, term, immovable, DEPTH) }) else { return term };
        area().found.fetch_add(1, Ordering::Relaxed);
        replaced
    }

    /// Takes a process's pairs out.
    pub(super) fn take(&self, mutator: &Mutator) -> Vec<Pair> {
        self.shard(mutator).remove(&address(mutator)).unwrap_or_default()
    }

    /// Puts pairs back.
    pub(super) fn put(&self, mutator: &Mutator, pairs: Vec<Pair>) {
        self.shard(mutator).insert(address(mutator), pairs);
    }

    /// Visits the copies that are noted for a process.
    pub(super) fn each(&self, mutator: &Mutator, mut visit: impl FnMut(Term)) {
        for (_, copy) in self.shard(mutator).get(&address(mutator)).into_iter().flatten() {
            visit(*copy);
        }
    }
}

fn address(mutator: &Mutator) -> usize {
    std::ptr::from_ref(mutator) as usize
}

/// # Safety
/// The term is whole.
unsafe fn replace(pairs: &[Pair], heap: &mut Mutator, term: Term, immovable: Immovable, depth: usize) -> Option<Term> {
    if !term.is_pointer() || immovable.contains(term) {
        return None;
    }
    if let Some((_, copy)) = pairs.iter().find(|(original, _)| *original == term) {
        return Some(*copy);
    }
    let depth = depth.checked_sub(1)?;
    // SAFETY: the term is whole, and so are its parts; the new object is filled at once.
    unsafe {
        let (fields, count) = parts(term)?;
        let mut found = [None; SMALL_OBJECT];
        for (index, place) in found.iter_mut().enumerate().take(count) {
            *place = replace(pairs, heap, Term::from_word(*fields.add(index)), immovable, depth);
        }
        if found.iter().all(Option::is_none) {
            return None;
        }
        let before = fields.offset_from_unsigned(term.pointer());
        let object = heap.allocate(before + count);
        std::ptr::copy_nonoverlapping(term.pointer(), object.as_ptr(), before + count);
        for (index, part) in found.iter().enumerate() {
            if let Some(part) = part {
                *object.as_ptr().add(before + index) = part.word();
            }
        }
        Some(term.with_pointer(object.as_ptr()))
    }
}
