//! Headers of boxed objects:
//!
//! ```text
//! bits 0-1   00
//! bits 2-5   kind
//! bits 6-47  words after the header
//! bits 48-63 extra, by kind (a hash map node's bitmap)
//! ```
//!
//! Kinds below [`Kind::FIRST_OPAQUE`] hold only terms and small integers, so a collector scans them word by word
//! without knowing what they are. Opaque kinds hold raw data and are never scanned.

use crate::word::Word;

/// What a boxed object is. The layouts list the words after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The elements.
    Tuple = 0,
    /// Address of the [`crate::FunEntry`] (as a small, so that no scan takes it for a header), the pid of its creator,
    /// then the free variables.
    Fun = 1,
    /// Key tuple, then the values in the keys' order; at most [`crate::FLAT_MAP_LIMIT`] pairs.
    FlatMap = 2,
    /// Size (small), then the children; the bitmap says which of 16 there are.
    HashMapRoot = 3,
    /// The children: a cons `[Key|Value]` is a leaf, a boxed term a node below.
    HashMapNode = 4,
    /// First bit (small), bit behind the last (small), the heap bits or binary handle looked into.
    SubBits = 5,
    /// Saved start (small), position (small), end (small), the heap bits or binary handle looked into.
    MatchContext = 6,
    /// Address of the [`crate::Export`] (as a small).
    ExternalFun = 7,
    /// Limbs, least significant first, of a positive integer.
    PositiveBig = 8,
    /// Limbs of the magnitude of a negative integer.
    NegativeBig = 9,
    /// IEEE 754 double.
    Float = 10,
    /// Three 32-bit numbers and, for an alias, the pid it stands for: 2 or 3 words.
    Reference = 11,
    /// Length in bits, then the bytes, padded to words.
    HeapBits = 12,
    /// Address of the [`crate::OffHeapBinary`], next of the owner's list of handles.
    BinaryHandle = 13,
    /// Node (atom), creation, then the data; the extra bits tell pid, port and reference apart.
    External = 14,
    /// As [`Kind::Reference`] with 2 words, then the address of a shared object and the next of the owner's list.
    MagicReference = 15,
}

impl Kind {
    /// Kinds from this one on are not scanned.
    pub const FIRST_OPAQUE: u8 = Kind::PositiveBig as u8;

    /// Whether an object of this kind is a bitstring.
    #[inline(always)]
    pub const fn is_bits(self) -> bool {
        matches!(self, Kind::HeapBits | Kind::SubBits | Kind::BinaryHandle)
    }
}

const ARITY_BITS: u32 = 42;

/// Most words that an object may have after its header.
pub const MAX_ARITY: usize = (1 << ARITY_BITS) - 1;

/// A header word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Header(Word);

impl Header {
    /// Header of an object with `arity` words after it.
    #[inline(always)]
    pub const fn new(kind: Kind, arity: usize) -> Header {
        Header(((arity as u64) << 6) | ((kind as u64) << 2))
    }

    /// Header with extra bits.
    #[inline(always)]
    pub const fn with_extra(kind: Kind, arity: usize, extra: u16) -> Header {
        Header(((extra as u64) << 48) | ((arity as u64) << 6) | ((kind as u64) << 2))
    }

    /// The header with these bits.
    #[inline(always)]
    pub const fn from_word(word: Word) -> Header {
        Header(word)
    }

    /// Its bits.
    #[inline(always)]
    pub const fn word(self) -> Word {
        self.0
    }

    /// What the object is.
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        // Numbered as the kinds are, so that this compiles to nothing.
        match (self.0 >> 2) & 0xf {
            0 => Kind::Tuple,
            1 => Kind::Fun,
            2 => Kind::FlatMap,
            3 => Kind::HashMapRoot,
            4 => Kind::HashMapNode,
            5 => Kind::SubBits,
            6 => Kind::MatchContext,
            7 => Kind::ExternalFun,
            8 => Kind::PositiveBig,
            9 => Kind::NegativeBig,
            10 => Kind::Float,
            11 => Kind::Reference,
            12 => Kind::HeapBits,
            13 => Kind::BinaryHandle,
            14 => Kind::External,
            _ => Kind::MagicReference,
        }
    }

    /// Words after the header.
    #[inline(always)]
    pub const fn arity(self) -> usize {
        ((self.0 >> 6) & ((1 << ARITY_BITS) - 1)) as usize
    }

    /// Words of the whole object.
    #[inline(always)]
    pub const fn object_words(self) -> usize {
        self.arity() + 1
    }

    /// The extra bits.
    #[inline(always)]
    pub const fn extra(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// Whether a collector must not look inside.
    #[inline(always)]
    pub const fn is_opaque(self) -> bool {
        (self.0 >> 2) & 0xf >= Kind::FIRST_OPAQUE as u64
    }

    /// Whether the object is on its owner's list of objects with off-heap parts; its last word is the link.
    #[inline(always)]
    pub const fn has_off_heap_part(self) -> bool {
        let kind = (self.0 >> 2) & 0xf;
        kind == Kind::BinaryHandle as u64 || kind == Kind::MagicReference as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_sizes_come_back() {
        for number in 0..16 {
            let kind = Header::from_word(number << 2).kind();
            assert_eq!(kind as u64, number);
            let header = Header::with_extra(kind, 12_345, 0xbeef);
            assert_eq!((header.kind(), header.arity(), header.extra()), (kind, 12_345, 0xbeef));
            assert_eq!(header.is_opaque(), number >= 8);
            assert_eq!(header.word() & 3, 0);
        }
    }
}
