//! `persistent_term`: values that every process reads without a copy.
//!
//! Under architectures that give processes pointers to stored terms, a value is a stored term like a row of a table,
//! and a replaced or erased value is freed when no process refers to it. Under architectures that give copies, values
//! lie in immovable blocks of their own, and a replaced or erased one is kept until nothing refers to it, like literals
//! of purged modules. `info/0` counts the values stored now.

use atoll_code::retire_terms;
use atoll_heap::immovable::Block;
use atoll_heap::{Mutator, Stored, architecture};
use atoll_platform::steady::QuickMap;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, MeasuringHeap, Term, WORD_BYTES, atoms, map};
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard};

use crate::code::free_soon;
use crate::copy::copy_all;

/// The persistent terms of a machine, by the hashes of their keys. They are read far more often than written, and by
/// all schedulers at once, so readers share no word that they write.
#[derive(Default)]
pub struct PersistentTerms(ShardedLock<Table>);

type Table = QuickMap<u32, Vec<Entry>>;

impl PersistentTerms {
    fn read(&self) -> ShardedLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> ShardedLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

atoll_platform::part_of_machine!(PersistentTerms);

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("persistent_term", "put", 2, put),
    BuiltIn::new("persistent_term", "put_new", 2, put_new),
    BuiltIn::new("persistent_term", "get", 0, get_all),
    BuiltIn::new("persistent_term", "get", 1, get),
    BuiltIn::new("persistent_term", "get", 2, get_or),
    BuiltIn::new("persistent_term", "erase", 1, erase),
    BuiltIn::new("persistent_term", "info", 0, info),
    BuiltIn::new("erts_internal", "erase_persistent_terms", 0, erase_all),
];

/// Something that is kept.
enum Kept {
    /// An immediate, or a term in immovable memory of its own.
    Immovable(Term, Option<Block>),
    /// What the architecture keeps.
    Stored(Stored),
}

impl Kept {
    /// The term, to be looked at.
    fn term(&self) -> &Term {
        match self {
            Kept::Immovable(term, _) => term,
            Kept::Stored(stored) => stored.term(),
        }
    }

    /// Words that were taken for it.
    fn words(&self) -> usize {
        match self {
            Kept::Immovable(_, block) => block.as_ref().map_or(0, Block::words),
            Kept::Stored(_) => 0,
        }
    }

    /// The term, for a process to keep.
    fn fetch(&self, reader: &mut Mutator) -> Term {
        match self {
            Kept::Immovable(term, _) => *term,
            Kept::Stored(stored) => stored.fetch(reader),
        }
    }
}

/// Processes may still have pointers to it.
impl Drop for Kept {
    fn drop(&mut self) {
        if let Kept::Immovable(_, block) = self
            && let Some(block) = block.take()
        {
            retire_terms(block);
            free_soon();
        }
    }
}

/// Key and value; those with the same hash in one list.
type Entry = (Kept, Kept);

/// Words of an entry of the table.
const ENTRY_WORDS: usize = size_of::<Entry>() / WORD_BYTES;

fn hash(key: Term) -> u32 {
    atoll_term::hash::map_hash(key)
}

/// What `use_it` makes of the value of a key.
fn find<R>(key: Term, use_it: impl FnOnce(&Kept) -> R) -> Option<R> {
    let terms = part().read();
    let entries = terms.get(&hash(key))?;
    entries.iter().find(|(own, _)| atoll_term::exactly_equal(*own.term(), key)).map(|(_, value)| use_it(value))
}

/// Whether there is a term for this key.
pub fn holds(key: Term) -> bool {
    find(key, |_| ()).is_some()
}

/// The term where all processes can read it for good.
fn keep(owner: &mut Mutator, term: Term) -> Kept {
    if term.is_immediate() {
        return Kept::Immovable(term, None);
    }
    if !architecture().fetches_copies() {
        return Kept::Stored(Stored::new(owner, term));
    }
    let mut measure = MeasuringHeap::default();
    copy_all(term, &mut measure);
    let mut block = Block::new(measure.words());
    let kept = copy_all(term, &mut block);
    Kept::Immovable(kept, Some(block))
}

/// `put(Key, Value)`
///
/// # Errors
/// `badarg`: these are not two arguments
pub fn put(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[key, value] = arguments else { return Err(badarg()) };
    if find(key, |old| atoll_term::exactly_equal(*old.term(), value)) == Some(true) {
        return Ok(atoms::OK);
    }
    let (key, value) = (keep(caller.heap(), key), keep(caller.heap(), value));
    let mut terms = part().write();
    let entries = terms.entry(hash(*key.term())).or_default();
    match entries.iter_mut().find(|(own, _)| atoll_term::exactly_equal(*own.term(), *key.term())) {
        Some((_, old)) => *old = value,
        None => entries.push((key, value)),
    }
    Ok(atoms::OK)
}

/// `put_new(Key, Value)`, from OTP 27 on: the key must be new, or have this value.
fn put_new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[key, value] = arguments else { return Err(badarg()) };
    let same = |old: &Kept| atoll_term::exactly_equal(*old.term(), value);
    if let Some(same) = find(key, same) {
        return if same { Ok(atoms::OK) } else { Err(badarg()) };
    }
    let (key, kept) = (keep(caller.heap(), key), keep(caller.heap(), value));
    let mut terms = part().write();
    let entries = terms.entry(hash(*key.term())).or_default();
    match entries.iter().find(|(own, _)| atoll_term::exactly_equal(*own.term(), *key.term())) {
        Some((_, old)) if same(old) => {}
        Some(_) => return Err(badarg()),
        None => entries.push((key, kept)),
    }
    Ok(atoms::OK)
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    find(arguments[0], |value| value.fetch(caller.heap())).ok_or_else(badarg)
}

fn get_or(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(find(arguments[0], |value| value.fetch(caller.heap())).unwrap_or(arguments[1]))
}

fn get_all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let heap = caller.heap();
    let terms = part().read();
    let entries = terms.values().flatten();
    let pairs: Vec<Term> = entries
        .map(|(key, value)| {
            let pair = [key.fetch(heap), value.fetch(heap)];
            heap.tuple(&pair)
        })
        .collect();
    Ok(heap.list(pairs))
}

fn erase(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let key = arguments[0];
    let mut terms = part().write();
    let hash = hash(key);
    let Some(entries) = terms.get_mut(&hash) else { return Ok(atoms::FALSE) };
    let before = entries.len();
    entries.retain(|(own, _)| !atoll_term::exactly_equal(*own.term(), key));
    let erased = entries.len() < before;
    if entries.is_empty() {
        terms.remove(&hash);
    }
    Ok(Term::boolean(erased))
}

fn erase_all(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let all = std::mem::take(&mut *part().write());
    drop(all);
    Ok(atoms::TRUE)
}

/// `#{count => Number, memory => Bytes}`
fn info(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let (mut count, mut words) = (0, 0);
    for entries in part().read().values() {
        count += entries.len();
        words += entries.iter().map(|(key, value)| ENTRY_WORDS + key.words() + value.words()).sum::<usize>();
    }
    let bytes = words * WORD_BYTES;
    let pairs = [(known_atom("count"), Term::small(count as i64)), (atoms::MEMORY, Term::small(bytes as i64))];
    Ok(map::from_pairs(caller.heap(), &pairs))
}

/// `#{table => Places}`: places in use of the table that holds them.
pub fn table(caller: &mut Caller<'_>) -> Term {
    let places = part().read().len();
    map::from_pairs(caller.heap(), &[(known_atom("table"), Term::small(places as i64))])
}
