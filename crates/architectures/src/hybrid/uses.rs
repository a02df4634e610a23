//! Decides by use between the two ways of a long message: a copy for its receiver alone, as under `private`, or a copy
//! in the area, which is sent on and stored by pointer.
//!
//! A copy for the receiver is the cheaper one if the receiver is the last to need it, whatever its size: the area costs
//! its collector's work. So what matters is whether a message is sent or stored again, and that is known of messages of
//! the same *kind* (root, atoms and shapes near the root). Some messages of each kind are samples: they are copied into
//! the area, and each send or store that passes a sample's objects counts as a use. A sample has had its time when two
//! cycles of the area have begun since, when the thread has sent many other messages, or when it was used often.
//!
//! Messages that are kept cost the same either way, but they make the heap of their receiver large, and so its
//! collections long. While processes with large heaps keep messages, all long ones are shared.
//!
//! A thread looks at one in four of the messages that go alike as copies ([`Shape`]), and lets it count for all. That
//! begins when the first samples of a kind are there: many programs end before these have had their time.
//!
//! The sender's own second send of a long term is seen without samples: what a thread copied last is remembered until
//! the process collects.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use atoll_heap::{BuildInArea, Mutator, Settings};
use atoll_term::{Header, Kind as Tag, Term};

use super::bounds::Bounds;
use super::copies::{self, LOOKED_AT};
use crate::common::Immovable;

/// Kinds that are told apart; others that meet in one entry share a verdict.
const KINDS: usize = 1024;
/// Entries for objects of samples, found by address.
const PLACES: usize = 512;
/// Samples of one thread at once.
const SAMPLES: usize = 32;
/// Objects of one sample by which a use is noticed: the root, and parts near it.
const OBJECTS: usize = 4;
/// One message in so many is a sample, where messages are copied for their receivers.
const TURN_ONCE: u8 = 64;
/// The same where they are shared.
const TURN_OFTEN: u8 = 16;
/// The same with `--gc-stress`.
const TURN_STRESSED: u8 = 2;
/// Long messages that a thread sends between looks at its samples.
const BETWEEN_JUDGEMENTS: u32 = 128;
/// Long messages that a thread sends until a sample has had its time, if the area has no cycles.
const TIME: u32 = 1 << 14;
/// Samples after which a verdict is found, or found anew.
const ENOUGH: u32 = 4;
/// Uses of one sample that count.
const MOST_USES: u32 = 8;
/// Words from which on a copied term is remembered.
const REMEMBERED_WORDS: usize = 256;
/// Words from which on the heap of a process is so large that its collections are felt.
const LARGE_HEAP: usize = 1 << 18;
/// Long messages that are shared after a process with such a heap has kept some.
const SHARED_THEN: u32 = 1 << 16;
/// Messages of one shape that go as the last one that was looked at.
const ALIKE: u8 = 3;
/// Terms that a thread remembers, each in a place of its own.
const REMEMBERED: usize = 32;
/// Objects of a message that are looked into for those of samples.
const LOOKED_INTO: usize = 4;
/// Elements of a tuple that a kind looks at.
const ELEMENTS: usize = 6;

/// What messages look like that are taken for equal in their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(usize);

/// What is seen of a message at once: what its root is and, if that is an atom, the first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape(usize);

impl Shape {
    const NONE: Shape = Shape(0);

    /// # Safety
    /// The term is a pointer to a whole object.
    #[inline(always)]
    pub(super) unsafe fn of(term: Term) -> Shape {
        if term.is_cons() {
            return Shape(1);
        }
        // SAFETY: a boxed term points to a header, and a tuple with elements has a first one.
        unsafe {
            let header = *term.pointer();
            let first = if tuple_arity(term) > 0 { *term.pointer().add(1) } else { 0 };
            let atom = if Term::from_word(first).is_atom() { first } else { 0 };
            Shape(header as usize ^ (atom as usize).rotate_left(32))
        }
    }
}

/// Messages of one shape that were looked at, and those that were not.
#[derive(Clone, Copy)]
struct Before {
    shape: Shape,
    /// So many more go the same way.
    left: u8,
    /// So many have.
    gone: u8,
}

/// What is to be done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is copied for its receiver.
    Copy,
    /// It is copied into the area.
    Share,
    /// The same, and is to be watched. `is_usual`: messages of its kind are shared.
    Sample { is_usual: bool },
}

/// What is known of a kind, in one word: what is done with it, and samples and their uses since that was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Record {
    verdict: Verdict,
    samples: u32,
    uses: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Verdict {
    #[default]
    Unknown,
    /// The receiver is the last that needs it.
    Once,
    /// It is sent or stored again.
    Often,
}

impl Record {
    fn of(word: u32) -> Record {
        let verdict = match word & 3 {
            0 => Verdict::Unknown,
            1 => Verdict::Once,
            _ => Verdict::Often,
        };
        Record { verdict, samples: word >> 2 & 0xff, uses: word >> 10 }
    }

    fn word(self) -> u32 {
        self.verdict as u32 | self.samples << 2 | self.uses << 10
    }

    /// With one sample more, which was used so often. Sharing pays from three uses of four messages on.
    fn with(mut self, uses: u32) -> Record {
        self.samples += 1;
        self.uses += uses.min(MOST_USES);
        if self.samples >= ENOUGH || 4 * self.uses >= 3 * ENOUGH {
            self.verdict = if 4 * self.uses >= 3 * self.samples { Verdict::Often } else { Verdict::Once };
            (self.samples, self.uses) = (0, 0);
        }
        self
    }
}

/// An object of a sample.
#[derive(Default)]
struct Place {
    /// Its address; 0 if there is none.
    object: AtomicUsize,
    uses: AtomicU32,
}

struct Sample {
    kind: Kind,
    places: [u16; OBJECTS],
    count: usize,
    /// The cycle of the area in which it was copied.
    cycle: u8,
    /// The thread's clock then.
    clock: u32,
}

struct Log {
    /// Long messages that were sent.
    clock: u32,
    /// The same, by kind.
    turns: [u8; KINDS],
    samples: Vec<Sample>,
    /// The process, and the term that it sent ([`Log::remembered`]).
    remembered: [(usize, Term); REMEMBERED],
}

impl Log {
    /// Where a term is remembered, in place of another one.
    fn remembered(&mut self, term: Term) -> &mut (usize, Term) {
        &mut self.remembered[mixed(term.word() as usize) >> (usize::BITS - REMEMBERED.ilog2())]
    }
}

thread_local! {
    static LOG: RefCell<Log> = const {
        RefCell::new(Log { clock: 0, turns: [0; KINDS], samples: Vec::new(), remembered: [(0, Term::NIL); REMEMBERED] })
    };
}

thread_local! {
    static BEFORE: Cell<Before> = const { Cell::new(Before { shape: Shape::NONE, left: 0, gone: 0 }) };
}

/// What all schedulers of a machine know.
pub(super) struct Uses {
    decides: bool,
    stressed: bool,
    /// So many as [`KINDS`] says. Not inside of the architecture, which is made on small stacks, too.
    kinds: Box<[AtomicU32]>,
    /// So many as [`PLACES`] says.
    places: Box<[Place]>,
    /// Places that are taken.
    watched: AtomicUsize,
    /// Long messages that are shared yet, whatever their kind.
    shared_then: AtomicU32,
}

impl Uses {
    pub(super) fn new(settings: &Settings) -> Uses {
        Uses {
            decides: settings.area == BuildInArea::Use,
            stressed: settings.is_stressed(),
            kinds: (0..KINDS).map(|_| AtomicU32::new(0)).collect(),
            places: (0..PLACES).map(|_| Place::default()).collect(),
            watched: AtomicUsize::new(0),
            shared_then: AtomicU32::new(0),
        }
    }

    /// Whether the way of a message depends on its kind.
    #[inline]
    pub(super) fn decides(&self) -> bool {
        self.decides
    }

    /// A collection of a process that had received messages has left so many words.
    #[inline]
    pub(super) fn kept(&self, words: usize) {
        if words >= LARGE_HEAP {
            self.shared_then.store(SHARED_THEN, Ordering::Relaxed);
        }
    }

    /// Whether a message goes as the last one of this thread, as a copy.
    #[inline(always)]
    pub(super) fn is_as_before(&self, shape: Shape) -> bool {
        let before = BEFORE.get();
        let is_so = before.shape == shape && before.left > 0;
        if is_so {
            BEFORE.set(Before { left: before.left - 1, gone: before.gone + 1, shape });
        }
        is_so
    }

    /// For how many messages one that is looked at counts.
    #[inline(always)]
    pub(super) fn weight(&self, shape: Shape) -> u8 {
        let before = BEFORE.get();
        BEFORE.set(Before { shape: Shape::NONE, left: 0, gone: 0 });
        if before.shape == shape { 1 + before.gone } else { 1 }
    }

    /// What to do with the next message of a kind, which stands for `weight` messages. `cycle`: the area's.
    pub(super) fn way(&self, kind: Kind, shape: Shape, weight: u8, cycle: u8) -> Way {
        let left = self.shared_then.load(Ordering::Relaxed);
        if left > 0 {
            self.shared_then.store(left - 1, Ordering::Relaxed);
            return Way::Share;
        }
        let Record { verdict, .. } = Record::of(self.kinds[kind.0].load(Ordering::Relaxed));
        LOG.with_borrow_mut(|log| {
            let turn = log.turns[kind.0].wrapping_add(weight);
            let before = std::mem::replace(&mut log.turns[kind.0], turn);
            let every = match verdict {
                _ if self.stressed => TURN_STRESSED,
                Verdict::Once => TURN_ONCE,
                Verdict::Unknown | Verdict::Often => TURN_OFTEN,
            };
            let clock = log.clock.wrapping_add(weight.into());
            let last = std::mem::replace(&mut log.clock, clock);
            if last / BETWEEN_JUDGEMENTS != clock / BETWEEN_JUDGEMENTS {
                self.judge(log, cycle);
            }
            let first = verdict == Verdict::Unknown && u32::from(turn) <= ENOUGH;
            if log.samples.len() < SAMPLES && (first || before / every != turn / every) {
                return Way::Sample { is_usual: verdict == Verdict::Often };
            }
            match verdict {
                Verdict::Often if !self.stressed => Way::Share,
                Verdict::Once | Verdict::Unknown if !self.stressed => {
                    BEFORE.set(Before { shape, left: ALIKE, gone: 0 });
                    Way::Copy
                }
                _ => Way::Copy,
            }
        })
    }

    /// Counts the samples that have had their time.
    fn judge(&self, log: &mut Log, cycle: u8) {
        log.samples.retain(|sample| {
            let places = || sample.places[..sample.count].iter().map(|place| &self.places[usize::from(*place)]);
            let uses = places().map(|place| place.uses.load(Ordering::Relaxed)).sum();
            let age = log.clock.wrapping_sub(sample.clock);
            if cycle.wrapping_sub(sample.cycle) < 2 && age < TIME && uses < MOST_USES {
                return true;
            }
            for place in places() {
                place.object.store(0, Ordering::Relaxed);
            }
            self.watched.fetch_sub(sample.count, Ordering::Relaxed);
            self.count(sample.kind, uses);
            false
        });
    }

    fn count(&self, kind: Kind, uses: u32) {
        let add = |word| Some(Record::of(word).with(uses).word());
        let _ = self.kinds[kind.0].fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Watches a message that was copied into the area.
    pub(super) fn watch(&self, kind: Kind, original: Term, copy: Term, immovable: Immovable, cycle: u8) {
        let mut sample = Sample { kind, places: [0; OBJECTS], count: 0, cycle, clock: 0 };
        // SAFETY: both are pointers to whole objects of the same shape.
        unsafe {
            copies::each_part::<LOOKED_AT>(original, copy, immovable, |_, copy| {
                let object = copy.pointer() as usize;
                let place = &self.places[place_of(object)];
                let free = sample.count < OBJECTS && place.object.load(Ordering::Relaxed) == 0;
                // Another thread may take the same place at the same time: then one of both sees no uses.
                if free {
                    place.uses.store(0, Ordering::Relaxed);
                    place.object.store(object, Ordering::Relaxed);
                    sample.places[sample.count] = place_of(object) as u16;
                    sample.count += 1;
                }
            });
        }
        self.watched.fetch_add(sample.count, Ordering::Relaxed);
        LOG.with_borrow_mut(|log| {
            sample.clock = log.clock;
            log.samples.push(sample);
        });
    }

    /// Whether there are samples.
    #[inline]
    pub(super) fn is_watching(&self) -> bool {
        self.watched.load(Ordering::Relaxed) != 0
    }

    /// A term is sent or stored: objects of samples in it, or near its root, are used, so often as `weight` says.
    #[inline]
    pub(super) fn passes(&self, term: Term, weight: u8, bounds: Bounds, immovable: Immovable) {
        if term.is_pointer() && self.is_watching() {
            let mut left = LOOKED_INTO;
            self.look(term, weight, bounds, immovable, &mut left);
        }
    }

    fn look(&self, term: Term, weight: u8, bounds: Bounds, immovable: Immovable, left: &mut usize) {
        if let Some(object) = bounds.object(term) {
            return self.met(object.as_ptr() as usize, weight);
        }
        if *left == 0 || immovable.contains(term) {
            return;
        }
        *left -= 1;
        // SAFETY: the term is whole, and so are its parts.
        unsafe {
            let Some((fields, count)) = copies::parts(term) else { return };
            for index in 0..count {
                let part = Term::from_word(*fields.add(index));
                if let Some(object) = bounds.object(part) {
                    self.met(object.as_ptr() as usize, weight);
                } else if part.is_boxed() {
                    // A list is not looked into: what travels with others travels in tuples.
                    self.look(part, weight, bounds, immovable, left);
                }
            }
        }
    }

    /// An object of the area is sent or stored.
    fn met(&self, object: usize, weight: u8) {
        let place = &self.places[place_of(object)];
        if place.object.load(Ordering::Relaxed) == object {
            place.uses.fetch_add(weight.into(), Ordering::Relaxed);
        }
    }

    /// A process has sent a copy of a term of so many words. Returns whether it is remembered, until
    /// [`Uses::forget`].
    #[inline]
    pub(super) fn remember(&self, process: &Mutator, term: Term, words: usize, immovable: Immovable) -> bool {
        if words < REMEMBERED_WORDS {
            return false;
        }
        LOG.with_borrow_mut(|log| {
            // SAFETY: a whole term of this process.
            unsafe {
                copies::each_part::<OBJECTS>(term, term, immovable, |part, _| {
                    *log.remembered(part) = (address(process), part);
                });
            }
            // No part has taken its place.
            *log.remembered(term) = (address(process), term);
        });
        true
    }

    /// Whether a process has sent a copy of this term, or of a part near its root, since it last collected.
    #[cold]
    pub(super) fn is_remembered(&self, process: &Mutator, kind: Kind, term: Term, immovable: Immovable) -> bool {
        let found = LOG.with_borrow_mut(|log| {
            let mut found = false;
            // SAFETY: a whole term of this process.
            unsafe {
                copies::each_part::<OBJECTS>(term, term, immovable, |part, _| {
                    found |= *log.remembered(part) == (address(process), part);
                });
            }
            found
        });
        if found {
            // The copy that was made before, and this use of it.
            self.count(kind, 1);
        }
        found
    }

    /// The objects of a process are about to move.
    pub(super) fn forget(&self, process: &Mutator) {
        LOG.with_borrow_mut(|log| {
            for entry in log.remembered.iter_mut().filter(|entry| entry.0 == address(process)) {
                *entry = (0, Term::NIL);
            }
        });
    }
}

fn address(mutator: &Mutator) -> usize {
    std::ptr::from_ref(mutator) as usize
}

#[inline]
fn place_of(object: usize) -> usize {
    mixed(object >> 3) >> 55
}

/// The upper bits depend on all bits.
#[inline]
fn mixed(word: usize) -> usize {
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The kind of a message: what its root is and, for a tuple, what the first elements are, with their sizes and tags if
/// they are tuples, too.
///
/// # Safety
/// The term is a pointer to a whole object.
pub(super) unsafe fn kind_of(term: Term) -> Kind {
    let mut hash = 0_usize;
    let mut add = |what: usize| hash = hash.rotate_left(9) ^ what;
    // SAFETY: parts of a whole term are whole.
    unsafe {
        add(shape(term));
        for index in 1..=tuple_arity(term).min(ELEMENTS) {
            let element = Term::from_word(*term.pointer().add(index));
            add(shape(element));
            if tuple_arity(element) > 0 {
                add(shape(Term::from_word(*element.pointer().add(1))));
            }
        }
    }
    Kind(mixed(hash) >> (usize::BITS - KINDS.ilog2()))
}

/// Which atom, or what sort of term.
///
/// # Safety
/// The term is whole.
#[inline]
unsafe fn shape(term: Term) -> usize {
    if term.is_atom() {
        return term.word() as usize;
    }
    if !term.is_boxed() {
        return usize::from(term.is_cons()) + 2 * usize::from(term.is_small());
    }
    // SAFETY: a boxed term points to a header.
    let header = unsafe { Header::from_word(*term.pointer()) };
    4 + header.kind() as usize + if header.kind() == Tag::Tuple { header.arity() << 5 } else { 0 }
}

/// Elements of a tuple; 0 for what is none.
///
/// # Safety
/// The term is whole.
#[inline]
unsafe fn tuple_arity(term: Term) -> usize {
    if !term.is_boxed() {
        return 0;
    }
    // SAFETY: a boxed term points to a header.
    let header = unsafe { Header::from_word(*term.pointer()) };
    if header.kind() == Tag::Tuple { header.arity() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_once_is_copied_and_what_is_used_often_is_shared() {
        let one = |uses: [u32; 4]| uses.iter().fold(Record::default(), |record, uses| record.with(*uses)).verdict;
        assert_eq!(one([0, 0, 0, 0]), Verdict::Once);
        assert_eq!(one([0, 1, 1, 0]), Verdict::Once);
        assert_eq!(one([1, 1, 1, 0]), Verdict::Often);
        assert_eq!(one([0, 0, 0, 1000]), Verdict::Often);
        let some = Record::default().with(2);
        assert_eq!((some.verdict, Record::of(some.word())), (Verdict::Unknown, some));
    }

    #[test]
    fn what_goes_as_before_counts_with_what_is_looked_at() {
        let uses = Uses::new(&Settings::default());
        let (kind, shape, other) = (Kind(9), Shape(8), Shape(16));
        (0..ENOUGH).for_each(|_| uses.count(kind, 0));
        assert_eq!((uses.is_as_before(shape), uses.weight(shape)), (false, 1));
        assert_eq!(uses.way(kind, shape, 1, 0), Way::Copy);
        assert!(!uses.is_as_before(other));
        assert!((0..ALIKE).all(|_| uses.is_as_before(shape)));
        assert!(!uses.is_as_before(shape));
        assert_eq!(uses.weight(shape), 1 + ALIKE);
        // Samples are as frequent as if all had been looked at.
        let looked_at = u32::from(TURN_ONCE) / u32::from(1 + ALIKE);
        let ways: Vec<Way> = (0..2 * looked_at).map(|_| uses.way(kind, shape, 1 + ALIKE, 0)).collect();
        assert_eq!(ways.iter().filter(|way| **way != Way::Copy).count(), 2);
        uses.way(kind, shape, 1, 0);
        assert!(uses.is_as_before(shape));
        assert_eq!(uses.weight(other), 1, "they were of another shape");
    }

    #[test]
    fn a_verdict_waits_for_two_cycles_and_changes_with_use() {
        let uses = Uses::new(&Settings::default());
        assert!(uses.decides());
        let kind = Kind(7);
        let object = [Term::small(3).word(), Term::NIL.word()];
        // SAFETY: a whole cell.
        let list = unsafe { Term::cons_at(object.as_ptr().cast_mut()) };
        let area = Bounds { start: object.as_ptr() as usize, bytes: 16 };
        let immovable = Immovable::NONE;
        let watch = |cycle| uses.watch(kind, list, list, immovable, cycle);
        let ways = |cycle| -> Vec<Way> {
            let ways: Vec<Way> = (0..BETWEEN_JUDGEMENTS).map(|_| uses.way(kind, Shape::NONE, 1, cycle)).collect();
            ways.iter().filter(|way| matches!(way, Way::Sample { .. })).for_each(|_| watch(cycle));
            ways
        };
        let sample = Way::Sample { is_usual: false };
        assert_eq!(ways(0)[..5], [sample, sample, sample, sample, Way::Copy]);
        assert_eq!(ways(1)[15], sample, "they had no time yet");
        ways(3);
        let samples = ways(3).iter().filter(|way| **way != Way::Copy).inspect(|way| assert_eq!(**way, sample)).count();
        assert_eq!(samples, BETWEEN_JUDGEMENTS as usize / usize::from(TURN_ONCE), "nothing was used");
        let next_sample = || {
            while uses.way(kind, Shape::NONE, 1, 4) != sample {}
            watch(4);
        };
        uses.kept(LARGE_HEAP - 1);
        assert_ne!(uses.way(kind, Shape::NONE, 1, 3), Way::Share);
        uses.kept(LARGE_HEAP);
        assert!((0..SHARED_THEN).all(|_| uses.way(kind, Shape::NONE, 1, 3) == Way::Share));
        assert_ne!(uses.way(kind, Shape::NONE, 1, 3), Way::Share);
        next_sample();
        (0..2).for_each(|_| uses.passes(list, 1, area, immovable));
        ways(4);
        assert!(!ways(4).contains(&Way::Share), "it may be used yet");
        (0..6).for_each(|_| uses.passes(list, 1, area, immovable));
        ways(4);
        assert!(ways(4).contains(&Way::Share));
        assert!(ways(4).contains(&Way::Sample { is_usual: true }));
    }
}
