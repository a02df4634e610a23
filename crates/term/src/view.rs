//! Reading terms: every term is one of the cases of [`View`]. These functions follow pointers, so they rest on the one
//! invariant of [`Term`]. What they show is borrowed from the term: it lives no longer than the variable, slice or
//! object that the term lies in.

use std::any::Any;
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use crate::entry::{Export, FunEntry};
use crate::header::{Header, Kind};
use crate::off_heap::{MagicValue, OffHeapBinary};
use crate::word::{Term, Word};

/// A term taken apart by its outermost constructor.
#[derive(Clone, Copy)]
pub enum View<'h> {
    /// Small integer.
    Small(i64),
    /// Arbitrary-precision integer.
    Big(Big<'h>),
    /// Float.
    Float(f64),
    /// Atom (the term itself).
    Atom(Term),
    /// Local pid: its data.
    Pid(u64),
    /// Local port: its data.
    Port(u64),
    /// Pid, port or reference of another node.
    External(External<'h>),
    /// Local reference.
    Reference(Reference<'h>),
    /// `[]`
    Nil,
    /// Nonempty list cell: head and tail.
    Cons(Term, Term),
    /// Tuple: its elements.
    Tuple(&'h [Term]),
    /// Map (flat or hashed).
    Map(Term),
    /// Binary or bitstring.
    Bits(Bits<'h>),
    /// Local fun.
    Fun(Fun<'h>),
    /// `fun M:F/A`
    ExternalFun(&'static Export),
    /// No value that a program can hold (headers, code addresses, catch marks, map nodes, match contexts).
    Internal,
}

/// Magnitude and sign of a large integer.
#[derive(Clone, Copy)]
pub struct Big<'h> {
    /// Below zero?
    pub negative: bool,
    /// Limbs of the magnitude, least significant first, the highest not zero.
    pub limbs: &'h [u64],
}

impl Big<'_> {
    /// The integer as the arithmetic library's type.
    pub fn to_bigint(&self) -> BigInt {
        let digits: Vec<u32> = self.limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]).collect();
        BigInt::from_slice(if self.negative { Sign::Minus } else { Sign::Plus }, &digits)
    }
}

/// A local reference: its numbers.
#[derive(Clone, Copy)]
pub struct Reference<'h> {
    /// The words after the header: (n0 | n1 << 32), n2, and for an alias the pid's word.
    pub words: &'h [u64],
}

impl Reference<'_> {
    /// The three numbers, as in the external format.
    pub fn numbers(&self) -> [u32; 3] {
        [self.words[0] as u32, (self.words[0] >> 32) as u32, self.words[1] as u32]
    }

    /// The process that an alias reference stands for.
    pub fn alias_of(&self) -> Option<Term> {
        // SAFETY: what comes through the filter has no pointer.
        self.words.get(2).map(|word| unsafe { Term::from_word(*word) }).filter(|term| term.is_local_pid())
    }
}

/// What an external identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum ExternalKind {
    /// Pid: data words are number and serial.
    Pid = 0,
    /// Port: one data word.
    Port = 1,
    /// Reference: up to five 32-bit numbers, one a word.
    Reference = 2,
}

/// Pid, port or reference of another node.
#[derive(Clone, Copy)]
pub struct External<'h> {
    /// Which of them.
    pub kind: ExternalKind,
    /// Name of the node (atom).
    pub node: Term,
    /// Creation of the node.
    pub creation: u32,
    /// Data, see [`ExternalKind`].
    pub data: &'h [u64],
}

/// A fun made by a `fun` expression.
#[derive(Clone, Copy)]
pub struct Fun<'h> {
    /// Its code.
    pub entry: &'static FunEntry,
    /// The process that made it (a pid, of this or another node).
    pub creator: Term,
    /// Free variables.
    pub free: &'h [Term],
}

/// A run of bits somewhere in memory.
#[derive(Clone, Copy)]
pub struct Bits<'h> {
    /// First byte of the underlying data.
    base: *const u8,
    /// First bit, counted from the most significant bit of `base`.
    start: usize,
    length: usize,
    marker: std::marker::PhantomData<&'h [u8]>,
}

impl<'h> Bits<'h> {
    /// Bits of a slice.
    pub fn of_slice(bytes: &'h [u8], start: usize, length: usize) -> Bits<'h> {
        assert!(start + length <= bytes.len() * 8);
        Bits { base: bytes.as_ptr(), start, length, marker: std::marker::PhantomData }
    }

    /// Number of bits.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
    }

    /// First bit, counted from that of the underlying data.
    #[inline(always)]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Whether the length is a whole number of bytes.
    pub fn is_binary(&self) -> bool {
        self.length.is_multiple_of(8)
    }

    /// Length in bytes, rounded up.
    pub fn byte_length(&self) -> usize {
        self.length.div_ceil(8)
    }

    /// The bytes, if the bits start at a byte boundary; a partial last byte is included with whatever follows.
    pub fn aligned_bytes(&self) -> Option<&'h [u8]> {
        if !self.start.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the run lies inside the data that the term keeps alive, which nobody changes.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(self.start / 8), self.byte_length()) })
    }

    /// The underlying bytes that the run touches, and the bit offset (0 to 7) of its start in the first.
    pub fn touched(&self) -> (&'h [u8], usize) {
        let offset = self.start % 8;
        // SAFETY: as above.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.base.add(self.start / 8), (offset + self.length).div_ceil(8)) };
        (bytes, offset)
    }

    /// Byte number `index` of the run; bits beyond the end are zero.
    #[inline]
    pub fn byte(&self, index: usize) -> u8 {
        let (bytes, offset) = self.touched();
        let high = u16::from(bytes[index]) << 8;
        let low = u16::from(bytes.get(index + 1).copied().unwrap_or(0));
        let byte = ((high | low) >> (8 - offset)) as u8;
        let rest = self.length - index * 8;
        if rest >= 8 { byte } else { byte & (0xffu16 << (8 - rest)) as u8 }
    }

    /// The bytes as a slice, copied only if they do not start at a byte boundary or end inside a byte.
    pub fn to_bytes(&self) -> std::borrow::Cow<'h, [u8]> {
        match self.aligned_bytes() {
            Some(bytes) if self.is_binary() => bytes.into(),
            _ => (0..self.byte_length()).map(|index| self.byte(index)).collect::<Vec<u8>>().into(),
        }
    }

    /// Part of the run.
    pub fn slice(&self, from: usize, length: usize) -> Bits<'h> {
        assert!(from + length <= self.length);
        Bits { start: self.start + from, length, ..*self }
    }
}

/// A boxed object in place: its header and the words behind it.
#[inline(always)]
fn object(term: &Term) -> (Header, &[u64]) {
    // SAFETY: a boxed term points to a whole object (the invariant of `Term`).
    unsafe {
        let header = Header::from_word(*term.pointer());
        (header, std::slice::from_raw_parts(term.pointer().add(1), header.arity()))
    }
}

fn as_terms(words: &[u64]) -> &[Term] {
    // SAFETY: `Term` is a transparent wrapper of the word.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// A function of the machine asks for parts that a term does not have.
#[cold]
#[inline(never)]
fn wrong_kind() -> ! {
    panic!("a term of another kind was expected");
}

impl Term {
    /// Header of a boxed term. Panics for another.
    #[inline(always)]
    pub fn header(self) -> Header {
        if !self.is_boxed() {
            wrong_kind();
        }
        // SAFETY: a boxed term points to a header.
        Header::from_word(unsafe { *self.pointer() })
    }

    /// Kind of a boxed term, `None` for other terms.
    #[inline(always)]
    pub fn boxed_kind(self) -> Option<Kind> {
        self.is_boxed().then(|| self.header().kind())
    }

    /// Head of a cons. Panics for another term; the compiler leaves the test out where [`Term::is_cons`] goes before.
    #[inline(always)]
    pub fn head(self) -> Term {
        self.cons_cell()[0]
    }

    /// Tail of a cons. As [`Term::head`].
    #[inline(always)]
    pub fn tail(self) -> Term {
        self.cons_cell()[1]
    }

    /// Head and tail of a cons as they lie in memory. As [`Term::head`].
    #[inline(always)]
    pub fn cons_cell(&self) -> &[Term; 2] {
        if !self.is_cons() {
            wrong_kind();
        }
        // SAFETY: a cons term points to two words, and `Term` is a transparent wrapper of the word.
        unsafe { &*self.pointer().cast::<[Term; 2]>() }
    }

    /// Elements if this is a tuple. They live no longer than what the term lies in:
    ///
    /// ```compile_fail,E0597
    /// use atoll_term::{Build, ScratchHeap, Term};
    ///
    /// let mut heap = ScratchHeap::new();
    /// let kept: &[Term];
    /// {
    ///     let tuple = heap.tuple(&[Term::NIL]);
    ///     kept = tuple.tuple_elements().unwrap();
    /// }
    /// assert_eq!(kept.len(), 1);
    /// ```
    ///
    /// ```compile_fail,E0515
    /// fn bytes(binary: atoll_term::Term) -> Option<&'static [u8]> {
    ///     binary.bits()?.aligned_bytes()
    /// }
    /// ```
    #[inline]
    pub fn tuple_elements(&self) -> Option<&[Term]> {
        if self.boxed_kind() == Some(Kind::Tuple) { Some(as_terms(object(self).1)) } else { None }
    }

    /// The words after the header of a boxed object of any kind that is scanned. Panics for another term.
    #[inline]
    pub fn boxed_terms(&self) -> &[Term] {
        if self.header().is_opaque() {
            wrong_kind();
        }
        as_terms(object(self).1)
    }

    /// Header of a boxed object of a kind that is scanned, and the words after it.
    ///
    /// # Safety
    /// It is one.
    #[inline(always)]
    pub(crate) unsafe fn scanned_parts(&self) -> (Header, &[Term]) {
        let (header, words) = object(self);
        (header, as_terms(words))
    }

    /// Value if this is a float.
    #[inline]
    pub fn as_float(self) -> Option<f64> {
        if self.boxed_kind() == Some(Kind::Float) { Some(f64::from_bits(object(&self).1[0])) } else { None }
    }

    /// Large integer if this is one.
    pub fn as_big(&self) -> Option<Big<'_>> {
        match self.boxed_kind()? {
            Kind::PositiveBig => Some(Big { negative: false, limbs: object(self).1 }),
            Kind::NegativeBig => Some(Big { negative: true, limbs: object(self).1 }),
            _ => None,
        }
    }

    /// Integer of any size.
    pub fn to_bigint(self) -> Option<BigInt> {
        self.as_small().map(BigInt::from).or_else(|| self.as_big().map(|big| big.to_bigint()))
    }

    /// An integer that fits 64 bits with sign.
    pub fn to_i64(self) -> Option<i64> {
        if let Some(small) = self.as_small() {
            return Some(small);
        }
        let big = self.as_big()?;
        let [limb] = *big.limbs else { return None };
        if big.negative { 0i64.checked_sub_unsigned(limb) } else { i64::try_from(limb).ok() }
    }

    /// An integer that fits 64 bits without sign.
    pub fn to_u64(self) -> Option<u64> {
        match self.as_small() {
            Some(small) => u64::try_from(small).ok(),
            None => match self.as_big()? {
                Big { negative: false, limbs: [limb] } => Some(*limb),
                _ => None,
            },
        }
    }

    /// Whether this is an integer of any size.
    #[inline]
    pub fn is_integer(self) -> bool {
        self.is_small() || matches!(self.boxed_kind(), Some(Kind::PositiveBig | Kind::NegativeBig))
    }

    /// Whether this is a float.
    #[inline]
    pub fn is_float(self) -> bool {
        self.boxed_kind() == Some(Kind::Float)
    }

    /// Whether this is a tuple.
    #[inline]
    pub fn is_tuple(self) -> bool {
        self.boxed_kind() == Some(Kind::Tuple)
    }

    /// Whether this is a map.
    #[inline]
    pub fn is_map(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::FlatMap | Kind::HashMapRoot))
    }

    /// Whether this is a fun, local or external.
    #[inline]
    pub fn is_fun(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::Fun | Kind::ExternalFun))
    }

    /// Whether this is a bitstring.
    #[inline]
    pub fn is_bitstring(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::HeapBits | Kind::SubBits | Kind::BinaryHandle))
    }

    /// Whether this is a binary: a bitstring of whole bytes.
    #[inline]
    pub fn is_binary(self) -> bool {
        match self.boxed_kind() {
            Some(Kind::HeapBits) => object(&self).1[0].is_multiple_of(8),
            Some(Kind::BinaryHandle) => true,
            _ => self.bits().is_some_and(|bits| bits.is_binary()),
        }
    }

    /// Whether this is a pid of this node or another.
    pub fn is_pid(self) -> bool {
        self.is_local_pid() || self.is_external(ExternalKind::Pid)
    }

    /// Whether this is a port of this node or another.
    pub fn is_port(self) -> bool {
        self.is_local_port() || self.is_external(ExternalKind::Port)
    }

    /// Whether this is a reference of this node or another.
    pub fn is_reference(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::Reference | Kind::MagicReference))
            || self.is_external(ExternalKind::Reference)
    }

    fn is_external(self, kind: ExternalKind) -> bool {
        self.boxed_kind() == Some(Kind::External) && self.header().extra() == kind as u16
    }

    /// Bits of a bitstring.
    #[inline]
    pub fn bits(&self) -> Option<Bits<'_>> {
        let marker = std::marker::PhantomData;
        match self.boxed_kind()? {
            Kind::HeapBits => {
                let words = object(self).1;
                Some(Bits { base: words[1..].as_ptr().cast(), start: 0, length: words[0] as usize, marker })
            }
            Kind::BinaryHandle => {
                let binary = self.off_heap_binary()?;
                Some(Bits { base: binary.data(), start: 0, length: binary.used() * 8, marker })
            }
            Kind::SubBits => {
                let words = as_terms(object(self).1);
                let (start, end) = (words[0].small_value() as usize, words[1].small_value() as usize);
                Some(Bits { base: words[2].underlying_bytes(), start, length: end - start, marker })
            }
            _ => None,
        }
    }

    /// As [`Term::bits`], for loops over many terms, of which most are short and lie on the heap. In instructions of
    /// the interpreter it would take room on the stack, and keep them from jumping to the next.
    #[inline(always)]
    pub fn bits_in_loop(&self) -> Option<Bits<'_>> {
        match self.heap_bits_words() {
            Some(words) => {
                let marker = std::marker::PhantomData;
                Some(Bits { base: words[1..].as_ptr().cast(), start: 0, length: words[0] as usize, marker })
            }
            None => self.bits(),
        }
    }

    /// The words of heap bits: how many bits there are, then the bits. Behind the last bit stands anything.
    #[inline(always)]
    pub(crate) fn heap_bits_words(&self) -> Option<&[u64]> {
        (self.boxed_kind()? == Kind::HeapBits).then(|| object(self).1)
    }

    /// The bytes of a binary that begins at a byte boundary; nothing for any other term.
    #[inline]
    pub fn aligned_binary(&self) -> Option<&[u8]> {
        let (base, start, length) = match self.boxed_kind()? {
            Kind::HeapBits => {
                let words = object(self).1;
                (words[1..].as_ptr().cast(), 0, words[0] as usize)
            }
            Kind::BinaryHandle => {
                let binary = self.off_heap_binary()?;
                (binary.data().cast_const(), 0, binary.used() * 8)
            }
            Kind::SubBits => {
                let words = as_terms(object(self).1);
                let (start, end) = (words[0].small_value() as usize, words[1].small_value() as usize);
                (words[2].underlying_bytes(), start, end - start)
            }
            _ => return None,
        };
        if (start | length) % 8 != 0 {
            return None;
        }
        // SAFETY: the bytes lie inside the data that the term keeps alive, which nobody changes.
        Some(unsafe { std::slice::from_raw_parts(base.add(start / 8), length / 8) })
    }

    /// First byte of heap bits or of a binary handle's binary (must be one of them).
    #[inline]
    pub fn underlying_bytes(self) -> *const u8 {
        match self.off_heap_binary() {
            Some(binary) => binary.data(),
            // Heap bits have their length behind the header, then the bytes.
            None => self.pointer().wrapping_add(2).cast(),
        }
    }

    /// The binary outside of the heap, if this is a handle of one.
    #[inline]
    pub fn off_heap_binary(&self) -> Option<&OffHeapBinary> {
        if self.boxed_kind() != Some(Kind::BinaryHandle) {
            return None;
        }
        // SAFETY: a handle owns a count of its binary.
        Some(unsafe { &*(*self.pointer().add(1) as *const OffHeapBinary) })
    }

    /// The value that a magic reference keeps alive, if this is one.
    pub fn magic_value(&self) -> Option<&MagicValue> {
        if self.boxed_kind() != Some(Kind::MagicReference) {
            return None;
        }
        // SAFETY: a magic reference owns a count of its value.
        Some(unsafe { &*(object(self).1[2] as *const MagicValue) })
    }

    /// One count of the value that a magic reference keeps alive, if this is one. It is not made of what
    /// [`Term::magic_value`] gives, because nothing may be freed by a reference.
    pub fn held_magic_value(&self) -> Option<Arc<MagicValue>> {
        if self.boxed_kind() != Some(Kind::MagicReference) {
            return None;
        }
        let value = object(self).1[2] as *const MagicValue;
        // SAFETY: a magic reference owns a count of its value, so it is alive; this takes another one.
        unsafe {
            Arc::increment_strong_count(value);
            Some(Arc::from_raw(value))
        }
    }

    /// The value of this type that a magic reference keeps alive, if this is one of such a value.
    pub fn magic<T: Any>(&self) -> Option<&T> {
        self.magic_value()?.0.downcast_ref()
    }

    /// The term taken apart.
    #[inline]
    pub fn view(&self) -> View<'_> {
        if self.is_cons() {
            return View::Cons(self.head(), self.tail());
        }
        if !self.is_boxed() {
            return match *self {
                _ if self.is_small() => View::Small(self.small_value()),
                _ if self.is_atom() => View::Atom(*self),
                _ if self.is_nil() => View::Nil,
                _ if self.is_local_pid() => View::Pid(self.immediate_data()),
                _ if self.is_local_port() => View::Port(self.immediate_data()),
                _ => View::Internal,
            };
        }
        let (header, words) = object(self);
        match header.kind() {
            Kind::Tuple => View::Tuple(as_terms(words)),
            Kind::Fun => {
                let terms = as_terms(words);
                // SAFETY: a fun's first word is the address of its entry, and fun entries are never freed.
                let entry = unsafe { &*(terms[0].small_value() as *const FunEntry) };
                View::Fun(Fun { entry, creator: terms[1], free: &terms[2..] })
            }
            Kind::FlatMap | Kind::HashMapRoot => View::Map(*self),
            Kind::ExternalFun => {
                let export = as_terms(words)[0].small_value() as *const Export;
                // SAFETY: an external fun's word is the address of its export, and exports are never freed.
                View::ExternalFun(unsafe { &*export })
            }
            Kind::PositiveBig => View::Big(Big { negative: false, limbs: words }),
            Kind::NegativeBig => View::Big(Big { negative: true, limbs: words }),
            Kind::Float => View::Float(f64::from_bits(words[0])),
            Kind::Reference => View::Reference(Reference { words }),
            Kind::MagicReference => View::Reference(Reference { words: &words[..2] }),
            Kind::HeapBits | Kind::BinaryHandle | Kind::SubBits => match self.bits() {
                Some(bits) => View::Bits(bits),
                None => View::Internal,
            },
            Kind::External => View::External(External {
                kind: match header.extra() {
                    0 => ExternalKind::Pid,
                    1 => ExternalKind::Port,
                    _ => ExternalKind::Reference,
                },
                node: as_terms(&words[..1])[0],
                creation: words[1] as u32,
                data: &words[2..],
            }),
            Kind::HashMapNode | Kind::MatchContext => View::Internal,
        }
    }

    /// Address of the raw word `index` after the header; for code that lays out objects.
    #[inline(always)]
    pub fn word_pointer(self, index: usize) -> *mut Word {
        self.pointer().wrapping_add(1 + index)
    }
}
