//! Bytes to terms.

use std::sync::Arc;

use atoll_term::atoms::{AtomError, MAX_ATOM_CHARACTERS, atom, existing_atom};
use atoll_term::{Allocate, Build, Export, FunEntry, HEAP_BINARY_LIMIT, HeldBinary, MagicValue, Term, map};

use crate::compressed::inflate;
use crate::error::DecodeError;
use crate::local::{SEAL, is_sealed};
use crate::reader::Reader;
use crate::tags;

/// How to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Refuse terms that would create atoms or mention functions that do not exist.
    pub safe: bool,
}

/// What decoding asks of the machine.
pub trait Resolve {
    /// The entry of `module:name/arity`, made if there is none.
    fn export(&mut self, module: Term, name: Term, arity: u8) -> &'static Export;

    /// The entry of a defined function, for `safe`; one that asks without making an entry is better than this default.
    fn existing_export(&mut self, module: Term, name: Term, arity: u8) -> Option<&'static Export> {
        Some(self.export(module, name, arity)).filter(|export| export.is_defined())
    }

    /// The entry of a fun, made if there is none. `free` counts its free variables.
    fn fun(
        &mut self,
        module: Term,
        old_unique: u32,
        unique: [u8; 16],
        index: u32,
        arity: u8,
        free: u32,
    ) -> &'static FunEntry;

    /// Name and creation of this node.
    fn this_node(&self) -> (Term, u32);

    /// The value that a local reference with these numbers stands for, if it is a magic one that is still alive.
    fn magic(&mut self, _numbers: [u32; 3]) -> Option<Arc<MagicValue>> {
        None
    }
}

/// Decodes the term at the start of `bytes` (version byte included) onto `heap`. Also gives how many bytes it took.
pub fn decode<H: Allocate + ?Sized>(
    bytes: &[u8],
    options: DecodeOptions,
    resolve: &mut dyn Resolve,
    heap: &mut H,
) -> Result<(Term, usize), DecodeError> {
    let mut reader = Reader::new(bytes);
    if reader.u8()? != tags::VERSION {
        return Err(DecodeError::Malformed);
    }
    if bytes.get(1) == Some(&tags::LOCAL) {
        return decode_local(bytes, options, resolve, heap);
    }
    if bytes.get(1) != Some(&tags::COMPRESSED) {
        let mut decoder = Decoder { reader, options, resolve, heap, cached: &[], held: None, from_node: false };
        let term = decoder.term()?;
        return Ok((term, bytes.len() - decoder.reader.remaining()));
    }
    reader.u8()?;
    let length = reader.u32()? as usize;
    let head = bytes.len() - reader.remaining();
    let (inflated, taken) = inflate(&bytes[head..], length)?;
    let term =
        Decoder { reader: Reader::new(&inflated), options, resolve, heap, cached: &[], held: None, from_node: false }
            .term()?;
    Ok((term, head + taken))
}

/// Decodes a term without a version byte, as it stands behind a distribution header. `cached` are the atoms that the
/// header names, by the numbers by which the term refers to them. Also gives how many bytes the term took.
///
/// # Errors
/// As [`decode`].
pub fn decode_behind_header<H: Allocate + ?Sized>(
    bytes: &[u8],
    cached: &[Term],
    resolve: &mut dyn Resolve,
    heap: &mut H,
) -> Result<(Term, usize), DecodeError> {
    let reader = Reader::new(bytes);
    let mut decoder = Decoder::of_node(reader, cached, resolve, heap);
    let term = decoder.term()?;
    Ok((term, bytes.len() - decoder.reader.remaining()))
}

/// As [`decode_behind_header`], of the bytes from `start` on. A binary that fills most of the memory of `bytes` is not
/// copied: it becomes part of it.
///
/// # Errors
/// As [`decode`].
pub fn decode_held<H: Allocate + ?Sized>(
    bytes: &HeldBinary,
    start: usize,
    cached: &[Term],
    resolve: &mut dyn Resolve,
    heap: &mut H,
) -> Result<(Term, usize), DecodeError> {
    let reader = Reader::new(bytes.bytes().get(start..).ok_or(DecodeError::Malformed)?);
    let mut decoder = Decoder { held: Some(bytes), ..Decoder::of_node(reader, cached, resolve, heap) };
    let term = decoder.term()?;
    Ok((term, bytes.bytes().len() - start - decoder.reader.remaining()))
}

/// Decodes the local form, if this node wrote it.
fn decode_local<H: Allocate + ?Sized>(
    bytes: &[u8],
    options: DecodeOptions,
    resolve: &mut dyn Resolve,
    heap: &mut H,
) -> Result<(Term, usize), DecodeError> {
    let head = 2 + SEAL;
    let (Some(sealed), Some(inner)) = (bytes.get(2..head), bytes.get(head..)) else {
        return Err(DecodeError::Malformed);
    };
    let mut decoder =
        Decoder { reader: Reader::new(inner), options, resolve, heap, cached: &[], held: None, from_node: false };
    let term = decoder.term()?;
    let length = inner.len() - decoder.reader.remaining();
    if is_sealed(sealed, inner, length) { Ok((term, head + length)) } else { Err(DecodeError::Malformed) }
}

/// A term whose parts are still being read.
struct Frame {
    what: Composite,
    /// Where its parts start among the finished values.
    base: usize,
    /// Parts still to come.
    missing: usize,
}

enum Composite {
    Tuple,
    /// Parts: the elements, then the tail.
    List,
    /// Parts: key, value, key, value...
    Map,
    /// Parts: old index, old checksum, creator, then the free variables.
    Fun(Box<FunHead>),
}

/// What a fun says of itself before its parts. Funs are rare: in place it would make each composite larger.
struct FunHead {
    module: Term,
    unique: [u8; 16],
    index: u32,
    arity: u8,
}

/// Parts of a fun before its free variables.
const FUN_PARTS: usize = 3;
/// Most free variables of a fun.
const MAX_FREE: u32 = 255;
/// Bytes of a float as text.
const FLOAT_TEXT_BYTES: usize = 31;

/// The state of decoding one term.
pub(crate) struct Decoder<'a, 'm, H: ?Sized> {
    pub(crate) reader: Reader<'a>,
    options: DecodeOptions,
    pub(crate) resolve: &'m mut dyn Resolve,
    pub(crate) heap: &'m mut H,
    /// Atoms that a distribution header names.
    cached: &'a [Term],
    /// What the bytes are part of, if large binaries may become parts of it too.
    held: Option<&'a HeldBinary>,
    /// Another node wrote it: it may have aliases in it.
    pub(crate) from_node: bool,
}

impl<'a, 'm, H: Allocate + ?Sized> Decoder<'a, 'm, H> {
    /// One of what another node has written behind a header.
    fn of_node(reader: Reader<'a>, cached: &'a [Term], resolve: &'m mut dyn Resolve, heap: &'m mut H) -> Self {
        Decoder { reader, options: DecodeOptions::default(), resolve, heap, cached, held: None, from_node: true }
    }

    /// A binary of bytes that were just read.
    fn binary(&mut self, bytes: &[u8]) -> Term {
        match self.held.filter(|held| bytes.len() > HEAP_BINARY_LIMIT && bytes.len() >= held.capacity() / 4 * 3) {
            Some(held) => {
                let end = held.bytes().len() - self.reader.remaining();
                let handle = self.heap.binary_handle(held.share().into_raw());
                self.heap.sub_bits(handle, (end - bytes.len()) * 8, end * 8)
            }
            None => self.heap.binary(bytes),
        }
    }

    fn term(&mut self) -> Result<Term, DecodeError> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut values: Vec<Term> = Vec::new();
        loop {
            let mut value = match self.simple_or_composite()? {
                Read::Done(term) => term,
                Read::Open(what, missing) => {
                    let mut frame = Frame { what, base: values.len(), missing };
                    if missing > 0 {
                        self.small_parts(&mut values, &mut frame.missing);
                        frames.push(frame);
                        continue;
                    }
                    frames.push(frame);
                    // An empty composite is complete at once.
                    let Some(frame) = frames.pop() else { return Err(DecodeError::Malformed) };
                    self.close(&frame.what, &[])?
                }
            };
            loop {
                let Some(frame) = frames.last_mut() else { return Ok(value) };
                values.push(value);
                frame.missing -= 1;
                if frame.missing > 0 {
                    self.small_parts(&mut values, &mut frame.missing);
                    break;
                }
                value = self.close(&frame.what, &values[frame.base..])?;
                values.truncate(frame.base);
                frames.pop();
            }
        }
    }

    /// Reads the small integers and short binaries that come next, up to the last part but one of a composite.
    #[inline]
    fn small_parts(&mut self, values: &mut Vec<Term>, missing: &mut usize) {
        while *missing > 1 {
            let part = if let Some(value) = self.reader.small_integer() {
                Term::small(value)
            } else if let Some(bytes) = self.reader.short_binary() {
                self.heap.binary(bytes)
            } else {
                return;
            };
            values.push(part);
            *missing -= 1;
        }
    }

    fn close(&mut self, what: &Composite, parts: &[Term]) -> Result<Term, DecodeError> {
        match what {
            Composite::Tuple => Ok(self.heap.tuple(parts)),
            Composite::List => match parts.split_last() {
                Some((tail, elements)) => Ok(self.heap.list_of(elements, *tail)),
                None => Err(DecodeError::Malformed),
            },
            Composite::Map => {
                let (pairs, _) = parts.as_chunks::<2>();
                let pairs: Vec<(Term, Term)> = pairs.iter().map(|[key, value]| (*key, *value)).collect();
                let map = map::from_pairs(self.heap, &pairs);
                // A key that stands twice makes the map smaller than its bytes.
                if map::map_size(map) == pairs.len() { Ok(map) } else { Err(DecodeError::Malformed) }
            }
            Composite::Fun(head) => {
                let FunHead { module, unique, index, arity } = **head;
                let (Some(&[old_index, old_unique, creator]), Some(free)) =
                    (parts.first_chunk::<FUN_PARTS>(), parts.get(FUN_PARTS..))
                else {
                    return Err(DecodeError::Malformed);
                };
                let (Some(_), Some(old_unique), true) = (old_index.as_small(), old_unique.as_small(), creator.is_pid())
                else {
                    return Err(DecodeError::Malformed);
                };
                let entry = self.resolve.fun(module, old_unique as u32, unique, index, arity, free.len() as u32);
                Ok(self.heap.fun(entry, creator, free))
            }
        }
    }

    fn simple_or_composite(&mut self) -> Result<Read, DecodeError> {
        let tag = self.reader.u8()?;
        let term = match tag {
            tags::SMALL_INTEGER => Term::small(i64::from(self.reader.u8()?)),
            tags::INTEGER => Term::small(i64::from(self.reader.u32()? as i32)),
            tags::SMALL_BIG => {
                let length = usize::from(self.reader.u8()?);
                self.big(length)?
            }
            tags::LARGE_BIG => {
                let length = self.reader.count(1)?;
                self.big(length)?
            }
            tags::NEW_FLOAT => {
                let value = f64::from_bits(self.reader.u64()?);
                self.float(value)?
            }
            tags::FLOAT => {
                let text = self.reader.bytes(FLOAT_TEXT_BYTES)?;
                let value = float_from_text(text).ok_or(DecodeError::Malformed)?;
                self.float(value)?
            }
            tags::ATOM | tags::SMALL_ATOM | tags::ATOM_UTF8 | tags::SMALL_ATOM_UTF8 | tags::CACHED_ATOM => {
                self.atom(tag)?
            }
            tags::PID | tags::NEW_PID => self.pid(tag)?,
            tags::PORT | tags::NEW_PORT | tags::V4_PORT => self.port(tag)?,
            tags::REFERENCE | tags::NEW_REFERENCE | tags::NEWER_REFERENCE => self.reference(tag)?,
            tags::NIL => Term::NIL,
            tags::STRING => {
                let length = usize::from(self.reader.u16()?);
                let bytes = self.reader.bytes(length)?;
                self.heap.list_of_bytes(bytes, Term::NIL)
            }
            tags::BINARY => {
                let length = self.reader.count(0)?;
                let bytes = self.reader.bytes(length)?;
                self.binary(bytes)
            }
            tags::BIT_BINARY => self.bit_binary()?,
            tags::EXPORT => self.export()?,
            tags::SMALL_TUPLE => {
                let arity = usize::from(self.reader.u8()?);
                return Ok(Read::Open(Composite::Tuple, arity));
            }
            tags::LARGE_TUPLE => return Ok(Read::Open(Composite::Tuple, self.reader.count(0)?)),
            tags::LIST => return Ok(Read::Open(Composite::List, self.reader.count(1)? + 1)),
            tags::MAP => {
                let pairs = self.reader.count(0)?;
                if pairs * 2 > self.reader.remaining() {
                    return Err(DecodeError::Malformed);
                }
                return Ok(Read::Open(Composite::Map, pairs * 2));
            }
            tags::NEW_FUN => return self.new_fun(),
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Read::Done(term))
    }

    fn big(&mut self, length: usize) -> Result<Term, DecodeError> {
        let negative = self.reader.u8()? != 0;
        let bytes = self.reader.bytes(length)?;
        let limbs: Vec<u64> = bytes
            .chunks(8)
            .map(|chunk| chunk.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte)))
            .collect();
        Ok(self.heap.big_from_limbs(negative, &limbs))
    }

    fn float(&mut self, value: f64) -> Result<Term, DecodeError> {
        if value.is_finite() { Ok(self.heap.float(value)) } else { Err(DecodeError::Malformed) }
    }

    fn bit_binary(&mut self) -> Result<Term, DecodeError> {
        let length = self.reader.u32()? as usize;
        let last_bits = usize::from(self.reader.u8()?);
        if last_bits > 8 || (last_bits == 0) != (length == 0) {
            return Err(DecodeError::Malformed);
        }
        let bytes = self.reader.bytes(length)?;
        Ok(self.heap.bitstring(bytes, (length * 8 + last_bits).saturating_sub(8)))
    }

    /// An atom with its tag, where only an atom may stand.
    pub(crate) fn atom_term(&mut self) -> Result<Term, DecodeError> {
        let tag = self.reader.u8()?;
        self.atom(tag)
    }

    fn atom(&mut self, tag: u8) -> Result<Term, DecodeError> {
        let long = match tag {
            tags::ATOM | tags::ATOM_UTF8 => true,
            tags::SMALL_ATOM | tags::SMALL_ATOM_UTF8 => false,
            tags::CACHED_ATOM => {
                let number = usize::from(self.reader.u8()?);
                return self.cached.get(number).copied().ok_or(DecodeError::Malformed);
            }
            _ => return Err(DecodeError::Malformed),
        };
        let length = if long { usize::from(self.reader.u16()?) } else { usize::from(self.reader.u8()?) };
        let bytes = self.reader.bytes(length)?;
        if matches!(tag, tags::ATOM_UTF8 | tags::SMALL_ATOM_UTF8) || bytes.is_ascii() {
            return self.named(std::str::from_utf8(bytes).map_err(|_| DecodeError::Malformed)?);
        }
        self.named(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
    }

    fn named(&self, name: &str) -> Result<Term, DecodeError> {
        if self.options.safe {
            let too_long = name.len() > MAX_ATOM_CHARACTERS && name.chars().count() > MAX_ATOM_CHARACTERS;
            return existing_atom(name).ok_or(if too_long { DecodeError::Malformed } else { DecodeError::Unsafe });
        }
        atom(name).map_err(|error| match error {
            AtomError::TooLong => DecodeError::Malformed,
            AtomError::TableFull => DecodeError::TooManyAtoms,
        })
    }

    fn export(&mut self) -> Result<Term, DecodeError> {
        let (module, name) = (self.atom_term()?, self.atom_term()?);
        let arity = match self.reader.u8()? {
            tags::SMALL_INTEGER => self.reader.u8()?,
            tags::INTEGER => u8::try_from(self.reader.u32()?).map_err(|_| DecodeError::Malformed)?,
            _ => return Err(DecodeError::Malformed),
        };
        let export = if self.options.safe {
            self.resolve.existing_export(module, name, arity).ok_or(DecodeError::Unsafe)?
        } else {
            self.resolve.export(module, name, arity)
        };
        Ok(self.heap.external_fun(export))
    }

    fn new_fun(&mut self) -> Result<Read, DecodeError> {
        // The size says nothing that the parts do not say.
        let _size = self.reader.u32()?;
        let arity = self.reader.u8()?;
        let unique = self.reader.array()?;
        let index = self.reader.u32()?;
        let free = self.reader.u32()?;
        if free > MAX_FREE {
            return Err(DecodeError::Malformed);
        }
        let module = self.atom_term()?;
        Ok(Read::Open(Composite::Fun(Box::new(FunHead { module, unique, index, arity })), FUN_PARTS + free as usize))
    }
}

/// What stands at the reader's place.
enum Read {
    Done(Term),
    /// A composite with this many parts behind it.
    Open(Composite, usize),
}

/// A float as the oldest form has it: digits on both sides of the point, padded with zero bytes.
fn float_from_text(bytes: &[u8]) -> Option<f64> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let unsigned = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa).split_once('.')?;
    let good = unsigned(whole)
        && unsigned(fraction)
        && exponent.is_none_or(|digits| unsigned(digits.strip_prefix(['+', '-']).unwrap_or(digits)));
    if good { text.parse().ok() } else { None }
}
