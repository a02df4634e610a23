//! Tagged words. A term is one 64-bit word; its low bits say what it is:
//!
//! ```text
//! ................................................................00   header of a boxed object, or a code address
//! ................................................................01   pointer to a cons (2 words: head, tail)
//! ................................................................10   pointer to a boxed object (header first)
//! ..............................................................0011   local pid
//! ..............................................................0111   local port
//! ............................................................001011   atom
//! ............................................................011011   catch mark (stack only)
//! ............................................................111011   nil
//! ..............................................................1111   small integer, 60 bits with sign
//! ```
//!
//! The tags are those of OTP, because the iteration order of large maps follows from a hash of the
//! word of a small integer.

use std::fmt;

/// A machine word of a heap: a term, a header, or raw data inside an opaque object.
pub type Word = u64;

/// Bytes in a word.
pub const WORD_BYTES: usize = 8;

const TAG_MASK: u64 = 0b11;
const TAG_CONS: u64 = 0b01;
const TAG_BOXED: u64 = 0b10;
const IMMEDIATE_MASK: u64 = 0b1111;
const TAG_PID: u64 = 0b0011;
const TAG_PORT: u64 = 0b0111;
const TAG_SMALL: u64 = 0b1111;
const SPECIAL_MASK: u64 = 0b11_1111;
const TAG_ATOM: u64 = 0b00_1011;
const TAG_CATCH: u64 = 0b01_1011;
const NIL: u64 = 0b11_1011;

/// Bits of a local pid's data that are its number, as in OTP; the serial lies above.
pub const PID_NUMBER_BITS: u32 = 15;

/// Number and serial of a local pid with this data.
#[inline]
pub const fn pid_parts(data: u64) -> (u64, u64) {
    (data & ((1 << PID_NUMBER_BITS) - 1), data >> PID_NUMBER_BITS)
}

/// Largest small integer.
pub const SMALL_MAX: i64 = (1 << 59) - 1;
/// Smallest small integer.
pub const SMALL_MIN: i64 = -(1 << 59);

/// One Erlang term: an immediate value or a tagged pointer into some heap.
///
/// A term is a plain word. Safe code follows its pointer, so a term that safe code gets hold of is an immediate or
/// points to a whole live object of the kind that its tag says. Unsafe code makes terms of words ([`Term::from_word`]),
/// and moves and frees objects: it answers for that. Equality of words is identity, not Erlang's `=:=`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Term(u64);

/// The lowest bit tells whether a term or a header is a pointer: the tags of pointers, 01 and 10, are the two with
/// exactly one bit set.
#[inline(always)]
const fn pointer_bit(word: Word) -> Word {
    word ^ (word >> 1)
}

/// Whether one of these words is a pointer, or would be if it was a term; without a branch for each.
#[inline(always)]
pub fn is_pointer_among<const WORDS: usize>(words: [Word; WORDS]) -> bool {
    words.into_iter().fold(0, |bits, word| bits | pointer_bit(word)) & 1 == 1
}

impl Term {
    /// No term at all: an absent result. Its tag is that of a header, so no term equals it.
    pub const NONE: Term = Term(0);
    /// The empty list.
    pub const NIL: Term = Term(NIL);

    /// The term with these bits. Safe code makes none:
    ///
    /// ```compile_fail,E0133
    /// let term = atoll_term::Term::from_word(0x1001);
    /// ```
    ///
    /// # Safety
    /// The word is an immediate, or points to a whole live object of the kind that its tag says and that is neither
    /// moved nor freed while safe code has the term. Or safe code does not get it: unsafe code makes terms of any words
    /// to look at their bits.
    #[inline(always)]
    pub const unsafe fn from_word(word: Word) -> Term {
        Term(word)
    }

    /// The bits of the term.
    #[inline(always)]
    pub const fn word(self) -> Word {
        self.0
    }

    /// Whether this is [`Term::NONE`].
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// A small integer; the value must lie between [`SMALL_MIN`] and [`SMALL_MAX`], higher bits are lost.
    #[inline(always)]
    pub const fn small(value: i64) -> Term {
        Term(((value as u64) << 4) | TAG_SMALL)
    }

    /// A small integer if the value fits.
    #[inline(always)]
    pub const fn try_small(value: i64) -> Option<Term> {
        if value >= SMALL_MIN && value <= SMALL_MAX { Some(Term::small(value)) } else { None }
    }

    /// The small integer whose value the upper 60 bits are, as arithmetic with tagged words leaves it; the lower four
    /// say nothing.
    #[inline(always)]
    pub const fn small_of_bits(bits: u64) -> Term {
        Term(bits | TAG_SMALL)
    }

    /// Whether this is a small integer.
    #[inline(always)]
    pub const fn is_small(self) -> bool {
        self.0 & IMMEDIATE_MASK == TAG_SMALL
    }

    /// Whether both are small integers.
    #[inline(always)]
    pub const fn both_small(self, other: Term) -> bool {
        (self.0 & other.0) & IMMEDIATE_MASK == TAG_SMALL
    }

    /// Value of a small integer (meaningless for other terms).
    #[inline(always)]
    pub const fn small_value(self) -> i64 {
        (self.0 as i64) >> 4
    }

    /// Value if this is a small integer.
    #[inline(always)]
    pub const fn as_small(self) -> Option<i64> {
        if self.is_small() { Some(self.small_value()) } else { None }
    }

    /// The atom with this table index.
    #[inline(always)]
    pub const fn atom(index: u32) -> Term {
        Term(((index as u64) << 6) | TAG_ATOM)
    }

    /// Whether this is an atom.
    #[inline(always)]
    pub const fn is_atom(self) -> bool {
        self.0 & SPECIAL_MASK == TAG_ATOM
    }

    /// Table index of an atom (meaningless for other terms).
    #[inline(always)]
    pub const fn atom_index(self) -> u32 {
        (self.0 >> 6) as u32
    }

    /// A local pid from its 60 bits of data.
    #[inline(always)]
    pub const fn pid(data: u64) -> Term {
        Term((data << 4) | TAG_PID)
    }

    /// Whether this is a local pid.
    #[inline(always)]
    pub const fn is_local_pid(self) -> bool {
        self.0 & IMMEDIATE_MASK == TAG_PID
    }

    /// A local pid from its number and serial, which the external format and `<0.Number.Serial>` have apart.
    #[inline(always)]
    pub const fn pid_of(number: u64, serial: u64) -> Term {
        Term::pid(serial << PID_NUMBER_BITS | number)
    }

    /// A local port from its 60 bits of data.
    #[inline(always)]
    pub const fn port(data: u64) -> Term {
        Term((data << 4) | TAG_PORT)
    }

    /// Whether this is a local port.
    #[inline(always)]
    pub const fn is_local_port(self) -> bool {
        self.0 & IMMEDIATE_MASK == TAG_PORT
    }

    /// Data of a local pid or port (meaningless for other terms).
    #[inline(always)]
    pub const fn immediate_data(self) -> u64 {
        self.0 >> 4
    }

    /// A catch mark that holds an 8-byte aligned code address; it exists on stacks only.
    #[inline(always)]
    pub const fn catch_mark(address: u64) -> Term {
        Term(((address >> 3) << 6) | TAG_CATCH)
    }

    /// Whether this is a catch mark.
    #[inline(always)]
    pub const fn is_catch_mark(self) -> bool {
        self.0 & SPECIAL_MASK == TAG_CATCH
    }

    /// Code address of a catch mark.
    #[inline(always)]
    pub const fn catch_address(self) -> u64 {
        (self.0 >> 6) << 3
    }

    /// Whether this is the empty list.
    #[inline(always)]
    pub const fn is_nil(self) -> bool {
        self.0 == NIL
    }

    /// Whether this is a nonempty list cell.
    #[inline(always)]
    pub const fn is_cons(self) -> bool {
        self.0 & TAG_MASK == TAG_CONS
    }

    /// Whether this is a cons or nil.
    #[inline(always)]
    pub const fn is_list(self) -> bool {
        self.is_cons() || self.is_nil()
    }

    /// Whether this points to a boxed object.
    #[inline(always)]
    pub const fn is_boxed(self) -> bool {
        self.0 & TAG_MASK == TAG_BOXED
    }

    /// Whether this points into a heap (cons or boxed).
    #[inline(always)]
    pub const fn is_pointer(self) -> bool {
        pointer_bit(self.0) & 1 == 1
    }

    /// Whether the word is a header or a code address.
    #[inline(always)]
    pub const fn is_header(self) -> bool {
        self.0 & TAG_MASK == 0
    }

    /// Whether the value is complete in the word.
    #[inline(always)]
    pub const fn is_immediate(self) -> bool {
        self.0 & TAG_MASK == TAG_MASK
    }

    /// A list whose first cell is at `cell` (8-byte aligned).
    ///
    /// # Safety
    /// As for [`Term::from_word`].
    #[inline(always)]
    pub unsafe fn cons_at(cell: *const Word) -> Term {
        Term(cell as u64 | TAG_CONS)
    }

    /// The boxed object whose header is at `object` (8-byte aligned).
    ///
    /// # Safety
    /// As for [`Term::from_word`].
    #[inline(always)]
    pub unsafe fn boxed_at(object: *const Word) -> Term {
        Term(object as u64 | TAG_BOXED)
    }

    /// Where a cons or boxed term points (meaningless for immediates).
    #[inline(always)]
    pub const fn pointer(self) -> *mut Word {
        (self.0 & !TAG_MASK) as *mut Word
    }

    /// The same kind of pointer, to another place.
    ///
    /// # Safety
    /// As for [`Term::from_word`].
    #[inline(always)]
    pub unsafe fn with_pointer(self, place: *const Word) -> Term {
        Term(place as u64 | (self.0 & TAG_MASK))
    }

    /// `true` or `false`.
    #[inline(always)]
    pub const fn boolean(value: bool) -> Term {
        if value { crate::atoms::TRUE } else { crate::atoms::FALSE }
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Term({:#x})", self.0)
    }
}

const _: () = assert!(size_of::<Term>() == WORD_BYTES);
const _: () = assert!(Term::small(-1).small_value() == -1);
const _: () = assert!(Term::NIL.is_immediate() && !Term::NIL.is_atom());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_exclude_each_other() {
        let terms = [
            Term::small(5),
            Term::atom(7),
            Term::pid(9),
            Term::port(3),
            Term::NIL,
            Term::catch_mark(0x1000),
            // SAFETY: their bits alone are looked at.
            unsafe { Term::cons_at(0x1000 as *const Word) },
            // SAFETY: as above.
            unsafe { Term::boxed_at(0x1000 as *const Word) },
        ];
        let tests: [fn(Term) -> bool; 8] = [
            Term::is_small,
            Term::is_atom,
            Term::is_local_pid,
            Term::is_local_port,
            Term::is_nil,
            Term::is_catch_mark,
            Term::is_cons,
            Term::is_boxed,
        ];
        for (i, term) in terms.iter().enumerate() {
            for (j, test) in tests.iter().enumerate() {
                assert_eq!(test(*term), i == j, "{term:?} by test {j}");
            }
            assert_eq!(term.is_pointer(), term.is_cons() || term.is_boxed());
        }
    }

    #[test]
    fn small_limits() {
        assert_eq!(Term::small(SMALL_MAX).small_value(), SMALL_MAX);
        assert_eq!(Term::small(SMALL_MIN).small_value(), SMALL_MIN);
        assert!(Term::try_small(SMALL_MAX + 1).is_none());
        assert!(Term::try_small(SMALL_MIN - 1).is_none());
        assert_eq!(Term::catch_mark(0x7fff_ffff_fff8).catch_address(), 0x7fff_ffff_fff8);
    }
}
