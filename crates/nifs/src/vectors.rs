//! Binaries as vectors for `writev`, and queues of them.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};

use atoll_term::{Build, OffHeapBinary, Term};

use crate::abi::{Binary, IoPiece, IoVector, SMALL_VECTOR};
use crate::build_terms::given;
use crate::env::Env;

/// The flag of a vector that was allocated here, not by the library.
const ALLOCATED: c_int = 1;
/// The flag of a vector whose pieces were allocated here.
const PIECES: c_int = 2;
/// The only kind of queue.
const NORMAL: c_int = 1;

/// A piece that owns a count of the binary that it lies in.
struct Piece {
    binary: NonNull<OffHeapBinary>,
    from: usize,
    length: usize,
}

impl Piece {
    fn new(bytes: &[u8]) -> Piece {
        Piece { binary: OffHeapBinary::from_bytes(bytes, bytes.len()), from: 0, length: bytes.len() }
    }

    fn base(&self) -> *mut u8 {
        // SAFETY: the piece owns a count of the binary.
        unsafe { self.binary.as_ref() }.data().wrapping_add(self.from)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the piece owns a count of the binary.
        unsafe { OffHeapBinary::release(self.binary) };
    }
}

// SAFETY: counts are atomic; the bytes are the queue's owner's.
unsafe impl Send for Piece {}

/// A queue of bytes.
pub struct Queue {
    pieces: VecDeque<Piece>,
    size: usize,
    /// What the last look has shown.
    shown: Vec<IoPiece>,
}

/// The bytes of the first binaries of a list, copied, and the rest of it.
fn binaries(list: Term, most: usize) -> Option<(Vec<Piece>, Term)> {
    let (mut pieces, mut rest) = (Vec::new(), list);
    while rest.is_cons() && pieces.len() < most {
        let element = rest.head();
        let bits = element.bits().filter(|bits| bits.is_binary())?;
        let piece = match (element.off_heap_binary(), bits.aligned_bytes()) {
            (Some(binary), Some(bytes)) => {
                binary.retain();
                Piece { binary: NonNull::from(binary), from: 0, length: bytes.len() }
            }
            _ => Piece::new(&bits.to_bytes()),
        };
        pieces.push(piece);
        rest = rest.tail();
    }
    (rest.is_cons() || rest.is_nil()).then_some((pieces, rest))
}

#[unsafe(no_mangle)]
extern "C" fn enif_inspect_iovec(
    env: Option<&mut Env>,
    most: usize,
    list: Term,
    tail: &mut Term,
    vector: &mut *mut IoVector,
) -> c_int {
    let Some((pieces, rest)) = binaries(list, most) else { return 0 };
    *tail = rest;
    let mut flags = 0;
    if vector.is_null() {
        // SAFETY: all zeros are such a vector, an empty one.
        *vector = Box::into_raw(Box::new(unsafe { std::mem::zeroed::<IoVector>() }));
        flags = ALLOCATED;
    }
    // SAFETY: the vector is the library's, or was just made.
    let made = unsafe { &mut **vector };
    let shown: Vec<IoPiece> =
        pieces.iter().map(|piece| IoPiece { base: piece.base().cast(), length: piece.length }).collect();
    made.count = shown.len() as c_int;
    made.size = shown.iter().map(|piece| piece.length).sum();
    let mut owned: Vec<*mut c_void> =
        pieces.into_iter().map(|piece| std::mem::ManuallyDrop::new(piece).binary.as_ptr().cast()).collect();
    if shown.len() <= SMALL_VECTOR {
        made.small[..shown.len()].copy_from_slice(&shown);
        made.small_owned[..owned.len()].copy_from_slice(&owned);
        (made.pieces, made.owned) = (made.small.as_mut_ptr(), made.small_owned.as_mut_ptr());
    } else {
        flags |= PIECES;
        owned.shrink_to_fit();
        made.pieces = Box::into_raw(shown.into_boxed_slice()).cast();
        made.owned = Box::into_raw(owned.into_boxed_slice()).cast();
    }
    made.flags = flags;
    if let Some(env) = env {
        keep(env, *vector, flags);
    }
    1
}

/// Gives what belongs to a vector to an environment, which frees it in the end.
fn keep(env: &mut Env, vector: *mut IoVector, flags: c_int) {
    // SAFETY: the vector was filled just now; the environment owns its counts and its memory from here on.
    unsafe {
        let made = &mut *vector;
        let count = made.count as usize;
        for owned in given(&made.owned.cast_const(), count) {
            if let Some(binary) = NonNull::new(owned.cast::<OffHeapBinary>()) {
                env.keep_binary(binary);
            }
        }
        if flags & PIECES != 0 {
            env.keep_memory(Box::from_raw(std::ptr::slice_from_raw_parts_mut(made.pieces, count)));
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(made.owned, count)));
            made.owned = null_mut();
        }
        if flags & ALLOCATED != 0 {
            env.keep_memory(Box::from_raw(vector));
        }
    }
}

/// Frees a vector that was made without an environment.
#[unsafe(no_mangle)]
extern "C" fn enif_free_iovec(vector: *mut IoVector) {
    if vector.is_null() {
        return;
    }
    // SAFETY: the library gives up a vector that it has from here.
    unsafe {
        let made = &mut *vector;
        let count = made.count as usize;
        for owned in given(&made.owned.cast_const(), count) {
            if let Some(binary) = NonNull::new(owned.cast::<OffHeapBinary>()) {
                OffHeapBinary::release(binary);
            }
        }
        if made.flags & PIECES != 0 {
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(made.pieces, count)));
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(made.owned, count)));
        }
        if made.flags & ALLOCATED != 0 {
            drop(Box::from_raw(vector));
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_create(options: c_int) -> *mut Queue {
    if options != NORMAL {
        return null_mut();
    }
    Box::into_raw(Box::new(Queue { pieces: VecDeque::new(), size: 0, shown: Vec::new() }))
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_destroy(queue: *mut Queue) {
    if !queue.is_null() {
        // SAFETY: the library gives up a queue that it has made.
        drop(unsafe { Box::from_raw(queue) });
    }
}

impl Queue {
    fn push(&mut self, mut piece: Piece, skip: usize) {
        if skip < piece.length {
            piece.from += skip;
            piece.length -= skip;
            self.size += piece.length;
            self.pieces.push_back(piece);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_enq_binary(queue: &mut Queue, binary: &mut Binary, skip: usize) -> c_int {
    if skip > binary.size {
        return 0;
    }
    let piece = match NonNull::new(binary.owned.cast::<OffHeapBinary>()) {
        Some(owned) => {
            binary.owned = null_mut();
            Piece { binary: owned, from: 0, length: binary.size }
        }
        None => Piece::new(given(&binary.data.cast_const(), binary.size)),
    };
    queue.push(piece, skip);
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_enqv(queue: &mut Queue, vector: &IoVector, skip: usize) -> c_int {
    if skip > vector.size {
        return 0;
    }
    let mut skip = skip;
    for piece in given(&vector.pieces.cast_const(), vector.count as usize) {
        let base = piece.base.cast_const().cast::<u8>();
        let bytes = given(&base, piece.length);
        let skipped = skip.min(bytes.len());
        queue.push(Piece::new(&bytes[skipped..]), 0);
        skip -= skipped;
    }
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_size(queue: &Queue) -> usize {
    queue.size
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_deq(queue: &mut Queue, count: usize, size: Option<&mut usize>) -> c_int {
    if count > queue.size {
        return 0;
    }
    let mut left = count;
    while left > 0
        && let Some(piece) = queue.pieces.front_mut()
    {
        let taken = left.min(piece.length);
        piece.from += taken;
        piece.length -= taken;
        left -= taken;
        if piece.length == 0 {
            queue.pieces.pop_front();
        }
    }
    queue.size -= count;
    if let Some(size) = size {
        *size = queue.size;
    }
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_peek(queue: &mut Queue, count: Option<&mut c_int>) -> *mut IoPiece {
    queue.shown =
        queue.pieces.iter().map(|piece| IoPiece { base: piece.base().cast(), length: piece.length }).collect();
    if let Some(count) = count {
        *count = queue.shown.len() as c_int;
    }
    if queue.shown.is_empty() { null_mut() } else { queue.shown.as_mut_ptr() }
}

#[unsafe(no_mangle)]
extern "C" fn enif_ioq_peek_head(env: &mut Env, queue: &Queue, size: Option<&mut usize>, head: &mut Term) -> c_int {
    let Some(piece) = queue.pieces.front() else { return 0 };
    if let Some(size) = size {
        *size = piece.length;
    }
    *head = env.binary(given(&piece.base().cast_const(), piece.length));
    1
}
