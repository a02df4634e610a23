//! The portable hash behind `phash2`: the same on every node and in every release.

use smallvec::SmallVec;

use super::mix::{Mixer, salt};
use crate::atoms::atom_name;
use crate::map::{MapIter, map_size};
use crate::view::{ExternalKind, View};
use crate::word::{Term, pid_parts};

const SALT_INTEGER: u32 = salt(1);
const SALT_NIL: u32 = salt(2);
const SALT_ATOM: u32 = salt(3);
const SALT_STRING: u32 = salt(4);
const SALT_PID: u32 = salt(5);
const SALT_PORT: u32 = salt(6);
const SALT_REFERENCE: u32 = salt(7);
const SALT_TUPLE: u32 = salt(9);
const SALT_FLOAT: u32 = salt(12);
const SALT_EXTERNAL_FUN: u32 = salt(14);
const SALT_MAP: u32 = salt(16);
const SALT_PAIRS: u32 = salt(19);

/// Number that stands for `[]` inside a larger term, and the hash of `[]` alone.
const NIL_NUMBER: u32 = 2;
const NIL_ALONE: u32 = 3_468_870_702;

/// Integers of this range (28 bits with sign) are hashed as 32 bits, others as limbs.
const SHORT_INTEGERS: std::ops::Range<i64> = -(1 << 27)..1 << 27;

/// Hash of an atom's name, part of the portable hashes: P. J. Weinberger's, on Latin-1 where it can be.
pub fn atom_hash(atom: Term) -> u32 {
    let bytes = atom_name(atom).as_bytes();
    let mut hash: u32 = 0;
    let mut index = 0;
    while index < bytes.len() {
        let mut byte = bytes[index];
        index += 1;
        if let Some(next) = bytes.get(index)
            && byte & 0xfe == 0xc2
            && next & 0xc0 == 0x80
        {
            byte = byte << 6 | next & 0x3f;
            index += 1;
        }
        hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        hash ^= high >> 24;
        hash ^= high;
    }
    hash
}

/// What remains to be hashed.
enum Task<'h> {
    Term(&'h Term),
    Terms(&'h [Term]),
    /// The hash at hand is that of a pair.
    PairDone,
    Pairs(Box<MapIter<'h>>),
    /// All pairs are hashed: the hash of what came before the map, and the mixed pairs of the map around it.
    MapDone(u32, u32),
}

/// The portable hash, 32 bits.
pub fn hash2(term: Term) -> u32 {
    hash2_counted(term).0
}

/// As [`hash2`], with the number of steps that were needed, of which one mixes in eight bytes at most.
pub fn hash2_counted(term: Term) -> (u32, usize) {
    let mut tasks: SmallVec<[Task; 8]> = SmallVec::new();
    let mut hash = Mixer::new(0);
    let mut pairs = 0;
    let mut next = Some(&term);
    loop {
        while let Some(term) = next.take() {
            next = one(term, &mut hash, &mut pairs, &mut tasks);
        }
        match tasks.pop() {
            None => return (hash.hash, hash.steps),
            Some(Task::Term(term)) => next = Some(term),
            Some(Task::Terms(terms)) => {
                if let [first, rest @ ..] = terms {
                    next = Some(first);
                    if !rest.is_empty() {
                        tasks.push(Task::Terms(rest));
                    }
                }
            }
            Some(Task::PairDone) => {
                pairs ^= hash.hash;
                hash.hash = 0;
            }
            Some(Task::Pairs(mut iterator)) => {
                if let Some((key, value)) = iterator.next_in_place() {
                    tasks.push(Task::Pairs(iterator));
                    tasks.push(Task::PairDone);
                    tasks.push(Task::Term(value));
                    next = Some(key);
                }
            }
            Some(Task::MapDone(before, around)) => {
                hash.hash = before;
                hash.one(pairs, SALT_PAIRS);
                pairs = around;
            }
        }
    }
}

/// Mixes in one term; gives back the first of the terms inside it and leaves the others as tasks.
fn one<'h>(term: &'h Term, hash: &mut Mixer, pairs: &mut u32, tasks: &mut SmallVec<[Task<'h>; 8]>) -> Option<&'h Term> {
    if term.is_cons() {
        return Some(list(term, hash, tasks));
    }
    if let Some(words) = term.heap_bits_words()
        && words[0].is_multiple_of(8)
    {
        hash.heap_bytes(words[0] as usize / 8, &words[1..]);
        return None;
    }
    match term.view() {
        View::Small(value) => small(value, hash),
        View::Big(big) => hash.limbs(big.negative, big.limbs),
        View::Atom(atom) => match hash.hash {
            0 => hash.hash = atom_hash(atom),
            _ => hash.one(atom_hash(atom), SALT_ATOM),
        },
        View::Nil => match hash.hash {
            0 => hash.hash = NIL_ALONE,
            _ => hash.one(NIL_NUMBER, SALT_NIL),
        },
        View::Float(value) => {
            // 0.0 and -0.0 are the same term to `=:=`.
            let bits = if value == 0.0 { 0 } else { value.to_bits() };
            hash.pair((bits >> 32) as u32, bits as u32, SALT_FLOAT);
        }
        View::Tuple(elements) => {
            hash.one(elements.len() as u32, SALT_TUPLE);
            return first_of(elements, tasks);
        }
        View::Map(map) => {
            hash.one(map_size(map) as u32, SALT_MAP);
            if map_size(map) > 0 {
                tasks.push(Task::MapDone(hash.hash, *pairs));
                tasks.push(Task::Pairs(Box::new(MapIter::new(term))));
                (hash.hash, *pairs) = (0, 0);
            }
        }
        View::Bits(bits) => hash.bits(bits),
        View::Fun(fun) => {
            hash.pair(fun.free.len() as u32, atom_hash(fun.entry.module), SALT_INTEGER);
            hash.pair(fun.entry.index, fun.entry.old_unique, SALT_INTEGER);
            return first_of(fun.free, tasks);
        }
        View::ExternalFun(export) => {
            hash.pair(u32::from(export.arity), atom_hash(export.module), SALT_INTEGER);
            hash.one(atom_hash(export.name), SALT_EXTERNAL_FUN);
        }
        View::Pid(data) => hash.one(pid_parts(data).0 as u32, SALT_PID),
        View::Port(data) => hash.pair(data as u32, (data >> 32) as u32, SALT_PORT),
        View::Reference(reference) => hash.one(reference.numbers()[0], SALT_REFERENCE),
        View::External(external) => {
            let number = external.data.first().copied().unwrap_or(0);
            match external.kind {
                ExternalKind::Pid => hash.one(number as u32, SALT_PID),
                ExternalKind::Port => hash.pair(number as u32, (number >> 32) as u32, SALT_PORT),
                ExternalKind::Reference => hash.one(number as u32, SALT_REFERENCE),
            }
        }
        // Lists were taken care of above.
        View::Cons(..) | View::Internal => {}
    }
    None
}

fn first_of<'h>(terms: &'h [Term], tasks: &mut SmallVec<[Task<'h>; 8]>) -> Option<&'h Term> {
    let (first, rest) = terms.split_first()?;
    if !rest.is_empty() {
        tasks.push(Task::Terms(rest));
    }
    Some(first)
}

/// Mixes in the elements of a list as far as they are small integers, of bytes behind each other four to a word; gives
/// back what comes after them: the first other element, with the tail behind it left as a task, or the end of the list.
fn list<'h>(mut term: &'h Term, hash: &mut Mixer, tasks: &mut SmallVec<[Task<'h>; 8]>) -> &'h Term {
    let (mut word, mut bytes) = (0u32, 0);
    while term.is_cons() {
        let [head, tail] = term.cons_cell();
        let value = head.as_small();
        if let Some(byte @ 0..=255) = value {
            word = word << 8 | byte as u32;
            bytes += 1;
            if bytes == 4 {
                hash.one(word, SALT_STRING);
                (word, bytes) = (0, 0);
            }
        } else {
            if bytes > 0 {
                hash.one(word, SALT_STRING);
                (word, bytes) = (0, 0);
            }
            let Some(value) = value else {
                tasks.push(Task::Term(tail));
                return head;
            };
            small(value, hash);
        }
        term = tail;
    }
    if bytes > 0 {
        hash.one(word, SALT_STRING);
    }
    term
}

#[inline]
fn small(value: i64, hash: &mut Mixer) {
    if !SHORT_INTEGERS.contains(&value) {
        hash.limbs(value < 0, &[value.unsigned_abs()]);
        return;
    }
    if value < 0 {
        hash.one(value.unsigned_abs() as u32, SALT_INTEGER);
    }
    hash.one(value as u32, SALT_INTEGER);
}
