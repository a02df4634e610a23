//! Character data to UTF-8: what `unicode:characters_to_binary/2` and `characters_to_list/2` share.
//!
//! Character data is a binary, or a list of code points, binaries and such lists; its tail may be a binary. A
//! character may be cut by the end of one binary and go on in the next. Other encodings than Latin-1 and UTF-8 are
//! absent because the machine is never asked for them: OTP's `unicode` module converts UTF-16 and UTF-32 itself.

use atoll_term::{Bits, Build, Term, View, atoms};

use crate::exception::Exception;

/// What the bytes of binaries mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A byte is a character; no code point above 255.
    Latin1,
    /// UTF-8; code points up to 0x10FFFF that are no surrogates.
    Utf8,
}

impl Encoding {
    fn allows(self, code: u32) -> Option<char> {
        match self {
            Encoding::Latin1 => u8::try_from(code).ok().map(char::from),
            Encoding::Utf8 => char::from_u32(code),
        }
    }
}

/// Converted character data.
#[derive(Clone, Debug)]
pub enum Converted {
    /// All of it, in UTF-8.
    All(String),
    /// What came before a character that cannot be, and the data from that character on.
    Error(String, Term),
    /// What came before a character that the end cuts, and a binary with the beginning of that character.
    Incomplete(String, Term),
}

impl Converted {
    /// The result of `characters_to_binary/2`; `system_limit` if the atom table is full.
    pub fn to_binary(&self, heap: &mut (impl Build + ?Sized)) -> Result<Term, Exception> {
        self.to_term(heap, |heap, text| heap.binary(text.as_bytes()))
    }

    /// The result of `characters_to_list/2`; `system_limit` if the atom table is full.
    pub fn to_list(&self, heap: &mut (impl Build + ?Sized)) -> Result<Term, Exception> {
        self.to_term(heap, |heap, text| heap.string(text))
    }

    fn to_term<H: Build + ?Sized>(&self, heap: &mut H, make: impl Fn(&mut H, &str) -> Term) -> Result<Term, Exception> {
        let (tag, text, rest) = match self {
            Converted::All(text) => return Ok(make(heap, text)),
            Converted::Error(text, rest) => (atoms::ERROR, text, *rest),
            Converted::Incomplete(text, rest) => {
                (atoms::atom("incomplete").map_err(|_| Exception::system_limit())?, text, *rest)
            }
        };
        let converted = make(heap, text);
        Ok(heap.tuple(&[tag, converted, rest]))
    }
}

/// The data of `characters_to_binary/2`: a list of one binary counts as that binary, which shows in the rest after
/// an error. `characters_to_list/2` makes no such difference.
pub fn only_binary(data: Term) -> Term {
    if data.is_cons() && data.tail().is_nil() && data.head().is_bitstring() { data.head() } else { data }
}

/// How long a list is that has characters of an encoding alone, and so is its own conversion to a list.
pub fn length_of_characters(data: Term, from: Encoding) -> Option<usize> {
    let (mut rest, mut length) = (data, 0);
    while rest.is_cons() {
        let [head, tail] = *rest.cons_cell();
        from.allows(u32::try_from(head.as_small()?).ok()?)?;
        rest = tail;
        length += 1;
    }
    rest.is_nil().then_some(length)
}

/// Converts character data to UTF-8; `badarg` if it is no character data. New terms (the rest) go to `heap`.
pub fn convert(data: Term, from: Encoding, heap: &mut (impl Build + ?Sized)) -> Result<Converted, Exception> {
    let mut converter = Converter { from, text: String::new(), cut: Cut::default() };
    let mut walk = Walk { here: data, outer: Vec::new() };
    if !(data.is_list() || data.is_bitstring()) {
        return Err(Exception::badarg());
    }
    let failed_at = loop {
        let here = walk.here;
        if here.is_cons() {
            let [head, tail] = *here.cons_cell();
            match head.as_small() {
                Some(code) => {
                    if !converter.code_point(code) {
                        break Some(here);
                    }
                    walk.here = tail;
                }
                None if head.is_integer() => break Some(here),
                None => {
                    walk.outer.push(tail);
                    walk.here = head;
                }
            }
            continue;
        }
        if let Some(bits) = here.bits_in_loop()
            && bits.is_binary()
        {
            if let Some(good) = converter.binary(&bits) {
                let rest = part(heap, here, good);
                break Some(rest);
            }
        } else if !here.is_nil() {
            return Err(Exception::badarg());
        }
        let Some(next) = walk.outer.pop() else { break None };
        walk.here = next;
    };
    let Converter { text, cut, .. } = converter;
    match failed_at {
        Some(rest) => {
            check_rest(walk.here, &walk.outer)?;
            let rest = walk.outer.iter().rev().fold(rest, |rest, outer| heap.cons(rest, *outer));
            let rest = if cut.is_empty() {
                rest
            } else {
                let start = heap.binary(cut.bytes());
                heap.list([start, rest])
            };
            Ok(Converted::Error(text, rest))
        }
        None if cut.is_empty() => Ok(Converted::All(text)),
        None => {
            let start = heap.binary(cut.bytes());
            Ok(if cut.may_go_on() { Converted::Incomplete(text, start) } else { Converted::Error(text, start) })
        }
    }
}

/// Where the conversion stands in the data.
struct Walk {
    here: Term,
    /// Tails of the lists around, outermost first.
    outer: Vec<Term>,
}

/// The part of a binary from this byte on; the binary itself if that is all of it.
fn part(heap: &mut (impl Build + ?Sized), binary: Term, from: usize) -> Term {
    match binary.bits() {
        Some(bits) if from > 0 => heap.part_of_bits(binary, from * 8, bits.length() - from * 8),
        _ => binary,
    }
}

/// Refuses what follows an error if it is no character data. As in OTP, integers may be wrong there too, and nothing
/// behind a large one is looked at.
fn check_rest(here: Term, outer: &[Term]) -> Result<(), Exception> {
    let mut open = outer.to_vec();
    let mut here = here;
    loop {
        match here.view() {
            View::Cons(head, tail) => {
                if head.is_small() {
                    here = tail;
                } else if head.is_integer() {
                    return Ok(());
                } else {
                    open.push(tail);
                    here = head;
                }
                continue;
            }
            View::Nil => {}
            View::Bits(bits) if bits.is_binary() => {}
            _ => return Err(Exception::badarg()),
        }
        match open.pop() {
            Some(next) => here = next,
            None => return Ok(()),
        }
    }
}

struct Converter {
    from: Encoding,
    text: String,
    cut: Cut,
}

impl Converter {
    /// Appends a code point; `false` if it cannot be here.
    fn code_point(&mut self, code: i64) -> bool {
        let allowed = u32::try_from(code).ok().and_then(|code| self.from.allows(code));
        match allowed {
            Some(character) if self.cut.is_empty() => {
                self.text.push(character);
                true
            }
            _ => false,
        }
    }

    /// Appends a binary's characters, but for one that its end cuts. If a character cannot be: how many bytes there
    /// are before it.
    fn binary(&mut self, bits: &Bits<'_>) -> Option<usize> {
        let bytes = bits.to_bytes();
        if self.from == Encoding::Latin1 {
            self.text.extend(bytes.iter().map(|byte| char::from(*byte)));
            return None;
        }
        let mut from = 0;
        if !self.cut.is_empty() {
            let missing = self.cut.missing();
            if bytes.len() < missing {
                self.cut.extend(&bytes);
                return None;
            }
            let mut whole = self.cut;
            whole.extend(&bytes[..missing]);
            match std::str::from_utf8(whole.bytes()) {
                Ok(character) => self.text.push_str(character),
                Err(_) => return Some(0),
            }
            self.cut = Cut::default();
            from = missing;
        }
        match std::str::from_utf8(&bytes[from..]) {
            Ok(text) => self.text.push_str(text),
            Err(error) => {
                let good = from + error.valid_up_to();
                if let Ok(text) = std::str::from_utf8(&bytes[from..good]) {
                    self.text.push_str(text);
                }
                let rest = &bytes[good..];
                // A character is only judged when all the bytes that its first one announces are there.
                match rest.first().and_then(|first| announced_length(*first)) {
                    Some(length) if rest.len() < length => self.cut.extend(rest),
                    _ => return Some(good),
                }
            }
        }
        None
    }
}

/// The bytes at the end of a binary that may be the beginning of a character.
#[derive(Clone, Copy, Default)]
struct Cut {
    bytes: [u8; MAX_CHARACTER],
    length: usize,
}

/// Most bytes of a character in UTF-8.
const MAX_CHARACTER: usize = 4;

impl Cut {
    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn extend(&mut self, more: &[u8]) {
        for (place, byte) in self.bytes[self.length..].iter_mut().zip(more) {
            *place = *byte;
        }
        self.length = (self.length + more.len()).min(MAX_CHARACTER);
    }

    /// How many bytes the character still needs.
    fn missing(&self) -> usize {
        announced_length(self.bytes[0]).unwrap_or(1).saturating_sub(self.length)
    }

    /// Whether more bytes could make it a character; overlong forms and surrogates are not looked for here.
    fn may_go_on(&self) -> bool {
        self.bytes().iter().skip(1).all(|byte| byte & 0xc0 == 0x80)
    }
}

/// How many bytes a character has that begins with this byte, `None` for a byte that begins none of two to four.
fn announced_length(first: u8) -> Option<usize> {
    match first {
        0xc0..=0xdf => Some(2),
        0xe0..=0xef => Some(3),
        0xf0..=0xf7 => Some(4),
        _ => None,
    }
}

/// `unicode:bin_is_7bit/1`: whether the term is a binary of ASCII characters.
pub fn bin_is_7bit(term: Term) -> bool {
    term.bits().is_some_and(|bits| bits.is_binary() && bits.to_bytes().is_ascii())
}
