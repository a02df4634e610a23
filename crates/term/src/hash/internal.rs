//! The hash that places keys in large maps. It follows OTP 25, so that such maps are walked in the same order.
//! Every bit that tells two keys apart goes in, because keys whose hashes agree are hashed again from another start
//! until they differ.

use smallvec::SmallVec;

use super::mix::{Mixer, salt};
use crate::map::{MapIter, map_size};
use crate::view::{ExternalKind, View};
use crate::word::Term;

/// What is added to both halves of an immediate, which are mixed with [`START`] then.
pub const SALT_IMMEDIATE: u32 = salt(1);
const SALT_STRING: u32 = salt(4);
const SALT_PID: u32 = salt(5);
const SALT_PORT: u32 = salt(6);
const SALT_REFERENCE: u32 = salt(7);
const SALT_REFERENCE_REST: u32 = salt(8);
const SALT_TUPLE: u32 = salt(9);
const SALT_FLOAT: u32 = salt(12);
const SALT_EXTERNAL_FUN: u32 = salt(14);
const SALT_MAP: u32 = salt(16);
const SALT_HEAD: u32 = salt(17);
const SALT_LAST_TAIL: u32 = salt(18);
const SALT_FUN: u32 = salt(20);
const SALT_FUN_CODE: u32 = salt(21);
const SALT_STRING_END: u32 = salt(22);

/// Where the hash starts: not at zero, so that it has nothing in common with the portable one.
pub const START: u32 = 3_432_918_353;

/// Hash of a map's key for the first eight levels, four bits each, lowest first.
#[inline]
pub fn map_hash(key: Term) -> u32 {
    let mut hash = Mixer::new(START);
    if key.is_immediate() {
        immediate(key, &mut hash);
        return hash.hash;
    }
    compound(key, hash)
}

/// As [`run`]. Most keys are tuples of a few words, or binaries: those need no list of what is left to do.
#[inline(never)]
fn compound(key: Term, start: Mixer) -> u32 {
    let mut hash = start;
    if let Some(elements) = key.tuple_elements() {
        hash.one(elements.len() as u32, SALT_TUPLE);
        for element in elements {
            if !element.is_immediate() {
                return run(key, start);
            }
            immediate(*element, &mut hash);
        }
        return hash.hash;
    }
    if let Some([length, words @ ..]) = key.heap_bits_words()
        && length % 8 == 0
    {
        hash.heap_bytes(*length as usize / 8, words);
        return hash.hash;
    }
    match key.bits() {
        Some(bits) => {
            hash.bits(bits);
            hash.hash
        }
        None => run(key, start),
    }
}

/// Hash of a map's key for the eight levels from `8 * round` on (`round` at least 1).
pub fn map_hash_below(key: Term, round: u32) -> u32 {
    let mut salt = Mixer::new(0);
    salt.pair(round, 1, SALT_STRING_END);
    run(key, Mixer::new(START ^ salt.hash))
}

/// What remains to be hashed.
enum Task<'h> {
    Term(&'h Term),
    Terms(&'h [Term]),
    /// What follows is the tail of a list that is no cell.
    LastTail,
    Pairs(Box<MapIter<'h>>),
}

type Tasks<'h> = SmallVec<[Task<'h>; 8]>;

fn immediate(term: Term, hash: &mut Mixer) {
    hash.pair(term.word() as u32, (term.word() >> 32) as u32, SALT_IMMEDIATE);
}

/// Light mixing of a constant.
fn constant(hash: &mut Mixer, salt: u32) {
    let mixed = hash.hash ^ salt;
    hash.hash = mixed << 17 ^ mixed >> 15;
}

fn run(key: Term, mut hash: Mixer) -> u32 {
    let mut tasks = Tasks::new();
    let mut next = Some(&key);
    loop {
        while let Some(term) = next.take() {
            next = one(term, &mut hash, &mut tasks);
        }
        match tasks.pop() {
            None => return hash.hash,
            Some(Task::Term(term)) => next = Some(term),
            Some(Task::Terms(terms)) => {
                if let [first, rest @ ..] = terms {
                    next = Some(first);
                    if !rest.is_empty() {
                        tasks.push(Task::Terms(rest));
                    }
                }
            }
            Some(Task::LastTail) => constant(&mut hash, SALT_LAST_TAIL),
            Some(Task::Pairs(mut iterator)) => {
                if let Some((key, value)) = iterator.next_in_place() {
                    tasks.push(Task::Pairs(iterator));
                    tasks.push(Task::Term(value));
                    next = Some(key);
                }
            }
        }
    }
}

/// Mixes in one term; gives back the first of the terms inside it and leaves the others as tasks.
fn one<'h>(term: &'h Term, hash: &mut Mixer, tasks: &mut Tasks<'h>) -> Option<&'h Term> {
    match term.view() {
        View::Small(_) | View::Atom(_) | View::Nil | View::Pid(_) | View::Port(_) => immediate(*term, hash),
        View::Big(big) => hash.limbs(big.negative, big.limbs),
        View::Float(value) => {
            // 0.0 and -0.0 may be the same key.
            let bits = if crate::equal::same_float(value, 0.0) { 0 } else { value.to_bits() };
            hash.pair(bits as u32, (bits >> 32) as u32, SALT_FLOAT);
        }
        View::Cons(..) => return Some(list(term, hash, tasks)),
        View::Tuple(elements) => {
            hash.one(elements.len() as u32, SALT_TUPLE);
            return first_of(elements, tasks);
        }
        View::Map(map) => {
            hash.one(map_size(map) as u32, SALT_MAP);
            if map_size(map) > 0 {
                tasks.push(Task::Pairs(Box::new(MapIter::in_list_order(term))));
            }
        }
        View::Bits(bits) => hash.bits(bits),
        View::Fun(fun) => {
            hash.pair(fun.free.len() as u32, fun.entry.module.word() as u32, SALT_FUN);
            hash.pair(fun.entry.index, fun.entry.old_unique, SALT_FUN_CODE);
            return first_of(fun.free, tasks);
        }
        View::ExternalFun(export) => {
            hash.pair(export.module.atom_index(), export.name.atom_index(), SALT_EXTERNAL_FUN);
            hash.one(u32::from(export.arity), SALT_EXTERNAL_FUN);
        }
        View::Reference(reference) => {
            let [first, second, third] = reference.numbers();
            hash.one(first, SALT_REFERENCE);
            hash.pair(second, third, SALT_REFERENCE_REST);
        }
        View::External(external) => {
            let salt = match external.kind {
                ExternalKind::Pid => SALT_PID,
                ExternalKind::Port => SALT_PORT,
                ExternalKind::Reference => SALT_REFERENCE,
            };
            hash.pair(external.node.atom_index(), external.creation, salt);
            // Zeros at the end do not tell references apart.
            let used = external.data.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
            for word in &external.data[..used] {
                hash.pair(*word as u32, (word >> 32) as u32, salt);
            }
        }
        View::Internal => {}
    }
    None
}

fn first_of<'h>(terms: &'h [Term], tasks: &mut Tasks<'h>) -> Option<&'h Term> {
    let (first, rest) = terms.split_first()?;
    if !rest.is_empty() {
        tasks.push(Task::Terms(rest));
    }
    Some(first)
}

/// Mixes in the bytes that a list starts with, four to a word; gives back what comes after them: the first other
/// element, with the tail behind it left as a task, or the end of the list.
fn list<'h>(mut term: &'h Term, hash: &mut Mixer, tasks: &mut Tasks<'h>) -> &'h Term {
    let (mut word, mut bytes) = (0u32, 0);
    let mut rest = None;
    while term.is_cons() {
        let [head, tail] = term.cons_cell();
        let Some(byte) = head.as_small().and_then(|value| u8::try_from(value).ok()) else {
            rest = Some((head, tail));
            break;
        };
        word = word << 8 | u32::from(byte);
        bytes += 1;
        if bytes == 4 {
            hash.one(word, SALT_STRING);
            (word, bytes) = (0, 0);
        }
        term = tail;
    }
    if bytes > 0 {
        hash.pair(word, bytes, SALT_STRING_END);
    }
    match rest {
        Some((head, tail)) => {
            constant(hash, SALT_HEAD);
            tasks.push(Task::Term(tail));
            if !tail.is_cons() {
                tasks.push(Task::LastTail);
            }
            head
        }
        None => term,
    }
}
