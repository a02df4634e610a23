//! Building bitstrings: `bs_create_bin`, its forerunners, and appending in place.
//!
//! Appending gives a view (sub-binary) over a binary with spare room behind its used bytes. The next append to
//! the view that ends where the used bytes end claims that room, so that a loop of appends copies each byte
//! a constant number of times. A handle of a binary with spare room is never a value by itself.

use atoll_loader::{BitFlags, SegmentType};
use atoll_term::atoms::known_atom;
use atoll_term::{Allocate, Bits, Build, HEAP_BINARY_LIMIT, Kind, OffHeapBinary, Term, atoms};

use crate::bit_writer::{BitWriter, Fault};
use crate::exception::{Class, Exception};
use crate::raw_bits::{Room, set_small};
use crate::utf;

/// Most bits of a bitstring: 16 GiB. Larger sizes are a `system_limit` instead of the end of the machine.
pub const MAX_BITS: usize = 1 << 37;

/// Least capacity, in bytes, of a binary that was made by appending (as in OTP).
const APPEND_CAPACITY: usize = 256;

/// What a segment is built from.
#[derive(Clone, Copy, Debug)]
pub enum PartValue<'a> {
    /// A term.
    Term(Term),
    /// Bytes of the string table.
    Bytes(&'a [u8]),
}

/// Size of a segment.
#[derive(Clone, Copy, Debug)]
pub enum PartSize {
    /// The whole of the value.
    All,
    /// The segment's type says it (UTF).
    Undefined,
    /// A term that ought to be a number of units.
    Units(Term),
}

/// One segment with its operands fetched.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// How the value is written.
    pub kind: SegmentType,
    /// Bits in a unit; 0 where the type has none.
    pub unit: u16,
    /// Endianness and sign.
    pub flags: BitFlags,
    /// The value.
    pub value: PartValue<'a>,
    /// How many units of it.
    pub size: PartSize,
    /// Position in the source, for error information.
    pub number: u16,
}

impl Part<'_> {
    fn term(&self) -> Term {
        match self.value {
            PartValue::Term(term) => term,
            PartValue::Bytes(_) => Term::NIL,
        }
    }

    fn is_append(&self) -> bool {
        matches!(self.kind, SegmentType::Append | SegmentType::PrivateAppend)
    }

    /// Bits of the segment.
    #[inline]
    fn bits(&self) -> Result<usize, Fault> {
        if let PartValue::Bytes(bytes) = self.value {
            return Ok(bytes.len() * 8);
        }
        match self.size {
            PartSize::Units(size) => size_in_bits(size, self.unit).map_err(|_| Fault::Size),
            PartSize::All => Ok(self.term().bits().ok_or(Fault::Type)?.length()),
            PartSize::Undefined => {
                let code_point = self.term().to_u64().ok_or(Fault::Type)?;
                Ok(utf::encode(code_point, self.kind, self.flags).ok_or(Fault::Type)?.1)
            }
        }
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, bits: usize) -> Result<(), Fault> {
        match (self.kind, self.value) {
            (_, PartValue::Bytes(bytes)) => writer.string(bytes),
            (SegmentType::Integer, PartValue::Term(value)) => writer.integer(value, bits, self.flags),
            (SegmentType::Float, PartValue::Term(value)) => writer.float(value, bits, self.flags),
            (SegmentType::Utf8 | SegmentType::Utf16 | SegmentType::Utf32, PartValue::Term(value)) => {
                writer.utf(value, self.kind, self.flags)
            }
            (_, PartValue::Term(value)) => {
                let wanted = if matches!(self.size, PartSize::All) { None } else { Some(bits) };
                writer.binary(value, wanted, self.unit)
            }
        }
    }

    /// The exception for a fault in this segment, with the cause that stock gives for it.
    #[cold]
    fn failure<H: Allocate + ?Sized>(&self, heap: &mut H, fault: Fault) -> Exception {
        let size = match self.size {
            PartSize::Units(size) => size,
            _ => Term::NIL,
        };
        let (fault_name, culprit) = match fault {
            Fault::Type => ("type", self.term()),
            Fault::Size => ("size", size),
            Fault::Unit => ("unit", self.term()),
            Fault::Short => ("short", self.term()),
            Fault::Invalid => ("invalid", size),
            Fault::NoFloat => ("no_float", self.term()),
        };
        let reason = match (fault, self.size) {
            (Fault::Size, PartSize::Units(size)) => size_in_bits(size, self.unit).err().map(|error| error.reason),
            (Fault::Size, _) => None,
            _ => Some(atoms::BADARG),
        };
        // A size that is fine by itself was too much for the whole.
        let reason = reason.unwrap_or(atoms::SYSTEM_LIMIT);
        // Code of old compilers does not say where the segment stands, and stock gives no cause. Constants have no
        // number either, but they do not fail.
        if self.number == 0 {
            return Exception::new(Class::Error, reason);
        }
        let kind = match self.kind {
            SegmentType::Integer => "integer",
            SegmentType::Float => "float",
            SegmentType::Utf8 => "utf8",
            SegmentType::Utf16 => "utf16",
            SegmentType::Utf32 => "utf32",
            SegmentType::String => "string",
            SegmentType::Binary | SegmentType::Append | SegmentType::PrivateAppend => "binary",
        };
        let cause = [Term::small(self.number.into()), known_atom(kind), known_atom(fault_name), culprit];
        let cause = heap.tuple(&cause);
        // The keys are in the order of atoms, as a flat map has them.
        let keys = heap.tuple(&[known_atom("cause"), atoms::FUNCTION, atoms::MODULE]);
        let values = [keys, cause, known_atom("format_bs_fail"), known_atom("erl_erts_errors")];
        let error_info = heap.scanned_object(Kind::FlatMap, 0, &values);
        Exception { error_info, ..Exception::new(Class::Error, reason) }
    }
}

/// `size * unit` bits.
///
/// # Errors
/// `badarg`: no integer, or below zero; `system_limit`: too many
#[inline]
pub fn size_in_bits(size: Term, unit: u16) -> Result<usize, Exception> {
    let Some(small) = size.as_small() else {
        return Err(match size.as_big() {
            Some(big) if !big.negative => Exception::system_limit(),
            _ => Exception::badarg(),
        });
    };
    let size = usize::try_from(small).map_err(|_| Exception::badarg())?;
    match size.checked_mul(unit.into()) {
        Some(bits) if bits <= MAX_BITS => Ok(bits),
        _ => Err(Exception::system_limit()),
    }
}

/// Builds a bitstring from its segments.
///
/// # Errors
/// `badarg` or `system_limit`, with error information
pub fn create<H: Allocate + ?Sized>(heap: &mut H, parts: &[Part<'_>]) -> Result<Term, Exception> {
    let (appended, rest) = match parts {
        [first, rest @ ..] if first.is_append() => (Some(first), rest),
        _ => (None, parts),
    };
    let mut bits = 0usize;
    for part in rest {
        // As on stock, what cannot be encoded in a variable length is reported when its turn to be written comes.
        let size = match (part.bits(), part.kind) {
            (Err(_), SegmentType::Utf8 | SegmentType::Utf16) => 0,
            (size, _) => size.map_err(|fault| part.failure(heap, fault))?,
        };
        bits = bits.saturating_add(size);
    }
    if bits > MAX_BITS {
        return Err(Exception::system_limit());
    }
    let mut building = match appended {
        Some(first) => {
            let private = first.kind == SegmentType::PrivateAppend;
            append(heap, first.term(), bits, first.unit, private).map_err(|fault| first.failure(heap, fault))?
        }
        None => begin(heap, bits),
    };
    for part in rest {
        write(&mut building.writer, part).map_err(|fault| part.failure(heap, fault))?;
    }
    Ok(building.finish())
}

/// A bitstring that is being built: what the old construction instructions keep between them.
#[derive(Debug)]
pub struct Building {
    /// Where segments are written.
    pub writer: BitWriter,
    term: Term,
    /// New end, in bits, of a sub-binary that is extended in place.
    extended_to: Option<usize>,
}

impl Building {
    /// The room, and the bits of it that are to be written: from the first to behind the last.
    #[inline(always)]
    pub(crate) fn place(&self) -> (Room, usize, usize) {
        self.writer.place()
    }

    /// The bitstring, whose bits are there once they have been written and [`Building::finish`] was called.
    pub fn term(&self) -> Term {
        self.term
    }

    /// The term, when every segment has been written.
    pub fn finish(self) -> Term {
        if let Some(end) = self.extended_to {
            set_small(self.term, 1, end);
        }
        self.term
    }
}

/// Writes one segment.
///
/// # Errors
/// What is wrong with its value or size; also when the bitstring has no room for it.
pub fn write(writer: &mut BitWriter, part: &Part<'_>) -> Result<(), Fault> {
    part.write(writer, part.bits()?)
}

/// Starts a new bitstring of so many bits (at most [`MAX_BITS`]).
#[inline(always)]
pub fn begin<H: Allocate + ?Sized>(heap: &mut H, bits: usize) -> Building {
    let bytes = bits.div_ceil(8);
    let (term, room) = if bytes <= HEAP_BINARY_LIMIT {
        let term = heap.heap_bits(bits);
        (term, Room::of_fresh_heap_bits(term))
    } else {
        let handle = heap.binary_handle(OffHeapBinary::new(bytes, bytes));
        let term = if bits.is_multiple_of(8) { handle } else { heap.sub_bits(handle, 0, bits) };
        (term, Room::of_fresh_handle(handle, bytes))
    };
    Building { writer: BitWriter::new(room, 0, bits), term, extended_to: None }
}

/// Starts a bitstring that is `value` and `added` bits behind it. `private`: nobody else holds `value`, so the term
/// itself may be extended.
///
/// # Errors
/// `value` is no bitstring, or its size no multiple of `unit`.
#[inline(always)]
pub fn append<H: Allocate + ?Sized>(
    heap: &mut H,
    value: Term,
    added: usize,
    unit: u16,
    private: bool,
) -> Result<Building, Fault> {
    let old = value.bits().ok_or(Fault::Type)?;
    if !old.length().is_multiple_of(unit.max(1).into()) {
        return Err(Fault::Unit);
    }
    if old.length() + added > MAX_BITS {
        return Err(Fault::Size);
    }
    match extend(heap, value, old, added, private) {
        Some(building) => Ok(building),
        None => Ok(append_to_copy(heap, old, added)),
    }
}

/// Claims the bytes behind a view of a binary with room. A view that ends inside a byte can be extended by
/// its only holder alone, because the rest of that byte cannot be claimed.
#[inline(always)]
fn extend<H: Allocate + ?Sized>(
    heap: &mut H,
    value: Term,
    old: Bits<'_>,
    added: usize,
    private: bool,
) -> Option<Building> {
    if value.boxed_kind() != Some(Kind::SubBits) {
        return None;
    }
    let underlying = value.boxed_terms()[2];
    let binary = underlying.off_heap_binary()?;
    let (from, to) = (old.start() + old.length(), old.start() + old.length() + added);
    if !private && !from.is_multiple_of(8) || !binary.claim(from.div_ceil(8), to.div_ceil(8)) {
        return None;
    }
    let writer = BitWriter::new(Room::of_claimed(binary, to.div_ceil(8)), from, to);
    Some(match private {
        true => Building { writer, term: value, extended_to: Some(to) },
        false => Building { writer, term: heap.sub_bits(underlying, old.start(), to), extended_to: None },
    })
}

#[cold]
fn append_to_copy<H: Allocate + ?Sized>(heap: &mut H, old: Bits<'_>, added: usize) -> Building {
    let bits = old.length() + added;
    let bytes = bits.div_ceil(8);
    let handle = heap.binary_handle(OffHeapBinary::new((bytes * 2).max(APPEND_CAPACITY), bytes));
    let term = heap.sub_bits(handle, 0, bits);
    let mut writer = BitWriter::new(Room::of_fresh_handle(handle, bytes), 0, bits);
    let copied = writer.put_run(old);
    debug_assert!(copied.is_some());
    Building { writer, term, extended_to: None }
}

/// An empty binary with room for `size` bytes (256 if that is no sensible size), for private appends.
pub fn init_writable<H: Allocate + ?Sized>(heap: &mut H, size: Term) -> Term {
    let capacity = match size.as_small() {
        Some(size @ 0..=0x1_0000_0000) => size as usize,
        _ => 0,
    };
    let handle = heap.binary_handle(OffHeapBinary::new(capacity.max(APPEND_CAPACITY), 0));
    heap.sub_bits(handle, 0, 0)
}

/// `bs_add`: `first + second * unit`.
///
/// # Errors
/// `badarg`, `system_limit`
pub fn add_sizes<H: Allocate + ?Sized>(heap: &mut H, first: Term, second: Term, unit: u16) -> Result<Term, Exception> {
    let sum = size_in_bits(first, 1)? + size_in_bits(second, unit)?;
    Ok(heap.integer(sum as i64))
}

/// `bs_utf8_size`, `bs_utf16_size`: bytes of a code point. What is none counts as the longest: writing it fails.
pub fn utf_size(value: Term, encoding: SegmentType) -> Term {
    let encoded = value.to_u64().and_then(|value| utf::encode(value, encoding, BitFlags::default()));
    Term::small(encoded.map_or(4, |(_, bits)| bits as i64 / 8))
}

#[cfg(test)]
mod tests;
