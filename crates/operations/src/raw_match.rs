//! Match contexts and the bytes that they look into, in place. What is looked at often is read without a second
//! check: a context that says of itself that it is one has been made by `start_match`.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_term::{Header, Kind, OffHeapBinary, Term, Word};

/// Words of a match context behind its header.
pub(crate) const CONTEXT_ARITY: usize = context::ARITY;

/// The words of a match context, for code that is made of instructions.
pub mod context {
    use atoll_term::{Header, Kind, Word};

    /// Words behind its header: saved start, position, end, underlying.
    pub const ARITY: usize = 4;
    /// Its header.
    pub const HEADER: Word = Header::new(Kind::MatchContext, ARITY).word();
    /// Index of the position: bits from the start of the underlying data, a small integer.
    pub const POSITION: usize = 2;
    /// Index of the end, counted likewise.
    pub const END: usize = 3;
    /// Index of what is looked into: heap bits, or the handle of a binary outside of heaps.
    pub const UNDERLYING: usize = 4;
}

use context::{END, HEADER, POSITION, UNDERLYING};

/// Bits below the value of a small integer.
const SMALL_SHIFT: usize = 4;

/// A match context.
#[derive(Clone, Copy)]
pub struct Context {
    object: *mut Word,
}

impl Context {
    /// The context in a register; `None` if the term is something else.
    #[inline(always)]
    pub fn of(term: Term) -> Option<Context> {
        // SAFETY: a boxed term points to a header.
        (term.is_boxed() && unsafe { *term.pointer() } == HEADER).then(|| Context { object: term.pointer() })
    }

    #[inline(always)]
    fn word(&self, index: usize) -> Term {
        // SAFETY: a match context has `CONTEXT_ARITY` words behind its header.
        unsafe { Term::from_word(*self.object.add(index)) }
    }

    /// Bits from the start of the underlying data.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.word(POSITION).small_value() as usize
    }

    /// Where the match ends, in bits from the start of the underlying data.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.word(END).small_value() as usize
    }

    /// Bits left.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.end() - self.position()
    }

    /// The heap bits or binary handle looked into.
    #[inline(always)]
    pub(crate) fn underlying(&self) -> Term {
        self.word(UNDERLYING)
    }

    /// The first of the underlying bytes.
    #[inline(always)]
    fn first(&self) -> *const u8 {
        let object = self.underlying().pointer();
        // SAFETY: heap bits have their length behind the header, then the bytes; anything else that a match looks into
        // is a handle, which has the address of its binary there, and owns a count of it.
        unsafe {
            match Header::from_word(*object).kind() {
                Kind::HeapBits => object.add(2).cast(),
                _ => (*(*object.add(1) as *const OffHeapBinary)).data(),
            }
        }
    }

    /// The underlying bytes up to the end of the match.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the match ends inside of the underlying data, which the context keeps alive and nobody changes.
        unsafe { std::slice::from_raw_parts(self.first(), self.end().div_ceil(8)) }
    }

    /// The word of the position. A context has one owner, the process that runs this; a collector may read it.
    #[inline(always)]
    fn position_word(&self) -> &AtomicU64 {
        // SAFETY: as for `word`; while others may read it, it is written through this alone.
        unsafe { AtomicU64::from_ptr(self.object.add(POSITION)) }
    }

    /// Moves on; the caller has seen that so many bits remain.
    #[inline(always)]
    pub(crate) fn advance(&self, bits: usize) {
        let word = self.position_word();
        word.store(word.load(Ordering::Relaxed) + (bits << SMALL_SHIFT) as Word, Ordering::Relaxed);
    }

    /// Goes to a position.
    #[inline(always)]
    pub(crate) fn set_position(&self, position: usize) {
        self.position_word().store(Term::small(position as i64).word(), Ordering::Relaxed);
    }

    /// The next 1 to 56 bits, most significant first, of which the caller has seen that they remain; `None` where the
    /// whole is too short for a load of eight bytes.
    #[inline(always)]
    pub(crate) fn peek(&self, bits: usize) -> Option<u64> {
        debug_assert!((1..=56).contains(&bits) && bits <= self.remaining());
        let position = self.position();
        let last = self.end().div_ceil(8).checked_sub(8)?;
        // Near the end the load ends with the last byte.
        let first = (position / 8).min(last);
        // SAFETY: the bytes up to the end of the match are there; see `bytes`.
        let word = unsafe { *self.first().add(first).cast::<[u8; 8]>() };
        Some((u64::from_be_bytes(word) << (position - first * 8)) >> (64 - bits))
    }

    /// The byte at the position, of which the caller has seen that it remains; `None` where no byte begins.
    #[inline(always)]
    pub(crate) fn peek_byte(&self) -> Option<u8> {
        let position = self.position();
        // SAFETY: the bytes up to the end of the match are there; see `bytes`.
        position.is_multiple_of(8).then(|| unsafe { *self.first().add(position / 8) })
    }
}

/// The object of a binary segment: its words, and how many of them.
pub type PartObject = ([Word; 4], usize);

/// Bytes up to which a part is copied; see [`crate::bit_part`].
pub const COPIED_BYTES: usize = 16;

/// The words of an object for the next `bits` bits, of which the caller has seen that they remain; `None` for what does
/// not lie on byte boundaries, or may be the whole.
#[inline(always)]
pub(crate) fn part_object(context: Context, bits: usize) -> Option<PartObject> {
    let position = context.position();
    if bits > COPIED_BYTES * 8 {
        let (start, end) = (Term::small(position as i64).word(), Term::small((position + bits) as i64).word());
        let header = Header::new(Kind::SubBits, 3).word();
        return (position > 0).then_some(([header, start, end, context.underlying().word()], 4));
    }
    if !(position | bits).is_multiple_of(8) || cfg!(target_endian = "big") {
        return None;
    }
    let words = bits.div_ceil(64);
    // SAFETY: the bytes up to the end of the match are there; see `Context::bytes`.
    let (low, high) = unsafe { up_to_two_words(context.first().add(position / 8), bits / 8) };
    Some(([Header::new(Kind::HeapBits, 1 + words).word(), bits as Word, low, high], 2 + words))
}

/// Up to 16 bytes as little-endian words, by loads that may overlap.
///
/// # Safety
/// So many bytes are there.
#[inline(always)]
unsafe fn up_to_two_words(first: *const u8, count: usize) -> (u64, u64) {
    // SAFETY: each load lies inside of the `count` bytes.
    unsafe {
        let half = |at: usize| u64::from(u32::from_le_bytes(*first.add(at).cast::<[u8; 4]>()));
        let whole = |at: usize| u64::from_le_bytes(*first.add(at).cast::<[u8; 8]>());
        let byte = |at: usize| u64::from(*first.add(at)) << (8 * at);
        match count {
            0 => (0, 0),
            1..=3 => (byte(0) | byte(count / 2) | byte(count - 1), 0),
            4..=7 => (half(0) | half(count - 4) << (8 * (count - 4)), 0),
            8 => (whole(0), 0),
            _ => (whole(0), whole(count - 8) >> (8 * (16 - count))),
        }
    }
}
