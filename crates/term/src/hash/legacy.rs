//! The older portable hash behind `erlang:phash/2`: byte by byte, by multiplication.

use smallvec::SmallVec;

use super::portable::{atom_hash, hash2};
use crate::view::{Bits, ExternalKind, View};
use crate::word::{Term, pid_parts};

/// Primes above 2^28, one for each use.
const BYTE: u32 = 268_440_163;
const INTEGER: u32 = 268_439_161;
const POSITIVE: u32 = 268_435_459;
const NEGATIVE: u32 = 268_436_141;
const PID: u32 = 268_438_633;
const PID_END: u32 = 268_437_017;
const CELL_END: u32 = 268_437_511;
const PORT: u32 = 268_439_627;
const PORT_END: u32 = 268_440_479;
const EXTERNAL_FUN: u32 = 268_440_577;
const LAST_BITS: u32 = 268_440_581;
const MAP: u32 = 268_440_593;
const MAP_OFFSET: u32 = 268_440_611;

/// `erlang:phash(Term, Range)`: from 1 to `range`, which lies between 1 and 2^32 (0 counts as 2^32).
pub fn phash(term: Term, range: u64) -> u64 {
    let hash = u64::from(phash_unbounded(term));
    hash.checked_rem(range).unwrap_or(hash) + 1
}

enum Task<'h> {
    Term(&'h Term),
    Terms(&'h [Term]),
    Arity(u32),
    /// The tail of a list, which is hashed unlike a list of its own.
    Tail(&'h Term),
    ListEnd,
}

/// The hash before it is brought into a range.
pub fn phash_unbounded(term: Term) -> u32 {
    let mut tasks: SmallVec<[Task; 8]> = SmallVec::new();
    let mut hash: u32 = 0;
    tasks.push(Task::Term(&term));
    while let Some(task) = tasks.pop() {
        match task {
            Task::Term(term) => one(term, &mut hash, &mut tasks),
            Task::Terms([first, rest @ ..]) => {
                tasks.push(Task::Terms(rest));
                tasks.push(Task::Term(first));
            }
            Task::Terms([]) => {}
            Task::Arity(arity) => step(&mut hash, PORT, arity),
            Task::Tail(tail) if tail.is_cons() => list(tail, &mut hash, &mut tasks),
            Task::Tail(tail) => {
                tasks.push(Task::ListEnd);
                tasks.push(Task::Term(tail));
            }
            Task::ListEnd => hash = hash.wrapping_mul(CELL_END),
        }
    }
    hash
}

fn step(hash: &mut u32, prime: u32, value: u32) {
    *hash = hash.wrapping_mul(prime).wrapping_add(value);
}

fn bytes_of(hash: &mut u32, prime: u32, bytes: &[u8]) {
    for byte in bytes {
        step(hash, prime, u32::from(*byte));
    }
}

/// An integer's magnitude, as many 32-bit words as it needs.
fn integer(hash: &mut u32, negative: bool, limbs: &[u64]) {
    if let [below @ .., top] = limbs {
        for limb in below {
            bytes_of(hash, INTEGER, &limb.to_le_bytes());
        }
        let used = if top >> 32 == 0 { 4 } else { 8 };
        bytes_of(hash, INTEGER, &top.to_le_bytes()[..used]);
    }
    *hash = hash.wrapping_mul(if negative { NEGATIVE } else { POSITIVE });
}

fn one<'h>(term: &'h Term, hash: &mut u32, tasks: &mut SmallVec<[Task<'h>; 8]>) {
    match term.view() {
        View::Nil => step(hash, POSITIVE, 1),
        View::Atom(atom) => step(hash, BYTE, atom_hash(atom)),
        View::Small(value) => integer(hash, value < 0, &[value.unsigned_abs()]),
        View::Big(big) => integer(hash, big.negative, big.limbs),
        View::Bits(bits) => bitstring(hash, bits),
        View::ExternalFun(export) => {
            step(hash, EXTERNAL_FUN, u32::from(export.arity));
            step(hash, BYTE, atom_hash(export.module));
            step(hash, BYTE, atom_hash(export.name));
        }
        View::Fun(fun) => {
            step(hash, PORT_END, fun.free.len() as u32);
            step(hash, BYTE, atom_hash(fun.entry.module));
            step(hash, INTEGER, fun.entry.index);
            step(hash, INTEGER, fun.entry.old_unique);
            tasks.push(Task::Terms(fun.free));
        }
        View::Pid(data) => identifier(hash, ExternalKind::Pid, pid_parts(data).0),
        View::Port(data) => identifier(hash, ExternalKind::Port, data),
        View::Reference(reference) => {
            identifier(hash, ExternalKind::Reference, u64::from(reference.numbers()[0]));
        }
        View::External(external) => {
            identifier(hash, external.kind, external.data.first().copied().unwrap_or(0));
        }
        View::Float(value) => {
            let bits = if value == 0.0 { 0 } else { value.to_bits() };
            step(hash, PID_END, bits as u32 ^ (bits >> 32) as u32);
        }
        View::Cons(..) => list(term, hash, tasks),
        View::Map(map) => step(hash, MAP, MAP_OFFSET.wrapping_add(hash2(map))),
        View::Tuple(elements) => {
            tasks.push(Task::Arity(elements.len() as u32));
            tasks.push(Task::Terms(elements));
        }
        View::Internal => {}
    }
}

fn identifier(hash: &mut u32, kind: ExternalKind, number: u64) {
    let (prime, end) = if kind == ExternalKind::Pid { (PID, PID_END) } else { (PORT, PORT_END) };
    let high = (number >> 32) as u32;
    if high != 0 {
        bytes_of(hash, EXTERNAL_FUN, &high.to_le_bytes());
    }
    bytes_of(hash, prime, &(number as u32).to_le_bytes());
    *hash = hash.wrapping_mul(end);
}

fn bitstring(hash: &mut u32, bits: Bits) {
    let whole = bits.length() / 8;
    bytes_of(hash, BYTE, &bits.slice(0, whole * 8).to_bytes());
    let rest = bits.length() % 8;
    if rest > 0 {
        step(hash, BYTE, u32::from(bits.byte(whole) >> (8 - rest)));
        step(hash, LAST_BITS, rest as u32);
    }
    step(hash, NEGATIVE, whole as u32);
}

/// The bytes that a list starts with, by a shorter rule than that of integers; the rest is left as tasks.
fn list<'h>(mut term: &'h Term, hash: &mut u32, tasks: &mut SmallVec<[Task<'h>; 8]>) {
    while term.is_cons() {
        let [head, tail] = term.cons_cell();
        match head.as_small() {
            Some(byte @ 0..=255) => step(hash, INTEGER, byte as u32),
            _ => {
                tasks.push(Task::Tail(tail));
                tasks.push(Task::Term(head));
                return;
            }
        }
        term = tail;
    }
    tasks.push(Task::ListEnd);
    tasks.push(Task::Term(term));
}
