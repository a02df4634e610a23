//! Messages of drivers: a term is an array of words that says how it is built, innermost first.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_code::Resolver;
use atoll_etf::{DecodeOptions, decode};
use atoll_heap::Message;
use atoll_process::{System, tracing};
use atoll_term::{Build, ScratchHeap, Term, Word, map};

use crate::build_terms::given;
use crate::drivers::binaries::{Binary, data};
use crate::drivers::layout::Handle;
use crate::drivers::port::current;
use crate::drivers::queue::shared;
use crate::env::enter_machine;
use crate::messages::deliver;

/// Kinds of terms, as the words say them.
mod kind {
    pub const NIL: u64 = 1;
    pub const ATOM: u64 = 2;
    pub const INTEGER: u64 = 3;
    pub const PORT: u64 = 4;
    pub const BINARY: u64 = 5;
    pub const STRING: u64 = 6;
    pub const TUPLE: u64 = 7;
    pub const LIST: u64 = 8;
    pub const STRING_CONS: u64 = 9;
    pub const PID: u64 = 10;
    pub const FLOAT: u64 = 11;
    pub const EXTERNAL: u64 = 12;
    pub const UNSIGNED: u64 = 13;
    pub const BYTES: u64 = 14;
    pub const INTEGER_64: u64 = 15;
    pub const UNSIGNED_64: u64 = 16;
    pub const MAP: u64 = 17;
}

/// The bytes at an address that a driver gives.
fn bytes(address: u64, length: u64) -> Vec<u8> {
    given(&std::ptr::with_exposed_provenance(address as usize), length as usize).to_vec()
}

/// What is at an address that a driver gives.
fn value<T: Copy>(address: u64) -> Option<T> {
    let place = NonNull::new(std::ptr::with_exposed_provenance_mut::<T>(address as usize))?;
    // SAFETY: the driver gives the address of such a value.
    Some(unsafe { place.as_ptr().read_unaligned() })
}

/// Builds the term; nothing if the words make no sense.
fn build(heap: &mut ScratchHeap, words: &[Word]) -> Option<Term> {
    let mut made: Vec<Term> = Vec::new();
    let mut words = words.iter().copied();
    while let Some(what) = words.next() {
        let term = match what {
            kind::NIL => Term::NIL,
            kind::ATOM | kind::PORT | kind::PID => {
                // SAFETY: a driver gives words that it has got, which are immediate; others are refused.
                let term = unsafe { Term::from_word(words.next()?) };
                term.is_immediate().then_some(term)?
            }
            kind::INTEGER => heap.integer(words.next()? as i64),
            kind::UNSIGNED => heap.unsigned(words.next()?),
            kind::INTEGER_64 => heap.integer(value(words.next()?)?),
            kind::UNSIGNED_64 => heap.unsigned(value(words.next()?)?),
            kind::FLOAT => heap.float(value::<f64>(words.next()?).filter(|value| value.is_finite())?),
            kind::BINARY => {
                let binary = NonNull::new(std::ptr::with_exposed_provenance_mut::<Binary>(words.next()? as usize))?;
                let (length, from) = (words.next()? as usize, words.next()? as usize);
                heap.binary(given(&data(binary).wrapping_add(from).cast_const(), length))
            }
            kind::BYTES => heap.binary(&bytes(words.next()?, words.next()?)),
            kind::STRING => {
                let bytes = bytes(words.next()?, words.next()?);
                heap.list(bytes.iter().map(|byte| Term::small((*byte).into())))
            }
            kind::STRING_CONS => {
                let bytes = bytes(words.next()?, words.next()?);
                let tail = made.pop()?;
                heap.list_with_tail(bytes.iter().map(|byte| Term::small((*byte).into())), tail)
            }
            kind::EXTERNAL => {
                let bytes = bytes(words.next()?, words.next()?);
                decode(&bytes, DecodeOptions::default(), &mut Resolver, heap).ok()?.0
            }
            kind::TUPLE => {
                let elements = last(&mut made, words.next()?)?;
                heap.tuple(&elements)
            }
            kind::LIST => {
                let mut elements = last(&mut made, words.next()?)?;
                let tail = elements.pop()?;
                heap.list_with_tail(elements, tail)
            }
            kind::MAP => {
                let count = words.next()?;
                let parts = last(&mut made, count.checked_mul(2)?)?;
                let pairs: Vec<(Term, Term)> = parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                let made = map::from_pairs(heap, &pairs);
                (map::map_size(made) as u64 == count).then_some(made)?
            }
            _ => return None,
        };
        made.push(term);
    }
    match made[..] {
        [term] => Some(term),
        _ => None,
    }
}

/// Takes the last of these.
fn last(made: &mut Vec<Term>, count: u64) -> Option<Vec<Term>> {
    let first = made.len().checked_sub(usize::try_from(count).ok()?)?;
    Some(made.split_off(first))
}

/// Sends the term; 1, 0 if nobody is there or the port closes, -1 if the words make no sense or there is no such port.
fn send(port: Handle, to: Term, words: *const Word, count: c_int) -> c_int {
    enter_machine();
    let Some(shared) = shared(port) else { return -1 };
    if shared.is_closing.load(Ordering::Acquire) {
        return 0;
    }
    let is_good = Cell::new(true);
    let message = Message::compose(|heap| {
        let built = build(heap, given(&words, usize::try_from(count).unwrap_or(0)));
        is_good.set(built.is_some());
        built.unwrap_or(Term::NIL)
    });
    if !is_good.get() {
        return -1;
    }
    // What another thread sends, a tracer of the port does not hear of.
    current(port, |port, _, _| {
        if port.traced.tracing().is_some() {
            let is_there = to.is_local_pid() && System::get().table.contains(to);
            let event = if is_there { "send" } else { "send_to_non_existing_process" };
            port.trace(tracing::SEND, event, |_| [message.term(), to]);
        }
    });
    if to.is_local_pid() { deliver(to, message) } else { 0 }
}

/// The owner of a port, asked by any thread.
fn owner(port: Handle) -> Term {
    // SAFETY: a handle is a word that a driver has got; one that is none is found to be no port.
    let id = unsafe { Term::from_word(port) };
    let of_another = || if id.is_immediate() { atoll_ports::find(id).map(|port| port.connected()) } else { None };
    current(port, |_, state, _| state.connected).or_else(of_another).unwrap_or(Term::NONE)
}

#[unsafe(no_mangle)]
extern "C" fn erl_drv_output_term(port: Handle, words: *const Word, count: c_int) -> c_int {
    send(port, owner(port), words, count)
}

#[unsafe(no_mangle)]
extern "C" fn erl_drv_send_term(port: Handle, to: Term, words: *const Word, count: c_int) -> c_int {
    send(port, to, words, count)
}

#[unsafe(no_mangle)]
extern "C" fn driver_output_term(port: Handle, words: *const Word, count: c_int) -> c_int {
    erl_drv_output_term(port, words, count)
}

#[unsafe(no_mangle)]
extern "C" fn driver_send_term(port: Handle, to: Term, words: *const Word, count: c_int) -> c_int {
    erl_drv_send_term(port, to, words, count)
}
