//! Making terms: [`Allocate`] is what a heap offers, [`Build`] what is built on it.

use std::ptr::NonNull;
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use crate::entry::{Export, FunEntry};
use crate::header::{Header, Kind};
use crate::off_heap::{MagicValue, OffHeapBinary};
use crate::view::ExternalKind;
use crate::word::{SMALL_MAX, SMALL_MIN, Term, Word};

/// Bytes up to which a new binary lives inside the heap (as in OTP).
pub const HEAP_BINARY_LIMIT: usize = 64;

/// Most cells of a list that are made in one piece. Under Miri each is made by itself, so that Miri sees its end.
const CELLS_AT_ONCE: usize = if cfg!(miri) { 1 } else { 256 };

/// A place for new objects. Allocation never collects and never moves anything: terms at hand stay valid.
pub trait Allocate {
    /// Room for `words` words, not initialised, 8-byte aligned. The caller fills it before the next collection.
    fn allocate(&mut self, words: usize) -> NonNull<Word>;

    /// Puts an object with an off-heap part (last word: link) on the heap's list, which then owns that part's count.
    fn adopt(&mut self, object: NonNull<Word>);
}

/// Writes an object's words into fresh room.
#[inline]
fn write(heap: &mut (impl Allocate + ?Sized), header: Header, words: impl IntoIterator<Item = Word>) -> Term {
    let room = heap.allocate(header.object_words());
    // SAFETY: `allocate` gave room for the header and as many words as it counts; `take` bounds the rest.
    unsafe {
        *room.as_ptr() = header.word();
        let mut written = 0;
        for word in words.into_iter().take(header.arity()) {
            written += 1;
            *room.as_ptr().add(written) = word;
        }
        debug_assert_eq!(written, header.arity());
    }
    // SAFETY: the object is whole, and lives as long as its heap lets it.
    unsafe { Term::boxed_at(room.as_ptr()) }
}

/// A list, in runs of cells, of what `term` makes of the elements.
#[inline]
fn cells<T>(heap: &mut (impl Allocate + ?Sized), elements: &[T], tail: Term, term: impl Fn(&T) -> Term) -> Term {
    elements.rchunks(CELLS_AT_ONCE).fold(tail, |list, chunk| {
        let room = heap.allocate(2 * chunk.len()).as_ptr();
        let mut list = list;
        for (index, element) in chunk.iter().enumerate().rev() {
            // SAFETY: room for two words for each element, of which the last cells are filled already.
            unsafe {
                let cell = room.add(2 * index);
                *cell = term(element).word();
                *cell.add(1) = list.word();
                list = Term::cons_at(cell);
            }
        }
        list
    })
}

/// Copies terms that are few as a rule: four at a time, where a call would take longer than the copy.
///
/// # Safety
/// There is room for as many words, which do not overlap.
#[inline]
unsafe fn copy_few(from: &[Term], to: *mut Word) {
    const AT_ONCE: usize = 4;
    let to = to.cast::<Term>();
    // SAFETY: the caller's obligation; the last chunk ends where all end.
    unsafe {
        match from.len() {
            4..=32 => {
                let last = from.len() - AT_ONCE;
                let chunk = |at: usize| to.add(at).cast::<[Term; AT_ONCE]>();
                for at in (0..last).step_by(AT_ONCE) {
                    *chunk(at) = *from.as_ptr().add(at).cast();
                }
                *chunk(last) = *from.as_ptr().add(last).cast();
            }
            0 => {}
            1 => *to = from[0],
            2 => *to.cast::<[Term; 2]>() = *from.as_ptr().cast(),
            3 => *to.cast::<[Term; 3]>() = *from.as_ptr().cast(),
            _ => to.copy_from_nonoverlapping(from.as_ptr(), from.len()),
        }
    }
}

/// The word whose first bytes in memory these are, at most eight; zeroes follow.
#[inline]
fn word_of(bytes: &[u8]) -> Word {
    if let Ok(all) = bytes.try_into() {
        return Word::from_ne_bytes(all);
    }
    // Two loads that overlap, whatever the length.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return (Word::from(first) | Word::from(last) << (8 * (bytes.len() - 4))).to_le();
    }
    let byte = |place: usize| bytes.get(place).map_or(0, |byte| Word::from(*byte) << (8 * place));
    (byte(0) | byte(1) | byte(2)).to_le()
}

/// Construction of every kind of term.
pub trait Build: Allocate {
    /// `[Head|Tail]`
    #[inline]
    fn cons(&mut self, head: Term, tail: Term) -> Term {
        let room = self.allocate(2);
        // SAFETY: room for two words, which are filled.
        unsafe {
            *room.as_ptr() = head.word();
            *room.as_ptr().add(1) = tail.word();
            Term::cons_at(room.as_ptr())
        }
    }

    /// A list of these elements that ends in `tail`.
    fn list_with_tail<I>(&mut self, elements: I, tail: Term) -> Term
    where
        I: IntoIterator<Item = Term>,
        I::IntoIter: DoubleEndedIterator,
    {
        elements.into_iter().rev().fold(tail, |list, element| self.cons(element, list))
    }

    /// A list of these elements that ends in `tail`. Its cells lie beside each other, in runs.
    #[inline]
    fn list_of(&mut self, elements: &[Term], tail: Term) -> Term {
        cells(self, elements, tail, |element| *element)
    }

    /// As [`Build::list_of`], of bytes.
    #[inline]
    fn list_of_bytes(&mut self, bytes: &[u8], tail: Term) -> Term {
        cells(self, bytes, tail, |byte| Term::small(i64::from(*byte)))
    }

    /// `{Key, Value}` of each pair put in front of a list, one after the other. Cells and tuples lie in runs.
    fn pairs_before(&mut self, pairs: impl ExactSizeIterator<Item = (Term, Term)>, list: Term) -> Term {
        const WORDS: usize = 5;
        let mut list = list;
        let (mut left, mut room, mut places) = (pairs.len(), std::ptr::null_mut::<Word>(), 0);
        for (key, value) in pairs.take(left) {
            if places == 0 {
                places = left.min(CELLS_AT_ONCE);
                room = self.allocate(WORDS * places).as_ptr();
            }
            // SAFETY: there is room for so many pairs still; a pair is filled at once.
            unsafe {
                *room = Header::new(Kind::Tuple, 2).word();
                *room.add(1) = key.word();
                *room.add(2) = value.word();
                *room.add(3) = Term::boxed_at(room).word();
                *room.add(4) = list.word();
                list = Term::cons_at(room.add(3));
                room = room.add(WORDS);
            }
            (left, places) = (left - 1, places - 1);
        }
        assert_eq!(left, 0, "the iterator is as long as it says");
        list
    }

    /// `{Key, Value, Next}` of each pair, where `Next` is what the pair behind it became, and `end` for the last one.
    /// The tuples lie in runs.
    fn nested_pairs<I>(&mut self, pairs: I, end: Term) -> Term
    where
        I: ExactSizeIterator<Item = (Term, Term)> + DoubleEndedIterator,
    {
        const WORDS: usize = 4;
        let mut next = end;
        let (mut left, mut room, mut places) = (pairs.len(), std::ptr::null_mut::<Word>(), 0);
        for (key, value) in pairs.rev().take(left) {
            if places == 0 {
                places = left.min(CELLS_AT_ONCE);
                room = self.allocate(WORDS * places).as_ptr();
            }
            // SAFETY: there is room for so many tuples still; a tuple is filled at once.
            unsafe {
                *room = Header::new(Kind::Tuple, 3).word();
                *room.add(1) = key.word();
                *room.add(2) = value.word();
                *room.add(3) = next.word();
                next = Term::boxed_at(room);
                room = room.add(WORDS);
            }
            (left, places) = (left - 1, places - 1);
        }
        assert_eq!(left, 0, "the iterator is as long as it says");
        next
    }

    /// A copy of the first `count` cells of a list, the last one with this tail. Cells lie beside each other, in runs.
    fn list_copied(&mut self, list: &Term, count: usize, tail: Term) -> Term {
        let (mut rest, mut left) = (list, count);
        let mut copied = tail;
        // Where the pointer to the next run goes.
        let mut link: Option<NonNull<Word>> = None;
        while left > 0 {
            let cells = left.min(CELLS_AT_ONCE);
            let room = self.allocate(2 * cells).as_ptr();
            // SAFETY: room for so many cells, all of which are filled; a link is the last word of the run before.
            unsafe {
                match link {
                    Some(link) => *link.as_ptr() = Term::cons_at(room).word(),
                    None => copied = Term::cons_at(room),
                }
                for index in 0..cells {
                    let [head, behind] = rest.cons_cell();
                    let cell = room.add(2 * index);
                    *cell = head.word();
                    *cell.add(1) = Term::cons_at(cell.add(2)).word();
                    rest = behind;
                }
                let last = room.add(2 * cells - 1);
                *last = tail.word();
                link = NonNull::new(last);
            }
            left -= cells;
        }
        copied
    }

    /// A tuple of the first `size` elements of a list, which has as many.
    fn tuple_of_list(&mut self, list: &Term, size: usize) -> Term {
        let mut rest = list;
        let elements = (0..size).map(|_| {
            let [head, behind] = rest.cons_cell();
            rest = behind;
            head.word()
        });
        write(self, Header::new(Kind::Tuple, size), elements)
    }

    /// A tuple of the same element so many times.
    fn tuple_of_same(&mut self, element: Term, size: usize) -> Term {
        write(self, Header::new(Kind::Tuple, size), std::iter::repeat_n(element.word(), size))
    }

    /// A proper list of these elements.
    fn list<I>(&mut self, elements: I) -> Term
    where
        I: IntoIterator<Item = Term>,
        I::IntoIter: DoubleEndedIterator,
    {
        self.list_with_tail(elements, Term::NIL)
    }

    /// A tuple of these elements.
    fn tuple(&mut self, elements: &[Term]) -> Term {
        write(self, Header::new(Kind::Tuple, elements.len()), elements.iter().map(|term| term.word()))
    }

    /// A boxed object of a scanned kind from its words.
    fn scanned_object(&mut self, kind: Kind, extra: u16, words: &[Term]) -> Term {
        debug_assert!((kind as u8) < Kind::FIRST_OPAQUE);
        write(self, Header::with_extra(kind, words.len(), extra), words.iter().map(|term| term.word()))
    }

    /// As [`Build::scanned_object`], from words that stand in several places.
    #[inline]
    fn scanned_runs<const N: usize>(&mut self, kind: Kind, extra: u16, runs: [&[Term]; N]) -> Term {
        debug_assert!((kind as u8) < Kind::FIRST_OPAQUE);
        let header = Header::with_extra(kind, runs.iter().map(|run| run.len()).sum(), extra);
        let room = self.allocate(header.object_words()).as_ptr();
        // SAFETY: room for the header and all the runs, which fill it; a term is a word.
        unsafe {
            *room = header.word();
            let mut next = room.add(1);
            for run in runs {
                copy_few(run, next);
                next = next.add(run.len());
            }
            Term::boxed_at(room)
        }
    }

    /// As [`Build::scanned_object`], with other words at some places.
    #[inline]
    fn scanned_changed(&mut self, kind: Kind, extra: u16, words: &[Term], changes: &[(usize, Term)]) -> Term {
        let made = self.scanned_runs(kind, extra, [words]);
        for (place, term) in changes {
            assert!(*place < words.len());
            // SAFETY: the object has so many words behind its header, and nobody else knows it.
            unsafe { *made.pointer().add(1 + place) = term.word() };
        }
        made
    }

    /// A float.
    fn float(&mut self, value: f64) -> Term {
        write(self, Header::new(Kind::Float, 1), [value.to_bits()])
    }

    /// An integer.
    #[inline]
    fn integer(&mut self, value: i64) -> Term {
        match Term::try_small(value) {
            Some(small) => small,
            None => self.big_from_limbs(value < 0, &[value.unsigned_abs()]),
        }
    }

    /// An integer without sign.
    fn unsigned(&mut self, value: u64) -> Term {
        if value <= SMALL_MAX as u64 { Term::small(value as i64) } else { self.big_from_limbs(false, &[value]) }
    }

    /// An integer from limbs of its magnitude, least significant first; high zero limbs and values that fit a small
    /// integer are allowed.
    fn big_from_limbs(&mut self, negative: bool, limbs: &[u64]) -> Term {
        let length = limbs.iter().rposition(|limb| *limb != 0).map_or(0, |top| top + 1);
        match limbs[..length] {
            [] => return Term::small(0),
            [limb] if !negative && limb <= SMALL_MAX as u64 => return Term::small(limb as i64),
            [limb] if negative && limb <= SMALL_MIN.unsigned_abs() => {
                return Term::small((limb as i64).wrapping_neg());
            }
            _ => {}
        }
        let kind = if negative { Kind::NegativeBig } else { Kind::PositiveBig };
        write(self, Header::new(kind, length), limbs[..length].iter().copied())
    }

    /// An integer of any size.
    fn bigint(&mut self, value: &BigInt) -> Term {
        let limbs: Vec<u64> = value.iter_u64_digits().collect();
        self.big_from_limbs(value.sign() == Sign::Minus, &limbs)
    }

    /// A binary with a copy of these bytes: inside the heap up to [`HEAP_BINARY_LIMIT`] bytes, else outside.
    fn binary(&mut self, bytes: &[u8]) -> Term {
        self.bitstring(bytes, bytes.len() * 8)
    }

    /// A binary of so many bytes, which are zero until `fill` has written them.
    fn filled_binary(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Term {
        if length <= HEAP_BINARY_LIMIT {
            let mut bytes = [0; HEAP_BINARY_LIMIT];
            fill(&mut bytes[..length]);
            return self.binary(&bytes[..length]);
        }
        self.binary_handle(OffHeapBinary::of_length(length, fill))
    }

    /// A bitstring with the first `bits` bits of these bytes.
    fn bitstring(&mut self, bytes: &[u8], bits: usize) -> Term {
        let bytes = &bytes[..bits.div_ceil(8)];
        // Most are short. They are written as words: a copy of any length is a call.
        let header = |words: usize| Header::new(Kind::HeapBits, words + 1);
        match bytes.len() {
            1..=8 => return write(self, header(1), [bits as u64, word_of(bytes)]),
            9..=16 => {
                let (first, second) = bytes.split_at(8);
                return write(self, header(2), [bits as u64, word_of(first), word_of(second)]);
            }
            _ => {}
        }
        if bytes.len() <= HEAP_BINARY_LIMIT {
            let term = self.heap_bits(bits);
            // SAFETY: the new heap bits have room for these bytes; the term is not shared yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), term.underlying_bytes().cast_mut(), bytes.len()) };
            return term;
        }
        let handle = self.binary_handle(OffHeapBinary::from_bytes(bytes, bytes.len()));
        if bits == bytes.len() * 8 { handle } else { self.sub_bits(handle, 0, bits) }
    }

    /// Heap bits of this length, zeroed; for callers that fill them before anybody else sees the term.
    fn heap_bits(&mut self, bits: usize) -> Term {
        let words = bits.div_ceil(64);
        write(self, Header::new(Kind::HeapBits, words + 1), std::iter::once(bits as u64).chain((0..words).map(|_| 0)))
    }

    /// A handle of a binary outside of the heap; takes over one count of it.
    fn binary_handle(&mut self, binary: NonNull<OffHeapBinary>) -> Term {
        let term = write(self, Header::new(Kind::BinaryHandle, 2), [binary.as_ptr() as u64, 0]);
        if let Some(object) = NonNull::new(term.pointer()) {
            self.adopt(object);
        }
        term
    }

    /// Bits `start` to `end` of heap bits or of a handle (counted from the first bit of its data).
    fn sub_bits(&mut self, underlying: Term, start: usize, end: usize) -> Term {
        self.scanned_object(Kind::SubBits, 0, &[Term::small(start as i64), Term::small(end as i64), underlying])
    }

    /// Part of a bitstring, sharing its data: `length` bits from bit `from` (must lie inside).
    fn part_of_bits(&mut self, bitstring: Term, from: usize, length: usize) -> Term {
        let (underlying, start) = match bitstring.boxed_kind() {
            Some(Kind::SubBits) => {
                let words = bitstring.boxed_terms();
                (words[2], words[0].small_value() as usize)
            }
            _ => (bitstring, 0),
        };
        self.sub_bits(underlying, start + from, start + from + length)
    }

    /// A fun that the process `creator` made.
    fn fun(&mut self, entry: &'static FunEntry, creator: Term, free: &[Term]) -> Term {
        let address = Term::small(std::ptr::from_ref(entry) as i64);
        let words = [address, creator].into_iter().chain(free.iter().copied()).map(Term::word);
        write(self, Header::new(Kind::Fun, 2 + free.len()), words)
    }

    /// `fun M:F/A`
    fn external_fun(&mut self, export: &'static Export) -> Term {
        self.scanned_object(Kind::ExternalFun, 0, &[Term::small(std::ptr::from_ref(export) as i64)])
    }

    /// A local reference; with `alias`, one that messages can be sent to.
    fn reference(&mut self, numbers: [u32; 3], alias: Option<Term>) -> Term {
        let low = u64::from(numbers[0]) | u64::from(numbers[1]) << 32;
        let high = u64::from(numbers[2]);
        match alias {
            Some(alias) => write(self, Header::new(Kind::Reference, 3), [low, high, alias.word()]),
            None => write(self, Header::new(Kind::Reference, 2), [low, high]),
        }
    }

    /// A local reference that keeps a value of the machine alive.
    fn magic_reference(&mut self, numbers: [u32; 3], value: Arc<MagicValue>) -> Term {
        let low = u64::from(numbers[0]) | u64::from(numbers[1]) << 32;
        let words = [low, u64::from(numbers[2]), Arc::into_raw(value) as u64, 0];
        let term = write(self, Header::new(Kind::MagicReference, 4), words);
        if let Some(object) = NonNull::new(term.pointer()) {
            self.adopt(object);
        }
        term
    }

    /// An identifier of another node.
    fn external(&mut self, kind: ExternalKind, node: Term, creation: u32, data: &[u64]) -> Term {
        let words = [node.word(), u64::from(creation)].into_iter().chain(data.iter().copied());
        write(self, Header::with_extra(Kind::External, 2 + data.len(), kind as u16), words)
    }

    /// A list of small integers or other terms from characters.
    fn string(&mut self, text: &str) -> Term {
        if text.is_ascii() {
            return self.list_of_bytes(text.as_bytes(), Term::NIL);
        }
        self.list(text.chars().map(|character| Term::small(i64::from(u32::from(character)))))
    }
}

impl<H: Allocate + ?Sized> Build for H {}
