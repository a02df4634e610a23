//! The bit syntax: fetches operands and leaves the meaning to `operations`.

use atoll_heap::Collection;
use atoll_loader::instruction::{BitFlags, MatchCommand, Segment, SegmentSize, SegmentType, SegmentValue};
use atoll_operations::BitWriter;
use atoll_operations::Exception;
use atoll_operations::bit_construct::{self, Part, PartSize, PartValue};
use atoll_operations::bit_simple::{self, MOST_SEGMENTS, MOST_WORDS, Simple};
use atoll_term::{Term, Word};

use crate::handlers::bit_match::store;
use crate::handlers::control::any_at;
use crate::operand::{Any, Read, Write};
use atoll_runtime::core::{Core, Exit, dispatch, fits, resume};
use atoll_runtime::pause::{self, end_soon_if_full};
use atoll_runtime::raise;

/// What does not fit plain operands, kept beside the code for as long as it lives.
pub enum Table {
    /// Commands of `bs_match`.
    Commands(Box<[MatchCommand]>),
    /// Segments of `bs_create_bin`, with the values' and sizes' operands for [`Any`].
    Segments(Box<[PreparedSegment]>),
    /// The same where all are simple, and few.
    Simple(Box<[PreparedSegment]>, Box<[Simple]>),
    /// Bytes of `bs_match_string`.
    Bytes(Box<[u8]>),
}

/// A segment whose operands are resolved.
pub struct PreparedSegment {
    /// The segment as in the file.
    pub segment: Segment,
    /// Operand of the value, if it is a term.
    pub value: Word,
    /// Operand of the size, if it has one.
    pub size: Word,
    /// The bytes, if it is a string.
    pub bytes: Box<[u8]>,
}

/// Endianness and sign in an operand.
pub fn flags_word(flags: BitFlags) -> Word {
    u64::from(flags.little) | u64::from(flags.signed) << 1
}

pub(super) fn flags_of(word: Word) -> BitFlags {
    BitFlags { little: word & 1 != 0, signed: word & 2 != 0 }
}

/// Numbers of the UTF encodings in operands.
pub fn encoding_word(encoding: SegmentType) -> Word {
    match encoding {
        SegmentType::Utf8 => 0,
        SegmentType::Utf16 => 1,
        _ => 2,
    }
}

pub(super) fn encoding_of(word: Word) -> SegmentType {
    match word {
        0 => SegmentType::Utf8,
        1 => SegmentType::Utf16,
        _ => SegmentType::Utf32,
    }
}

/// Segments that are fetched without an allocation.
const FEW: usize = MOST_SEGMENTS;

/// Makes room for what the following instructions build; `kept` is a term beside the live registers. Returns the stack
/// pointer, or `None` when the process has reached its heap limit.
unsafe fn make_room(words: usize, live: usize, kept: &mut Term, e: *mut Word, c: *mut Core) -> Option<*mut Word> {
    // SAFETY: the process runs on this core; its registers are in the mutator.
    unsafe {
        let core = &mut *c;
        if words == 0 || (*core.mutator).free_words() >= words && !pause::stress_is_due() {
            return Some(e);
        }
        core.x[live] = *kept;
        let request = Collection { heap_words: words, stack_words: 1, ..Collection::default() };
        let (_, e) = pause::collect(request, live + 1, core.top(), e, c)?;
        *kept = (*c).x[live];
        Some(e)
    }
}

/// In the place of a number of live registers: nothing is collected, and what finds no room lies outside of the heap.
pub const NONE_COUNTED: Word = Word::MAX;

/// `bs_create_bin`: fail, words to make room for, live registers or [`NONE_COUNTED`], table, destination.
pub unsafe fn create(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let mut e = e;
        if !fits(MOST_WORDS, hp, e, c) && *ip.add(3) != NONE_COUNTED {
            // Outside of the heap, the bitstring would end the time slice.
            e = room_before(MOST_WORDS + *ip.add(2) as usize, *ip.add(3) as usize, e, c);
            if e.is_null() {
                return raise::killed_by_heap_limit(c, reds);
            }
        }
        let result = build(ip, e, c);
        if result.is_none() {
            return build_failed(ip, e, reds, c);
        }
        if *ip.add(2) == 0 {
            return store(Some(result), 5, ip, e, reds, c);
        }
        let live = *ip.add(3) as usize;
        (*c).x[live] = result;
        let e = room_after(*ip.add(2) as usize, live, e, c);
        if e.is_null() {
            return raise::killed_by_heap_limit(c, reds);
        }
        store(Some((*c).x[live]), 5, ip, e, reds, c)
    }
}

/// Makes room; returns the stack pointer, null when the process has reached its heap limit.
#[cold]
#[inline(never)]
unsafe fn room_before(words: usize, live: usize, e: *mut Word, c: *mut Core) -> *mut Word {
    // SAFETY: the process runs on this core; its registers are in the mutator.
    unsafe {
        let request = Collection { heap_words: words, stack_words: 1, ..Collection::default() };
        pause::collect(request, live, (*c).top(), e, c).map_or(std::ptr::null_mut(), |(_, e)| e)
    }
}

/// Makes room behind a term in X[live]; returns the stack pointer, null when the process has reached its heap limit.
#[inline(never)]
unsafe fn room_after(words: usize, live: usize, e: *mut Word, c: *mut Core) -> *mut Word {
    // SAFETY: the process runs on this core; its registers are in the mutator.
    unsafe {
        let mut kept = (*c).x[live];
        let e = make_room(words, live, &mut kept, e, c);
        (*c).x[live] = kept;
        e.unwrap_or(std::ptr::null_mut())
    }
}

/// The new bitstring; `NONE` if a segment is not as it ought to be.
#[inline(never)]
unsafe fn build(ip: *const Word, e: *mut Word, c: *mut Core) -> Term {
    // SAFETY: the process runs on this core; tables live as long as the code.
    unsafe {
        let segments = match &*(*ip.add(4) as *const Table) {
            Table::Segments(segments) => segments,
            Table::Simple(segments, simple) => match build_simple(segments, simple, e, c) {
                Some(term) => return term,
                None => segments,
            },
            _ => return Term::NONE,
        };
        let mut few = [EMPTY; FEW];
        let mut many = Vec::new();
        let parts: &mut [Part<'_>] = if segments.len() <= FEW {
            &mut few[..segments.len()]
        } else {
            many.resize(segments.len(), EMPTY);
            &mut many
        };
        for (part, prepared) in parts.iter_mut().zip(segments) {
            *part = fetch(prepared, e, c);
        }
        let core = &mut *c;
        let result = bit_construct::create(&mut *core.mutator, parts);
        core.settle(result)
    }
}

unsafe fn build_simple(segments: &[PreparedSegment], simple: &[Simple], e: *mut Word, c: *mut Core) -> Option<Term> {
    let mut values = [Term::NIL; FEW];
    // SAFETY: the process runs on this core; the operands were encoded for `Any`.
    unsafe {
        for (value, prepared) in values.iter_mut().zip(segments) {
            *value = Any::read(prepared.value, e, c);
        }
        bit_simple::create(&mut *(*c).mutator, simple, &values[..simple.len().min(FEW)])
    }
}

#[cold]
#[inline(never)]
unsafe fn build_failed(ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let exception = (*c).take_failure();
        refuse(exception, ip, e, reds, c)
    }
}

const EMPTY: Part<'static> = Part {
    kind: SegmentType::Integer,
    unit: 1,
    flags: BitFlags { little: false, signed: false },
    value: PartValue::Bytes(&[]),
    size: PartSize::Undefined,
    number: 0,
};

unsafe fn fetch<'t>(prepared: &'t PreparedSegment, e: *mut Word, c: *mut Core) -> Part<'t> {
    let segment = &prepared.segment;
    // SAFETY: the operands were encoded for `Any`.
    let (value, size) = unsafe {
        let value = match segment.value {
            SegmentValue::Term(_) => PartValue::Term(Any::read(prepared.value, e, c)),
            SegmentValue::String { .. } => PartValue::Bytes(&prepared.bytes),
        };
        let size = match segment.size {
            SegmentSize::All => PartSize::All,
            SegmentSize::Undefined => PartSize::Undefined,
            SegmentSize::Units(_) => PartSize::Units(Any::read(prepared.size, e, c)),
        };
        (value, size)
    };
    Part { kind: segment.kind, unit: segment.unit, flags: segment.flags, value, size, number: segment.number }
}

/// `bs_init_writable`
pub unsafe fn init_writable(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        (*c).x[0] = bit_construct::init_writable(&mut *(*c).mutator, (*c).x[0]);
        dispatch(ip.add(1), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

/// Raises, or goes on at the fail address.
unsafe fn refuse(exception: Exception, ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let hp = (*c).top();
        if *ip.add(1) == 0 {
            raise::plain(exception, ip, hp, e, reds, c)
        } else {
            resume(*ip.add(1) as *const Word, hp, e, reds, c)
        }
    }
}

/// Old `bs_init2` and `bs_init_bits`: fail, size, unit, words to make room for, live registers, destination.
pub unsafe fn old_init(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let mut nothing = Term::NIL;
        match bit_construct::size_in_bits(any_at(ip, 2, e, c), *ip.add(3) as u16) {
            Ok(bits) => match make_room(old_room(*ip.add(4)), *ip.add(5) as usize, &mut nothing, e, c) {
                Some(e) => start_building(bit_construct::begin(&mut *(*c).mutator, bits), 6, ip, e, reds, c),
                None => raise::killed_by_heap_limit(c, reds),
            },
            Err(exception) => refuse(exception, ip, e, reds, c),
        }
    }
}

/// With the bitstring's own words, which are taken first: once it has begun, it must not move.
fn old_room(extra: Word) -> usize {
    if extra == 0 { 0 } else { extra as usize + MOST_WORDS }
}

/// Old `bs_append` and `bs_private_append`: fail, size in bits, unit, binary, private, words to make room for, live
/// registers, destination.
pub unsafe fn old_append(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let size = match bit_construct::size_in_bits(any_at(ip, 2, e, c), 1) {
            Ok(bits) => bits,
            Err(exception) => return refuse(exception, ip, e, reds, c),
        };
        let (unit, mut value, private) = (*ip.add(3) as u16, any_at(ip, 4, e, c), *ip.add(5) != 0);
        let Some(e) = make_room(old_room(*ip.add(6)), *ip.add(7) as usize, &mut value, e, c) else {
            return raise::killed_by_heap_limit(c, reds);
        };
        match bit_construct::append(&mut *(*c).mutator, value, size, unit, private) {
            Ok(building) => start_building(building, 8, ip, e, reds, c),
            Err(_) => refuse(Exception::badarg(), ip, e, reds, c),
        }
    }
}

unsafe fn start_building(
    building: bit_construct::Building,
    destination: usize,
    ip: *const Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        Any::write(*ip.add(destination), building.term(), e, c);
        // What is left of another is not to be written to.
        (*c).building = None;
        if building.writer.remaining() == 0 {
            building.finish();
        } else {
            (*c).building = Some(building);
        }
        resume(ip.add(destination + 1), (*c).top(), e, reds, c)
    }
}

/// Old `bs_put_*`: fail, table of one segment.
pub unsafe fn old_put(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; tables live as long as the code.
    unsafe {
        (*c).swap_out(hp, e);
        let Table::Segments(segments) = &*(*ip.add(2) as *const Table) else {
            return resume(*ip.add(1) as *const Word, hp, e, reds, c);
        };
        let part = fetch(&segments[0], e, c);
        // Empty segments may follow when the last bit is written.
        let mut full = BitWriter::EMPTY;
        let writer = (*c).building.as_mut().map_or(&mut full, |building| &mut building.writer);
        if bit_construct::write(writer, &part).is_err() {
            (*c).building = None;
            return refuse(Exception::badarg(), ip, e, reds, c);
        }
        if let Some(building) = (*c).building.take_if(|building| building.writer.remaining() == 0) {
            building.finish();
        }
        resume(ip.add(3), hp, e, reds, c)
    }
}

/// Old `bs_add`: fail, first, second, unit, destination.
pub unsafe fn old_add(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let heap = &mut *(*c).mutator;
        match bit_construct::add_sizes(heap, any_at(ip, 2, e, c), any_at(ip, 3, e, c), *ip.add(4) as u16) {
            Ok(sum) => store(Some(sum), 5, ip, e, reds, c),
            Err(exception) => refuse(exception, ip, e, reds, c),
        }
    }
}

/// Old `bs_utf8_size` and `bs_utf16_size`: value, encoding, destination.
pub unsafe fn old_utf_size(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let size = bit_construct::utf_size(any_at(ip, 1, e, c), encoding_of(*ip.add(2)));
        Any::write(*ip.add(3), size, e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}
