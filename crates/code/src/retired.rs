//! Code and literals that are out of use, kept until nothing refers to them.
//!
//! What was purged may still be run by a process that entered it after it was looked at, and its literals lie in heaps,
//! messages and tables wherever they were passed. So nothing is freed when it is given up. It waits here until so much
//! waits that looking through all memory costs little by comparison; then, while the world is stopped and no process is
//! in the middle of a time slice:
//!
//! 1. every word of every stack, and every address at which a process goes on, is compared with the code that waits;
//! 2. every word of every heap, stack, message and root is compared with the literals that wait. What a word means does
//!    not matter: a number that looks like an address keeps a literal until the next time;
//! 3. what was not met is taken out of the tables that lead to it (exports, fun entries, breakpoints, allocation
//!    sites), and freed.
//!
//! Code that is met keeps its literals, since its words hold them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_heap::{immovable, settings};
use atoll_term::{Term, WORD_BYTES, Word};
use parking_lot::Mutex;

use crate::breakpoints;
use crate::part::part;
use crate::ranges::{self, ModuleCode};
use crate::registry::registry;
use crate::server::{second_engine, translator};

/// What a run of words may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Terms, code addresses and catch marks: a stack.
    Code,
    /// Terms.
    Terms,
}

/// Something that waits.
struct Retired {
    code: Option<Arc<ModuleCode>>,
    literals: Option<Arc<immovable::Block>>,
}

impl Retired {
    fn bytes(&self) -> usize {
        let bytes = |literals: &Arc<immovable::Block>| literals.words() * WORD_BYTES + literals.off_heap_bytes();
        let literals = self.literals.as_ref().map_or(0, bytes);
        self.code.as_ref().map_or(0, |code| code.bytes()) + literals
    }
}

/// What waits in a machine.
pub(crate) struct Retirement {
    waiting: Mutex<Vec<Retired>>,
    /// Bytes given up since the last look.
    given_up: AtomicUsize,
    /// Bytes that are worth a look.
    worthwhile: AtomicUsize,
}

impl Default for Retirement {
    fn default() -> Retirement {
        Retirement { waiting: Mutex::default(), given_up: AtomicUsize::new(0), worthwhile: AtomicUsize::new(LEAST) }
    }
}

fn retirement() -> &'static Retirement {
    &part().retirement
}

/// Bytes below which no look is worthwhile.
const LEAST: usize = 512 << 10;
/// Bytes looked through for each byte given up, at most.
const LOOKED_AT: usize = 8;

fn wait(retired: Retired) {
    retirement().given_up.fetch_add(retired.bytes(), Ordering::Relaxed);
    retirement().waiting.lock().push(retired);
}

/// Code has been taken out of use.
pub(crate) fn retire_code(code: Arc<ModuleCode>) {
    let literals = code.literals.clone();
    wait(Retired { code: Some(code), literals });
}

/// Terms in immovable memory have been taken out of use: from now on only pointers on heaps lead to them.
pub fn retire_terms(block: immovable::Block) {
    wait(Retired { code: None, literals: Some(Arc::new(block)) });
}

/// Whether so much waits that [`find_unused`] should be called soon.
pub fn is_look_due() -> bool {
    let given_up = retirement().given_up.load(Ordering::Relaxed);
    given_up >= retirement().worthwhile.load(Ordering::Relaxed) || given_up > 0 && settings().verify
}

/// Address ranges that wait, in order, and which of them were met.
struct Ranges {
    /// First address, end, index in the list of what waits.
    ranges: Vec<(usize, usize, usize)>,
    met: Vec<bool>,
    start: usize,
    length: usize,
}

impl Ranges {
    fn new(ranges: impl Iterator<Item = (usize, usize, usize)>, count: usize) -> Ranges {
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_unstable();
        let start = ranges.first().map_or(0, |range| range.0);
        let length = ranges.last().map_or(0, |range| range.1 - start);
        Ranges { ranges, met: vec![false; count], start, length }
    }

    #[inline(always)]
    fn meet(&mut self, address: usize) {
        if address.wrapping_sub(self.start) < self.length {
            self.meet_inside(address);
        }
    }

    #[inline(never)]
    fn meet_inside(&mut self, address: usize) {
        if let Some(index) = self.find(address) {
            self.met[index] = true;
        }
    }

    fn find(&self, address: usize) -> Option<usize> {
        let before = self.ranges.partition_point(|range| range.0 <= address).checked_sub(1)?;
        let (_, end, index) = self.ranges[before];
        (address < end).then_some(index)
    }
}

/// What is freed when this is dropped, with the world running again.
pub struct Unused(#[expect(dead_code, reason = "owned to be dropped")] Vec<Retired>);

/// Finds what waits and is not referred to any more, and takes it out of all tables. `each_run` shows all words that
/// may hold code addresses or terms, but those on heaps if `has_heaps` is false: then literals stay.
///
/// The caller has stopped the world, and no process is in the middle of a time slice.
pub fn find_unused(has_heaps: bool, each_run: impl FnOnce(&mut dyn FnMut(Holds, &[Word]))) -> Unused {
    let mut waiting = retirement().waiting.lock();
    retirement().given_up.store(0, Ordering::Relaxed);
    let mut code = code_ranges(&waiting);
    let literals = waiting.iter().enumerate().filter_map(|(index, retired)| {
        let block = retired.literals.as_ref().filter(|block| block.words() > 0)?;
        Some((block.start() as usize, block.start() as usize + block.words() * WORD_BYTES, index))
    });
    let mut literals = Ranges::new(literals, waiting.len());
    let mut looked_at = 0;
    each_run(&mut |holds, words| {
        looked_at += size_of_val(words);
        for &word in words {
            literals.meet(word as usize);
        }
        if holds == Holds::Code {
            for &word in words {
                // SAFETY: the word's bits alone are looked at.
                let term = unsafe { Term::from_word(word) };
                code.meet(if term.is_catch_mark() { term.catch_address() } else { word } as usize);
            }
        }
    });
    let mut unused = Vec::new();
    let mut kept = Vec::new();
    for (index, mut retired) in std::mem::take(&mut *waiting).into_iter().enumerate() {
        if code.met[index] || !has_heaps && retired.code.is_none() || retired.code.is_none() && literals.met[index] {
            kept.push(retired);
        } else if has_heaps && !literals.met[index] {
            unused.push(retired);
        } else {
            let literals = retired.literals.take();
            unused.push(retired);
            kept.extend(literals.map(|block| Retired { code: None, literals: Some(block) }));
        }
    }
    let bytes: usize = kept.iter().map(Retired::bytes).sum();
    retirement().worthwhile.store(LEAST.max(looked_at / LOOKED_AT).max(bytes), Ordering::Relaxed);
    *waiting = kept;
    forget(&unused);
    Unused(unused)
}

fn code_ranges(retired: &[Retired]) -> Ranges {
    let ranges = retired.iter().enumerate().filter_map(|(index, retired)| {
        let words = retired.code.as_ref()?.words.as_ptr_range();
        // A return address may stand right behind the last word.
        Some((words.start as usize, words.end as usize + 1, index))
    });
    Ranges::new(ranges, retired.len())
}

/// Takes code out of everything that leads to it.
fn forget(unused: &[Retired]) {
    let ranges = code_ranges(unused);
    let is_inside = |address: *const Word| ranges.find(address as usize).is_some();
    let codes: Vec<&ModuleCode> = unused.iter().filter_map(|retired| retired.code.as_deref()).collect();
    if codes.is_empty() {
        return;
    }
    registry().forget(&codes, &is_inside);
    breakpoints::forget(&is_inside);
    for code in codes {
        ranges::remove(code);
        if let Some(translator) = translator() {
            translator.forget(&code.words);
        }
        if let Some(engine) = second_engine() {
            engine.forget(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_met_in_their_ranges_only() {
        let mut ranges = Ranges::new([(160, 200, 1), (80, 120, 0)].into_iter(), 3);
        for address in [0, 79, 120, 159, 200, usize::MAX] {
            ranges.meet(address);
        }
        assert_eq!(ranges.met, [false; 3]);
        ranges.meet(199);
        assert_eq!(ranges.met, [false, true, false]);
        ranges.meet(80);
        assert_eq!(ranges.met, [true, true, false]);
    }
}
