//! Terms to bytes, as OTP 25's `term_to_binary` writes them.

use std::borrow::Cow;

use atoll_term::atoms::atom_name;
use atoll_term::map::{MapIter, is_flat, map_size};
use atoll_term::{Big, Bits, External, ExternalKind, Fun, Term, View, compare_exact, pid_parts, release};

use crate::compressed::deflate;
use crate::identifier::{alias_numbers, is_short_port};
use crate::pieces::Pieces;
use crate::sink::{Counter, Encoded, Room, Sink, UpTo};
use crate::tags;

/// Why a term could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// A length does not fit its field of 32 bits.
    TooLarge,
    /// The word is no value of the language.
    NotATerm,
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            EncodeError::TooLarge => "a part of the term is too large for the external format",
            EncodeError::NotATerm => "the word to encode is no term",
        })
    }
}

impl std::error::Error for EncodeError {}

/// How to encode: the options of `term_to_binary/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Level (0 to 9) of compression; the result stays plain where that is not longer.
    pub compressed: Option<u32>,
    /// 0: floats as text; 1: floats as 8 bytes; 2: also all atoms in UTF-8, where the others prefer Latin-1.
    pub minor_version: u8,
    /// Large maps in the order of their keys, not of their hashes.
    pub deterministic: bool,
}

/// The first release that writes atoms in UTF-8 without being asked to, and all ports in the long form.
const MODERN: u32 = 26;

impl Default for EncodeOptions {
    fn default() -> EncodeOptions {
        let minor_version = if release() >= MODERN { 2 } else { 1 };
        EncodeOptions { compressed: None, minor_version, deterministic: false }
    }
}

/// The bytes of a term, version byte included. `node` is this node's name and creation.
pub fn encode(term: Term, options: EncodeOptions, node: (Term, u32)) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder { sink: vec![tags::VERSION], options, node, atoms: None, for_node: false };
    encoder.term(term)?;
    let plain = encoder.sink;
    let Some(level) = options.compressed.filter(|level| *level > 0) else { return Ok(plain) };
    let length = u32::try_from(plain.len() - 1).map_err(|_| EncodeError::TooLarge)?;
    let mut packed = vec![tags::VERSION, tags::COMPRESSED];
    packed.put_u32(length);
    let deflated = deflate(&plain[1..], level, &mut packed);
    Ok(if deflated.is_ok() && packed.len() <= plain.len() { packed } else { plain })
}

/// As [`encode`] without compression, if there are no more than `limit` bytes; else for [`encode_into`], so that none
/// are held twice.
pub fn encode_up_to(
    term: Term,
    options: EncodeOptions,
    node: (Term, u32),
    limit: usize,
) -> Result<Encoded, EncodeError> {
    Ok(write_term(term, options, node, UpTo::new(limit))?.into_encoded())
}

/// Writes the bytes of a term that [`encode_up_to`] has counted.
pub fn encode_into(term: Term, options: EncodeOptions, node: (Term, u32), room: &mut [u8]) {
    let result = write_term(term, options, node, Room::new(room));
    debug_assert!(result.is_ok(), "it was encoded before");
}

/// Writes the bytes of a term without compression, version byte included.
pub(crate) fn write_term<S: Sink>(
    term: Term,
    options: EncodeOptions,
    node: (Term, u32),
    sink: S,
) -> Result<S, EncodeError> {
    let mut encoder = Encoder { sink, options, node, atoms: None, for_node: false };
    encoder.sink.put_u8(tags::VERSION);
    encoder.term(term)?;
    Ok(encoder.sink)
}

/// How many bytes [`encode`] would give, not counting compression, without making them.
pub fn encoded_size(term: Term, options: EncodeOptions, node: (Term, u32)) -> Result<usize, EncodeError> {
    Ok(write_term(term, options, node, Counter::default())?.position())
}

/// What is still to be written of a composite.
enum Pending<'h> {
    Elements(std::slice::Iter<'h, Term>),
    /// The cells from here on, then the tail.
    Cells(&'h Term),
    /// Keys and values from here on; the value whose key was last, if it is not written yet.
    Pairs(Pairs<'h>, Option<&'h Term>),
    /// The size of the fun that began here.
    FunSize(usize),
}

/// The pairs of a map.
enum Pairs<'h> {
    Flat(Box<MapIter<'h>>),
    Large(std::iter::Rev<std::vec::IntoIter<(&'h Term, &'h Term)>>),
}

impl<'h> Iterator for Pairs<'h> {
    type Item = (&'h Term, &'h Term);

    fn next(&mut self) -> Option<(&'h Term, &'h Term)> {
        match self {
            Pairs::Flat(pairs) => pairs.next_in_place(),
            Pairs::Large(pairs) => pairs.next(),
        }
    }
}

/// Most elements of a list that is written as a string.
const MAX_STRING: usize = 0xffff;
/// Bytes of a float as text.
const FLOAT_TEXT_BYTES: usize = 31;
/// Digits after the point of a float as text.
const FLOAT_TEXT_DIGITS: usize = 20;

struct Encoder<S> {
    sink: S,
    options: EncodeOptions,
    node: (Term, u32),
    /// Where atoms are written as numbers: those that have one.
    atoms: Option<AtomTable>,
    /// Another node reads it: aliases are written so that it can send to them.
    for_node: bool,
}

/// Terms for a connection to another node, one behind the other.
pub struct ForChannel(Encoder<Pieces>);

impl ForChannel {
    /// Nothing yet. With `cache`, atoms are written as numbers, which a distribution header explains
    /// ([`ForChannel::finish`]); without it, a version byte stands in front of each term. `node` is this node's name
    /// and creation.
    pub fn new(cache: bool, node: (Term, u32)) -> ForChannel {
        let options = EncodeOptions { compressed: None, minor_version: 2, deterministic: false };
        let atoms = cache.then(AtomTable::default);
        ForChannel(Encoder { sink: Pieces::default(), options, node, atoms, for_node: true })
    }

    /// Begins a term: to be called before its parts are written.
    pub fn begin(&mut self) {
        if self.0.atoms.is_none() {
            self.0.sink.put_u8(tags::VERSION);
        }
    }

    /// The head of a tuple, whose elements are to be written next.
    pub fn tuple(&mut self, arity: u8) {
        self.0.sink.put(&[tags::SMALL_TUPLE, arity]);
    }

    /// A small integer.
    pub fn integer(&mut self, value: i64) {
        self.0.small(value);
    }

    /// A term, or an element of a tuple.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn term(&mut self, term: Term) -> Result<(), EncodeError> {
        self.0.term(term)
    }

    /// A pid of another node, or of an earlier run of this one.
    pub fn pid(&mut self, node: (Term, u32), number: u32, serial: u32) {
        self.0.pid(node, number, serial);
    }

    /// A reference of another node.
    pub fn reference(&mut self, node: (Term, u32), numbers: &[u32]) {
        self.0.reference(node, numbers.iter().copied());
    }

    /// How many bytes are written.
    pub fn length(&self) -> usize {
        self.0.sink.position()
    }

    /// The bytes, and the atoms that they refer to by numbers; `None` where atoms are written out.
    pub fn finish(self) -> (Pieces, Option<Vec<Term>>) {
        (self.0.sink, self.0.atoms.map(|table| table.0))
    }
}

/// The atoms that are written as numbers.
#[derive(Default)]
struct AtomTable(Vec<Term>);

/// Atoms that a distribution header can name.
const MOST_CACHED: usize = 255;

impl AtomTable {
    /// The number of an atom, if it has one or there is one left.
    fn number(&mut self, atom: Term) -> Option<u8> {
        match self.0.iter().position(|known| *known == atom) {
            Some(number) => Some(number as u8),
            None if self.0.len() < MOST_CACHED => {
                self.0.push(atom);
                Some((self.0.len() - 1) as u8)
            }
            None => None,
        }
    }
}

impl<S: Sink> Encoder<S> {
    fn term(&mut self, term: Term) -> Result<(), EncodeError> {
        let mut pending = Vec::new();
        self.one(&term, &mut pending)?;
        while let Some(top) = pending.last_mut() {
            let next = match top {
                Pending::Elements(elements) => elements.next(),
                Pending::Cells(list) => match self.small_cells(list) {
                    Some(head) => Some(head),
                    None => {
                        let tail = *list;
                        pending.pop();
                        self.one(tail, &mut pending)?;
                        continue;
                    }
                },
                Pending::Pairs(_, value @ Some(_)) => value.take(),
                Pending::Pairs(pairs, value) => pairs.next().map(|(key, its_value)| {
                    *value = Some(its_value);
                    key
                }),
                Pending::FunSize(start) => {
                    let size = length_field(self.sink.position() - *start)?;
                    self.sink.patch(*start, size);
                    None
                }
            };
            match next {
                Some(part) => self.one(part, &mut pending)?,
                None => {
                    pending.pop();
                }
            }
        }
        Ok(())
    }

    /// Writes the small integers at the beginning of a list. Its first other element, if there is one; the list goes on
    /// behind that.
    #[inline]
    fn small_cells<'h>(&mut self, list: &mut &'h Term) -> Option<&'h Term> {
        while list.is_cons() {
            let [head, tail] = list.cons_cell();
            *list = tail;
            match head.as_small() {
                Some(value) => self.small(value),
                None => return Some(head),
            }
        }
        None
    }

    /// Writes a term; of a composite the head, and pends its parts.
    fn one<'h>(&mut self, term: &'h Term, pending: &mut Vec<Pending<'h>>) -> Result<(), EncodeError> {
        if term.is_cons() {
            if let ListForm::Cells = self.list(*term)? {
                pending.push(Pending::Cells(term));
            }
            return Ok(());
        }
        if let Some(bits) = term.bits_in_loop() {
            return self.bits(term, &bits);
        }
        match term.view() {
            View::Small(value) => self.small(value),
            View::Big(big) => self.big(&big)?,
            View::Float(value) => self.float(value),
            View::Atom(atom) => self.atom(atom),
            View::Pid(data) => self.local_pid(data),
            View::Port(number) => self.port(self.node, number),
            View::Reference(reference) => match reference.alias_of().filter(|_| self.for_node) {
                Some(pid) => self.reference(self.node, alias_numbers(reference.numbers(), pid).into_iter()),
                None => self.reference(self.node, reference.numbers().into_iter()),
            },
            View::External(external) => self.external(&external),
            View::Nil => self.sink.put_u8(tags::NIL),
            View::Tuple(elements) => {
                match u8::try_from(elements.len()) {
                    Ok(arity) => self.sink.put(&[tags::SMALL_TUPLE, arity]),
                    Err(_) => self.head(tags::LARGE_TUPLE, elements.len())?,
                }
                pending.push(Pending::Elements(elements.iter()));
            }
            View::Map(map) => {
                self.head(tags::MAP, map_size(map))?;
                pending.push(Pending::Pairs(self.pairs(term), None));
            }
            View::Fun(fun) => {
                let size_at = self.fun(&fun);
                pending.push(Pending::FunSize(size_at));
                pending.push(Pending::Elements(fun.free.iter()));
            }
            View::ExternalFun(export) => {
                self.sink.put_u8(tags::EXPORT);
                self.atom(export.module);
                self.atom(export.name);
                self.small(i64::from(export.arity));
            }
            // Lists and bitstrings are written above.
            View::Cons(..) | View::Bits(_) | View::Internal => return Err(EncodeError::NotATerm),
        }
        Ok(())
    }

    /// A tag with a length.
    #[inline]
    fn head(&mut self, tag: u8, length: usize) -> Result<(), EncodeError> {
        let [a, b, c, d] = length_field(length)?.to_be_bytes();
        self.sink.put(&[tag, a, b, c, d]);
        Ok(())
    }

    #[inline]
    fn small(&mut self, value: i64) {
        if let Ok(byte) = u8::try_from(value) {
            self.sink.put(&[tags::SMALL_INTEGER, byte]);
        } else if let Ok(word) = i32::try_from(value) {
            let [a, b, c, d] = word.to_be_bytes();
            self.sink.put(&[tags::INTEGER, a, b, c, d]);
        } else {
            let magnitude = value.unsigned_abs();
            let length = 8 - magnitude.leading_zeros() as usize / 8;
            self.sink.put(&[tags::SMALL_BIG, length as u8, u8::from(value < 0)]);
            self.sink.put(&magnitude.to_le_bytes()[..length]);
        }
    }

    fn big(&mut self, big: &Big<'_>) -> Result<(), EncodeError> {
        let Some((top, below)) = big.limbs.split_last() else { return Err(EncodeError::NotATerm) };
        let top_length = 8 - top.leading_zeros() as usize / 8;
        let length = below.len() * 8 + top_length;
        match u8::try_from(length) {
            Ok(length) => self.sink.put(&[tags::SMALL_BIG, length]),
            Err(_) => {
                self.sink.put_u8(tags::LARGE_BIG);
                self.sink.put_u32(length_field(length)?);
            }
        }
        self.sink.put_u8(u8::from(big.negative));
        for limb in below {
            self.sink.put(&limb.to_le_bytes());
        }
        self.sink.put(&top.to_le_bytes()[..top_length]);
        Ok(())
    }

    fn float(&mut self, value: f64) {
        if self.options.minor_version > 0 {
            self.sink.put_u8(tags::NEW_FLOAT);
            self.sink.put(&value.to_be_bytes());
            return;
        }
        self.sink.put_u8(tags::FLOAT);
        let mut text = [0; FLOAT_TEXT_BYTES];
        let digits = float_text(value);
        for (place, byte) in text.iter_mut().zip(digits.bytes()) {
            *place = byte;
        }
        self.sink.put(&text);
    }

    fn atom(&mut self, atom: Term) {
        if let Some(number) = self.atoms.as_mut().and_then(|table| table.number(atom)) {
            return self.sink.put(&[tags::CACHED_ATOM, number]);
        }
        let name = atom_name(atom);
        let is_ascii = name.is_ascii();
        let latin1 =
            self.options.minor_version < 2 && (is_ascii || name.chars().all(|character| u32::from(character) < 0x100));
        if !latin1 {
            match u8::try_from(name.len()) {
                Ok(length) => self.sink.put(&[tags::SMALL_ATOM_UTF8, length]),
                Err(_) => {
                    self.sink.put_u8(tags::ATOM_UTF8);
                    self.sink.put_u16(name.len() as u16);
                }
            }
            self.sink.put(name.as_bytes());
            return;
        }
        let bytes = match is_ascii {
            true => Cow::Borrowed(name.as_bytes()),
            false => name.chars().map(|character| u32::from(character) as u8).collect(),
        };
        let [high, low] = (bytes.len() as u16).to_be_bytes();
        self.sink.put(&[tags::ATOM, high, low]);
        self.sink.put(&bytes);
    }

    fn local_pid(&mut self, data: u64) {
        let (number, serial) = pid_parts(data);
        self.pid(self.node, number as u32, serial as u32);
    }

    fn pid(&mut self, node: (Term, u32), number: u32, serial: u32) {
        self.sink.put_u8(tags::NEW_PID);
        self.atom(node.0);
        self.sink.put_u32(number);
        self.sink.put_u32(serial);
        self.sink.put_u32(node.1);
    }

    fn port(&mut self, node: (Term, u32), number: u64) {
        let short = is_short_port(number) && release() < MODERN;
        self.sink.put_u8(if short { tags::NEW_PORT } else { tags::V4_PORT });
        self.atom(node.0);
        if short {
            self.sink.put_u32(number as u32);
        } else {
            self.sink.put(&number.to_be_bytes());
        }
        self.sink.put_u32(node.1);
    }

    fn reference(&mut self, node: (Term, u32), numbers: impl ExactSizeIterator<Item = u32>) {
        self.sink.put_u8(tags::NEWER_REFERENCE);
        self.sink.put_u16(numbers.len() as u16);
        self.atom(node.0);
        self.sink.put_u32(node.1);
        for number in numbers {
            self.sink.put_u32(number);
        }
    }

    fn external(&mut self, external: &External<'_>) {
        let node = (external.node, external.creation);
        let part = |index: usize| external.data.get(index).copied().unwrap_or(0);
        match external.kind {
            ExternalKind::Pid => self.pid(node, part(0) as u32, part(1) as u32),
            ExternalKind::Port => self.port(node, part(0)),
            ExternalKind::Reference => self.reference(node, external.data.iter().map(|word| *word as u32)),
        }
    }

    /// Writes a string whole, or the head of another list.
    fn list(&mut self, list: Term) -> Result<ListForm, EncodeError> {
        let (mut length, mut rest, mut only_bytes) = (0, list, true);
        while rest.is_cons() {
            only_bytes &= rest.head().as_small().is_some_and(|value| u8::try_from(value).is_ok());
            length += 1;
            rest = rest.tail();
        }
        if !only_bytes || length > MAX_STRING || !rest.is_nil() {
            self.head(tags::LIST, length)?;
            return Ok(ListForm::Cells);
        }
        self.sink.put_u8(tags::STRING);
        self.sink.put_u16(length as u16);
        let mut rest = list;
        while rest.is_cons() {
            self.sink.put_u8(rest.head().small_value() as u8);
            rest = rest.tail();
        }
        Ok(ListForm::String)
    }

    /// The pairs of a map in the order in which they are written.
    fn pairs<'h>(&self, map: &'h Term) -> Pairs<'h> {
        if is_flat(*map) {
            return Pairs::Flat(Box::new(MapIter::new(map)));
        }
        // OTP walks a large map from its last pair to its first.
        let mut walk = MapIter::new(map);
        let mut pairs: Vec<(&Term, &Term)> = std::iter::from_fn(|| walk.next_in_place()).collect();
        if self.options.deterministic {
            pairs.sort_unstable_by(|(one, _), (other, _)| compare_exact(**other, **one));
        }
        Pairs::Large(pairs.into_iter().rev())
    }

    fn bits(&mut self, term: &Term, bits: &Bits<'_>) -> Result<(), EncodeError> {
        self.head(if bits.is_binary() { tags::BINARY } else { tags::BIT_BINARY }, bits.byte_length())?;
        if !bits.is_binary() {
            self.sink.put_u8((bits.length() % 8) as u8);
        }
        self.sink.put_bits_of(term, bits);
        Ok(())
    }

    /// Writes a fun up to its free variables; gives where its size belongs.
    fn fun(&mut self, fun: &Fun<'_>) -> usize {
        self.sink.put_u8(tags::NEW_FUN);
        let size_at = self.sink.position();
        self.sink.put_u32(0);
        self.sink.put_u8(fun.entry.arity);
        self.sink.put(&fun.entry.unique);
        self.sink.put_u32(fun.entry.index);
        self.sink.put_u32(fun.free.len() as u32);
        self.atom(fun.entry.module);
        self.small(i64::from(fun.entry.index));
        self.small(i64::from(fun.entry.old_unique));
        match fun.creator.view() {
            View::External(creator) => self.external(&creator),
            View::Pid(data) => self.local_pid(data),
            _ => self.local_pid(0),
        }
        size_at
    }
}

enum ListForm {
    /// The list is written.
    String,
    /// Its cells are still to be written.
    Cells,
}

fn length_field(length: usize) -> Result<u32, EncodeError> {
    u32::try_from(length).map_err(|_| EncodeError::TooLarge)
}

/// A float as C's `%.20e` gives it: an exponent has a sign and at least two digits.
fn float_text(value: f64) -> String {
    let text = format!("{value:.FLOAT_TEXT_DIGITS$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}
