//! Operands in code words, and handlers' generic access to them.
//!
//! * an X register: its offset in bytes in [`Core`]
//! * a Y register: its offset in bytes from the stack pointer
//! * a constant: the term
//! * any of them ([`Any`]): a constant as it is (no term has tag 00); registers as `offset << 3 | y << 2`

use atoll_loader::instruction::{Register, Source};
use atoll_term::{Term, Word};

use atoll_runtime::core::Core;

/// A way to read an operand.
pub trait Read {
    /// Whether the value is known to be a small integer.
    const SMALL: bool = false;

    /// The operand's value.
    ///
    /// # Safety
    /// The word was encoded for this way, `e` is the running process's stack pointer and `c` its state.
    unsafe fn read(word: Word, e: *mut Word, c: *mut Core) -> Term;
}

/// A way to write a result.
pub trait Write {
    /// Writes.
    ///
    /// # Safety
    /// As for [`Read::read`].
    unsafe fn write(word: Word, value: Term, e: *mut Word, c: *mut Core);
}

/// X registers.
pub struct X;
/// Y registers.
pub struct Y;
/// Constants.
pub struct K;
/// Constants that are small integers.
pub struct Small;
/// Whatever the word says.
pub struct Any;

impl Read for X {
    #[inline(always)]
    unsafe fn read(word: Word, _e: *mut Word, c: *mut Core) -> Term {
        // SAFETY: the offset is that of a register.
        unsafe { *c.byte_add(word as usize).cast::<Term>() }
    }
}

impl Write for X {
    #[inline(always)]
    unsafe fn write(word: Word, value: Term, _e: *mut Word, c: *mut Core) {
        // SAFETY: the offset is that of a register.
        unsafe { *c.byte_add(word as usize).cast::<Term>() = value }
    }
}

impl Read for Y {
    #[inline(always)]
    unsafe fn read(word: Word, e: *mut Word, _c: *mut Core) -> Term {
        // SAFETY: the loader checked that the slot is in the frame.
        unsafe { *e.byte_add(word as usize).cast::<Term>() }
    }
}

impl Write for Y {
    #[inline(always)]
    unsafe fn write(word: Word, value: Term, e: *mut Word, _c: *mut Core) {
        // SAFETY: the loader checked that the slot is in the frame.
        unsafe { *e.byte_add(word as usize).cast::<Term>() = value }
    }
}

impl Read for K {
    #[inline(always)]
    unsafe fn read(word: Word, _e: *mut Word, _c: *mut Core) -> Term {
        // SAFETY: a constant as translated: an immediate or a literal, which the code keeps.
        unsafe { Term::from_word(word) }
    }
}

impl Read for Small {
    const SMALL: bool = true;

    #[inline(always)]
    unsafe fn read(word: Word, _e: *mut Word, _c: *mut Core) -> Term {
        // SAFETY: a constant as translated: an immediate or a literal, which the code keeps.
        unsafe { Term::from_word(word) }
    }
}

/// Whether two operands are small integers; what is known of one need not be tested.
#[inline(always)]
pub fn both_small<S: Read, T: Read>(left: Term, right: Term) -> bool {
    match (S::SMALL, T::SMALL) {
        (false, true) => left.is_small(),
        (true, false) => right.is_small(),
        _ => left.both_small(right),
    }
}

impl Read for Any {
    #[inline(always)]
    unsafe fn read(word: Word, e: *mut Word, c: *mut Core) -> Term {
        if word & 3 != 0 {
            // SAFETY: as for `K`.
            return unsafe { Term::from_word(word) };
        }
        // SAFETY: a register as encoded by `any` or `any_register`.
        unsafe { *place(word, e, c) }
    }
}

impl Write for Any {
    #[inline(always)]
    unsafe fn write(word: Word, value: Term, e: *mut Word, c: *mut Core) {
        // SAFETY: a register as encoded by `any_register`.
        unsafe { *place(word, e, c) = value }
    }
}

#[inline(always)]
unsafe fn place(word: Word, e: *mut Word, c: *mut Core) -> *mut Term {
    let base = if word & 4 == 0 { c.cast::<u8>() } else { e.cast::<u8>() };
    // SAFETY: the offset is that of a register or of a slot of the frame.
    unsafe { base.add((word >> 3) as usize).cast::<Term>() }
}

/// Offset of an X or Y register from its base.
pub fn offset(index: u16) -> Word {
    u64::from(index) * 8
}

/// Encoding of a register for [`Any`].
pub fn any_register(register: Register) -> Word {
    match register {
        Register::X(index) => offset(index) << 3,
        Register::Y(index) => offset(index) << 3 | 4,
    }
}

/// A source with its constants resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// X register.
    X(u16),
    /// Y register.
    Y(u16),
    /// Constant.
    K(Term),
}

impl Operand {
    /// The word for the specialised way ([`X`], [`Y`] or [`K`]).
    pub fn word(self) -> Word {
        match self {
            Operand::X(index) | Operand::Y(index) => offset(index),
            Operand::K(term) => term.word(),
        }
    }

    /// The word for [`Any`].
    pub fn any(self) -> Word {
        match self {
            Operand::X(index) => any_register(Register::X(index)),
            Operand::Y(index) => any_register(Register::Y(index)),
            Operand::K(term) => term.word(),
        }
    }
}

/// Resolves a source's constants.
pub fn resolve(source: Source, atoms: &[Term], literals: &[Term]) -> Operand {
    match source {
        Source::X(index) => Operand::X(index),
        Source::Y(index) => Operand::Y(index),
        Source::Small(value) => Operand::K(Term::small(value)),
        Source::Atom(index) => Operand::K(atoms[index.0 as usize]),
        Source::Nil => Operand::K(Term::NIL),
        Source::Literal(index) => Operand::K(literals[index.0 as usize]),
    }
}
