//! Compiled patterns: the bytes that stand for one in a term, and the compiled code that a thread keeps for them.
//!
//! The term of a compiled pattern must outlive the run, be sent to other nodes and lie in literals, so it holds what
//! is needed to compile the pattern again: options, then the pattern.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use atoll_regex::{CompileError, CompileOptions, LineBreaks, Newline, Regex};

/// What the bytes begin with.
const MAGIC: &[u8; 4] = b"ARE1";
/// Bytes before the pattern: magic, flags, newline, line breaks.
const HEAD: usize = MAGIC.len() + 4;
/// Compiled patterns that a thread keeps.
const KEPT: usize = 256;

/// A pattern with its options.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    options: CompileOptions,
    bytes: Vec<u8>,
}

const NEWLINES: [Newline; 6] = [Newline::Cr, Newline::Lf, Newline::Crlf, Newline::AnyCrlf, Newline::Any, Newline::Nul];
const LINE_BREAKS: [LineBreaks; 2] = [LineBreaks::AnyCrlf, LineBreaks::Unicode];

/// The options that are on or off, in the order of their bits.
fn flags(options: &mut CompileOptions) -> [&mut bool; 14] {
    [
        &mut options.unicode,
        &mut options.anchored,
        &mut options.caseless,
        &mut options.dollar_endonly,
        &mut options.dotall,
        &mut options.extended,
        &mut options.firstline,
        &mut options.multiline,
        &mut options.no_auto_capture,
        &mut options.dupnames,
        &mut options.ungreedy,
        &mut options.ucp,
        &mut options.never_utf,
        &mut options.no_start_optimize,
    ]
}

/// A choice as a byte: 0 for none, else its place plus one.
fn to_byte<T: PartialEq>(all: &[T], one: Option<T>) -> u8 {
    one.and_then(|one| all.iter().position(|other| *other == one)).map_or(0, |place| place as u8 + 1)
}

fn from_byte<T: Copy>(all: &[T], byte: u8) -> Option<Option<T>> {
    match byte.checked_sub(1) {
        None => Some(None),
        Some(place) => all.get(usize::from(place)).map(|one| Some(*one)),
    }
}

impl Key {
    /// A pattern to be compiled with these options; as in OTP it ends before its first NUL.
    pub fn new(options: &CompileOptions, pattern: &[u8]) -> Key {
        let pattern = pattern.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut copy = *options;
        let set = flags(&mut copy).into_iter().enumerate();
        let bits = set.fold(0u16, |bits, (index, flag)| bits | u16::from(*flag) << index);
        let mut bytes = Vec::with_capacity(HEAD + pattern.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&bits.to_be_bytes());
        bytes.push(to_byte(&NEWLINES, options.newline));
        bytes.push(to_byte(&LINE_BREAKS, options.line_breaks));
        bytes.extend_from_slice(pattern);
        Key { options: *options, bytes }
    }

    /// The pattern that these bytes stand for.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        let (head, _) = bytes.split_at_checked(HEAD)?;
        let &[high, low, newline, line_breaks] = head.strip_prefix(MAGIC)? else { return None };
        let bits = u16::from_be_bytes([high, low]);
        let mut options = CompileOptions::default();
        for (index, flag) in flags(&mut options).into_iter().enumerate() {
            *flag = bits & 1 << index != 0;
        }
        options.newline = from_byte(&NEWLINES, newline)?;
        options.line_breaks = from_byte(&LINE_BREAKS, line_breaks)?;
        Some(Key { options, bytes: bytes.to_vec() })
    }

    /// Overrides what ends a line, where something is given.
    pub fn set_line_ends(&mut self, newline: Option<Newline>, line_breaks: Option<LineBreaks>) {
        if newline.is_some() || line_breaks.is_some() {
            let newline = newline.or(self.options.newline);
            let line_breaks = line_breaks.or(self.options.line_breaks);
            *self = Key::new(&CompileOptions { newline, line_breaks, ..self.options }, self.pattern());
        }
    }

    /// The options.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// What stands for the pattern in a term.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn pattern(&self) -> &[u8] {
        &self.bytes[HEAD..]
    }
}

thread_local! {
    static COMPILED: RefCell<HashMap<Vec<u8>, Rc<Regex>>> = RefCell::new(HashMap::new());
}

/// The compiled code of a pattern.
///
/// # Errors
/// What is wrong with the pattern.
pub fn compiled(key: &Key) -> Result<Rc<Regex>, CompileError> {
    COMPILED.with_borrow_mut(|kept| {
        if let Some(regex) = kept.get(key.bytes()) {
            return Ok(regex.clone());
        }
        let regex = Rc::new(Regex::new(key.pattern(), key.options())?);
        if kept.len() == KEPT {
            kept.clear();
        }
        kept.insert(key.bytes().to_vec(), regex.clone());
        Ok(regex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_all_of_a_pattern() {
        let options = CompileOptions {
            unicode: true,
            no_start_optimize: true,
            newline: Some(Newline::Any),
            line_breaks: Some(LineBreaks::AnyCrlf),
            ..CompileOptions::default()
        };
        let key = Key::new(&options, b"a+");
        let again = Key::from_bytes(key.bytes()).unwrap();
        assert_eq!((again.options(), again.pattern()), (&options, &b"a+"[..]));
        assert!(Key::from_bytes(b"ERCP....").is_none());
        assert!(Key::from_bytes(b"ARE1\0\0\x07\0").is_none());
    }
}
