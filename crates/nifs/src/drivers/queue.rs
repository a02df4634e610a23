//! What a driver has queued for its port: pieces of binaries, of which the driver sees a vector.
//!
//! A driver may use its queue from any thread, under a lock of its own (`driver_pdl_lock`), so a queue has its own lock
//! here and is found without the port's.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use atoll_term::Term;
use parking_lot::Mutex;

use crate::abi::IoPiece;
use crate::build_terms::given;
use crate::drivers::binaries::{Binary, data, driver_free_binary, of, retain};
use crate::drivers::layout::{Handle, IoVector};
use crate::drivers::port::current;
use crate::env::enter_machine;

/// A piece, with a count of its binary.
struct Piece {
    binary: NonNull<Binary>,
    from: usize,
    length: usize,
}

impl Drop for Piece {
    fn drop(&mut self) {
        driver_free_binary(Some(self.binary));
    }
}

/// A port's queue.
#[derive(Default)]
pub struct Queue {
    pieces: VecDeque<Piece>,
    bytes: usize,
    /// What the driver looks at.
    shown: Vec<IoPiece>,
    binaries: Vec<*mut Binary>,
}

// SAFETY: the vectors are made anew for whoever looks at them; counts are atomic.
unsafe impl Send for Queue {}

/// What the threads of a driver use of its port without the port's lock.
#[derive(Default)]
pub struct Shared {
    pub queue: Mutex<Queue>,
    /// The port is to be closed when its queue is empty: what it still says goes nowhere.
    pub is_closing: AtomicBool,
    /// Who writes to it has to wait.
    pub is_busy: AtomicBool,
}

/// That of a port which is open; any thread may ask.
pub fn shared(port: Handle) -> Option<Arc<Shared>> {
    if let Some(shared) = current(port, |_, _, linked| linked.shared.clone()) {
        return Some(shared);
    }
    enter_machine();
    // SAFETY: a handle is a word that a driver has got; one that is no port's is not found.
    let id = unsafe { Term::from_word(port) };
    let port = if id.is_immediate() { atoll_ports::find(id) } else { None };
    port.filter(|port| port.is_open())?.shared.clone()?.downcast().ok()
}

impl Queue {
    /// Bytes in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn add(&mut self, pieces: Vec<Piece>, at_front: bool) {
        self.bytes += pieces.iter().map(|piece| piece.length).sum::<usize>();
        let pieces = pieces.into_iter().filter(|piece| piece.length > 0);
        if at_front {
            pieces.rev().for_each(|piece| self.pieces.push_front(piece));
        } else {
            self.pieces.extend(pieces);
        }
    }

    /// Takes so many bytes out; how many are left, if there were as many.
    fn remove(&mut self, mut count: usize) -> Option<usize> {
        self.bytes = self.bytes.checked_sub(count)?;
        while let Some(first) = self.pieces.front_mut().filter(|_| count > 0) {
            if count < first.length {
                (first.from, first.length) = (first.from + count, first.length - count);
                break;
            }
            count -= first.length;
            self.pieces.pop_front();
        }
        Some(self.bytes)
    }

    fn show(&mut self) -> (&mut [IoPiece], &mut [*mut Binary]) {
        let place = |piece: &Piece| data(piece.binary).wrapping_add(piece.from).cast();
        self.shown = self.pieces.iter().map(|piece| IoPiece { base: place(piece), length: piece.length }).collect();
        self.binaries = self.pieces.iter().map(|piece| piece.binary.as_ptr()).collect();
        (&mut self.shown, &mut self.binaries)
    }
}

fn add(port: Handle, pieces: Option<Vec<Piece>>, at_front: bool) -> c_int {
    let (Some(pieces), Some(shared)) = (pieces, shared(port)) else { return -1 };
    shared.queue.lock().add(pieces, at_front);
    0
}

fn copied(bytes: &[u8]) -> Option<Vec<Piece>> {
    Some(vec![Piece { binary: of(bytes)?, from: 0, length: bytes.len() }])
}

fn part(binary: NonNull<Binary>, from: usize, length: usize) -> Option<Vec<Piece>> {
    retain(binary);
    Some(vec![Piece { binary, from, length }])
}

/// The pieces of a vector behind the first `skip` bytes. What lies in no binary is copied.
fn of_vector(vector: &IoVector, mut skip: usize) -> Option<Vec<Piece>> {
    let count = usize::try_from(vector.count).ok()?;
    let binaries = vector.binaries.cast_const();
    let binaries = if binaries.is_null() { &[][..] } else { given(&binaries, count) };
    let mut pieces = Vec::new();
    for (index, piece) in given(&vector.pieces.cast_const(), count).iter().enumerate() {
        let skipped = skip.min(piece.length);
        skip -= skipped;
        let (base, length) = (piece.base.cast::<u8>().wrapping_add(skipped), piece.length - skipped);
        match binaries.get(index).and_then(|binary| NonNull::new(*binary)) {
            _ if length == 0 => {}
            Some(binary) => pieces.extend(part(binary, base as usize - data(binary) as usize, length)?),
            None => pieces.extend(copied(given(&base.cast_const(), length))?),
        }
    }
    Some(pieces)
}

/// All bytes of a vector behind the first `skip`.
pub fn bytes_of(vector: &IoVector, skip: usize) -> Vec<u8> {
    let count = usize::try_from(vector.count).unwrap_or(0);
    let pieces = given(&vector.pieces.cast_const(), count).to_vec();
    let bytes =
        pieces.into_iter().flat_map(|piece| given(&piece.base.cast::<u8>().cast_const(), piece.length).to_vec());
    bytes.skip(skip).collect()
}

#[unsafe(no_mangle)]
extern "C" fn driver_enq(port: Handle, bytes: *const u8, length: usize) -> c_int {
    add(port, copied(given(&bytes, length)), false)
}

#[unsafe(no_mangle)]
extern "C" fn driver_pushq(port: Handle, bytes: *const u8, length: usize) -> c_int {
    add(port, copied(given(&bytes, length)), true)
}

#[unsafe(no_mangle)]
extern "C" fn driver_enq_bin(port: Handle, binary: NonNull<Binary>, from: usize, length: usize) -> c_int {
    add(port, part(binary, from, length), false)
}

#[unsafe(no_mangle)]
extern "C" fn driver_pushq_bin(port: Handle, binary: NonNull<Binary>, from: usize, length: usize) -> c_int {
    add(port, part(binary, from, length), true)
}

#[unsafe(no_mangle)]
extern "C" fn driver_enqv(port: Handle, vector: &IoVector, skip: usize) -> c_int {
    add(port, of_vector(vector, skip), false)
}

#[unsafe(no_mangle)]
extern "C" fn driver_pushqv(port: Handle, vector: &IoVector, skip: usize) -> c_int {
    add(port, of_vector(vector, skip), true)
}

#[unsafe(no_mangle)]
extern "C" fn driver_deq(port: Handle, count: usize) -> usize {
    shared(port).and_then(|shared| shared.queue.lock().remove(count)).unwrap_or(usize::MAX)
}

#[unsafe(no_mangle)]
extern "C" fn driver_sizeq(port: Handle) -> usize {
    shared(port).map_or(usize::MAX, |shared| shared.queue.lock().bytes())
}

/// Valid until the queue is changed. -1 pieces: there is no such port.
#[unsafe(no_mangle)]
extern "C" fn driver_peekq(port: Handle, count: &mut c_int) -> *mut IoPiece {
    let Some(shared) = shared(port) else {
        *count = -1;
        return null_mut();
    };
    let mut queue = shared.queue.lock();
    let (pieces, _) = queue.show();
    *count = pieces.len() as c_int;
    if pieces.is_empty() { null_mut() } else { pieces.as_mut_ptr() }
}

#[unsafe(no_mangle)]
extern "C" fn driver_peekqv(port: Handle, vector: &mut IoVector) -> usize {
    let Some(shared) = shared(port) else { return usize::MAX };
    let mut queue = shared.queue.lock();
    let size = queue.bytes();
    let (pieces, binaries) = queue.show();
    let (count, pieces) = (pieces.len() as c_int, pieces.as_mut_ptr());
    *vector = IoVector { count, size, pieces, binaries: binaries.as_mut_ptr() };
    size
}

#[unsafe(no_mangle)]
extern "C" fn driver_vec_to_buf(vector: &IoVector, place: *mut u8, room: usize) -> usize {
    let bytes = bytes_of(vector, 0);
    let count = bytes.len().min(room);
    // SAFETY: the driver has that much room.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, count) };
    count
}
