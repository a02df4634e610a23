//! What is known of the value in a register.

use crate::instruction::Shape;

/// The kinds of terms that a value may be of, with the least (or exact) arity of a tuple and the value of a small
/// constant.
///
/// A set of kinds, so that what ways bring together is the union, and what a test leaves is a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type(u32);

const ABSENT: u32 = 1 << 11;
const FRESH: u32 = 1 << 12;
const KINDS: u32 = FRESH - 1;
const NUMBER_SHIFT: u32 = 13;
/// The largest number that a type can hold; a larger one counts as "at least this".
const MOST: u32 = (1 << (31 - NUMBER_SHIFT)) - 1;
const EXACT: u32 = 1 << 31;
/// The number and whether it is exact: of a tuple its arity, of an integer its value.
const NUMBER: u32 = !(KINDS | FRESH);

impl Type {
    /// What cannot be: the code is never reached.
    pub(crate) const NOTHING: Type = Type(0);
    pub(crate) const ATOM: Type = Type(1);
    pub(crate) const INTEGER: Type = Type(1 << 1);
    pub(crate) const FLOAT: Type = Type(1 << 2);
    pub(crate) const NIL: Type = Type(1 << 3);
    pub(crate) const CONS: Type = Type(1 << 4);
    pub(crate) const TUPLE: Type = Type(1 << 5);
    pub(crate) const MAP: Type = Type(1 << 6);
    pub(crate) const BITS: Type = Type(1 << 7);
    pub(crate) const FUN: Type = Type(1 << 8);
    /// Pids, ports and references.
    pub(crate) const OTHER: Type = Type(1 << 9);
    /// A match context, which is no term: only what matches may see it.
    pub(crate) const CONTEXT: Type = Type(1 << 10);
    /// Nothing that a collection may look at.
    pub(crate) const ABSENT: Type = Type(ABSENT);
    /// Any term.
    pub(crate) const TERM: Type = Type((1 << 10) - 1);
    pub(crate) const NUMERIC: Type = Type(1 << 1 | 1 << 2);
    pub(crate) const LIST: Type = Type(1 << 3 | 1 << 4);

    /// A tuple with at least this many elements.
    pub(crate) const fn tuple_of_least(arity: u32) -> Type {
        let arity = if arity < MOST { arity } else { MOST };
        Type(Type::TUPLE.0 | arity << NUMBER_SHIFT)
    }

    /// A tuple with so many elements.
    pub(crate) const fn tuple_of(arity: u32) -> Type {
        let exact = if arity < MOST { EXACT } else { 0 };
        Type(Type::tuple_of_least(arity).0 | exact)
    }

    /// A small integer that is known.
    pub(crate) fn constant(value: i64) -> Type {
        match u32::try_from(value) {
            Ok(value) if value < MOST => Type(Type::INTEGER.0 | value << NUMBER_SHIFT | EXACT),
            _ => Type::INTEGER,
        }
    }

    /// The same type; the value is new, and only registers refer to it.
    pub(crate) const fn fresh(self) -> Type {
        Type(self.0 | FRESH)
    }

    pub(crate) const fn is_fresh(self) -> bool {
        self.0 & FRESH != 0
    }

    pub(crate) const fn not_fresh(self) -> Type {
        Type(self.0 & !FRESH)
    }

    /// Whether a collection may look at it.
    pub(crate) const fn is_present(self) -> bool {
        self.0 & ABSENT == 0
    }

    pub(crate) const fn may_be(self, other: Type) -> bool {
        self.0 & other.0 & KINDS != 0
    }

    pub(crate) const fn with(self, other: Type) -> Type {
        Type(self.0 | other.0 & KINDS)
    }

    /// The value of a known small integer.
    pub(crate) fn known_integer(self) -> Option<u32> {
        (self.0 & (KINDS | EXACT) == Type::INTEGER.0 | EXACT).then_some(self.number())
    }

    const fn number(self) -> u32 {
        (self.0 & !EXACT) >> NUMBER_SHIFT
    }

    /// What is known of a value that is of one type or the other.
    pub(crate) fn join(self, other: Type) -> Type {
        if self == other {
            return self;
        }
        let kinds = (self.0 | other.0) & KINDS;
        if kinds & ABSENT != 0 {
            return Type::ABSENT;
        }
        let number = match (self.may_be(Type::TUPLE), other.may_be(Type::TUPLE)) {
            (true, true) if (self.0 ^ other.0) & NUMBER == 0 => self.0 & NUMBER,
            (true, true) => self.number().min(other.number()) << NUMBER_SHIFT,
            (true, false) => self.0 & NUMBER,
            (false, true) => other.0 & NUMBER,
            (false, false) => 0,
        };
        Type(kinds | self.0 & other.0 & FRESH | number)
    }

    /// What is known of a value that is of both types.
    pub(crate) fn meet(self, other: Type) -> Type {
        let kinds = self.0 & other.0 & KINDS;
        let number = if kinds & Type::TUPLE.0 == 0 {
            // The value of a constant stays known.
            if kinds == self.0 & KINDS && !self.may_be(Type::TUPLE) { self.0 & NUMBER } else { 0 }
        } else if other.0 & EXACT != 0 {
            other.0 & NUMBER
        } else if self.0 & EXACT != 0 {
            self.0 & NUMBER
        } else {
            self.number().max(other.number()) << NUMBER_SHIFT
        };
        Type(kinds | self.0 & FRESH | number)
    }

    /// What is left when the value is of none of these kinds.
    pub(crate) fn without(self, other: Type) -> Type {
        self.meet(Type(!other.0 & KINDS))
    }

    /// What a value of this shape is.
    pub(crate) fn of_shape(shape: Shape) -> Type {
        match shape {
            Shape::Cons => Type::CONS,
            Shape::Tuple { least } => Type::tuple_of_least(least),
            Shape::TupleOf { arity } => Type::tuple_of(arity),
            Shape::Map => Type::MAP,
            Shape::Float => Type::FLOAT,
        }
    }

    /// Whether every value of this type has the shape.
    pub(crate) fn has(self, shape: Shape) -> bool {
        let only = |kind: Type| self.0 & KINDS & !kind.0 == 0;
        let unreachable = self.0 & KINDS == 0;
        match shape {
            Shape::Cons => only(Type::CONS),
            Shape::Tuple { least } => unreachable || only(Type::TUPLE) && self.number() >= least && least < MOST,
            Shape::TupleOf { arity } => {
                unreachable || only(Type::TUPLE) && self.0 & EXACT != 0 && self.number() == arity
            }
            Shape::Map => only(Type::MAP),
            Shape::Float => only(Type::FLOAT),
        }
    }

    /// What a literal in the external term format is. It is read as the decoder reads it, or counts as any term.
    pub(crate) fn of_literal(term: &[u8]) -> Type {
        let long = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
        match term {
            [131, 104, arity, ..] => Type::tuple_of(u32::from(*arity)),
            [131, 105, a, b, c, d, ..] => Type::tuple_of(long(&[*a, *b, *c, *d])),
            [131, 106, ..] => Type::NIL,
            [131, 107, a, b, ..] if (*a, *b) != (0, 0) => Type::CONS,
            [131, 108, a, b, c, d, ..] if long(&[*a, *b, *c, *d]) > 0 => Type::CONS,
            [131, 116, ..] => Type::MAP,
            [131, 70 | 99, ..] => Type::FLOAT,
            [131, 77 | 109, ..] => Type::BITS,
            [131, 97 | 98 | 110 | 111, ..] => Type::INTEGER,
            _ => Type::TERM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_and_parts() {
        let pair = Type::tuple_of(2);
        assert!(pair.has(Shape::TupleOf { arity: 2 }) && pair.has(Shape::Tuple { least: 1 }));
        assert!(!pair.has(Shape::Tuple { least: 3 }));
        let either = pair.join(Type::tuple_of(3));
        assert!(either.has(Shape::Tuple { least: 2 }));
        assert!(!either.has(Shape::TupleOf { arity: 2 }) && !either.has(Shape::TupleOf { arity: 3 }));
        assert!(either.meet(Type::tuple_of(3)).has(Shape::TupleOf { arity: 3 }));
        let found = pair.join(Type::ATOM);
        assert!(!found.has(Shape::Tuple { least: 1 }));
        assert!(found.without(Type::ATOM).has(Shape::TupleOf { arity: 2 }));
        assert!(Type::LIST.without(Type::NIL).has(Shape::Cons));
        assert_eq!(pair.join(Type::ABSENT), Type::ABSENT);
        assert!(!Type::TERM.may_be(Type::CONTEXT) && Type::TERM.is_present());
    }

    #[test]
    fn constants_are_known_until_they_differ() {
        assert_eq!(Type::constant(3).known_integer(), Some(3));
        assert_eq!(Type::constant(3).join(Type::constant(4)).known_integer(), None);
        assert_eq!(Type::constant(-1).known_integer(), None);
        assert_eq!(Type::constant(3).meet(Type::NUMERIC).known_integer(), Some(3));
        assert_eq!(Type::tuple_of(3).join(Type::constant(3)).known_integer(), None);
    }

    #[test]
    fn one_of_two_tuples_may_be_old() {
        let new = Type::tuple_of(2).fresh();
        assert!(new.join(new).is_fresh() && !new.join(Type::tuple_of(2)).is_fresh());
    }

    #[test]
    fn large_arities_are_not_exact() {
        let large = Type::tuple_of(1 << 20);
        assert!(large.has(Shape::Tuple { least: 1000 }));
        assert!(!large.has(Shape::TupleOf { arity: 1 << 20 }) && !large.has(Shape::Tuple { least: 1 << 20 }));
    }

    #[test]
    fn literals() {
        assert!(Type::of_literal(&[131, 104, 2, 106, 106]).has(Shape::TupleOf { arity: 2 }));
        assert_eq!(Type::of_literal(&[131, 108, 0, 0, 0, 0, 106]), Type::TERM);
        assert_eq!(Type::of_literal(&[131, 107, 0, 1, 7]), Type::CONS);
        assert_eq!(Type::of_literal(&[131, 80, 0, 0]), Type::TERM);
    }
}
