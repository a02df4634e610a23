//! Names of files, as programs write them and as the system gets them. Where the system's names are UTF-8, lists are
//! characters and binaries are bytes as they are; where they are Latin-1, characters are bytes.

use std::ffi::CString;
use std::sync::atomic::{AtomicU8, Ordering};

use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, View, atoms};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_file", "internal_name2native", 1, name_to_native),
    BuiltIn::new("prim_file", "internal_native2name", 1, native_to_name),
    BuiltIn::new("prim_file", "internal_normalize_utf8", 1, normalize),
    BuiltIn::new("prim_file", "is_translatable", 1, is_translatable),
    BuiltIn::new("file", "native_name_encoding", 0, native_name_encoding),
];

static IGNORE: LazyAtom = LazyAtom::new("ignore");
static WARNING: LazyAtom = LazyAtom::new("warning");

/// What is done about names that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// Names are bytes (`+fnl`).
    Latin1,
    /// Names are UTF-8; others are left out with a warning (`+fnuw`).
    Warn,
    /// Names are UTF-8; others are left out (`+fnui`).
    Ignore,
    /// Names are UTF-8; others are errors (`+fnue`).
    Error,
}

impl Encoding {
    /// What the user's environment asks for.
    pub fn of_environment() -> Encoding {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let codeset = locale.split('.').nth(1).unwrap_or_default().to_ascii_lowercase();
        if codeset.starts_with("utf-8") || codeset.starts_with("utf8") { Encoding::Warn } else { Encoding::Latin1 }
    }
}

/// As the number of an [`Encoding`].
static ENCODING: AtomicU8 = AtomicU8::new(Encoding::Warn as u8);

/// Sets the encoding of file names, before the first is used.
pub fn set_encoding(encoding: Encoding) {
    ENCODING.store(encoding as u8, Ordering::Relaxed);
}

fn encoding() -> Encoding {
    let all = [Encoding::Latin1, Encoding::Warn, Encoding::Ignore];
    all.into_iter().find(|one| *one as u8 == ENCODING.load(Ordering::Relaxed)).unwrap_or(Encoding::Error)
}

/// The bytes of a name: an encoded list of characters, which may be nested, or a binary.
pub fn native_bytes(name: Term) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(bits) = name.bits() {
        bytes.extend_from_slice(&bits.to_bytes());
        if !bits.is_binary() {
            return None;
        }
    } else {
        let mut later = vec![name];
        while let Some(term) = later.pop() {
            match term.view() {
                View::Nil => {}
                View::Cons(head, tail) => {
                    later.push(tail);
                    later.push(head);
                }
                View::Small(character) => push_character(&mut bytes, character)?,
                _ => return None,
            }
            // The end of a list is no character.
            if term.is_cons() && term.tail().is_small() {
                return None;
            }
        }
        if name.is_small() {
            return None;
        }
    }
    (!bytes.contains(&0)).then_some(bytes)
}

fn push_character(bytes: &mut Vec<u8>, character: i64) -> Option<()> {
    if encoding() == Encoding::Latin1 {
        bytes.push(u8::try_from(character).ok()?);
    } else {
        let character = char::from_u32(u32::try_from(character).ok()?)?;
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Some(())
}

/// The name as programs see it; `None` if it cannot be shown.
pub fn shown(caller: &mut Caller<'_>, bytes: &[u8]) -> Option<Term> {
    if encoding() == Encoding::Latin1 {
        return Some(caller.heap().list(bytes.iter().map(|byte| Term::small(i64::from(*byte)))));
    }
    let text = str::from_utf8(bytes).ok()?;
    Some(caller.heap().string(text))
}

fn name_to_native(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut bytes = native_bytes(arguments[0]).ok_or_else(badarg)?;
    bytes.push(0);
    Ok(caller.heap().binary(&bytes))
}

fn native_to_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    if let Some(name) = shown(caller, &bits.to_bytes()) {
        return Ok(name);
    }
    let reason = match encoding() {
        Encoding::Warn => WARNING.get(),
        Encoding::Ignore => IGNORE.get(),
        Encoding::Latin1 | Encoding::Error => atoms::ERROR,
    };
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

fn normalize(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    let bytes = bits.to_bytes();
    let text: String = str::from_utf8(&bytes).map_err(|_| badarg())?.nfc().collect();
    Ok(caller.heap().string(&text))
}

fn is_translatable(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    Ok(Term::boolean(encoding() == Encoding::Latin1 || str::from_utf8(&bits.to_bytes()).is_ok()))
}

fn native_name_encoding(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(if encoding() == Encoding::Latin1 { atoms::LATIN1 } else { atoms::UTF8 })
}

/// A path argument of a native function: a binary that ends in zeros and has none before.
pub fn path(term: Term) -> Result<CString, Errno> {
    let bits = term.bits().filter(|bits| bits.is_binary()).ok_or(Errno::INVAL)?;
    let bytes = bits.to_bytes();
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::INVAL)?;
    let (name, zeros) = bytes.split_at(end);
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(Errno::INVAL);
    }
    CString::new(name).map_err(|_| Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use atoll_term::ScratchHeap;

    use super::*;

    #[test]
    fn names_become_bytes_as_the_system_wants_them() {
        let mut heap = ScratchHeap::new();
        let inner = heap.string("b\u{12c}");
        let nested = heap.list([Term::small(97), inner]);
        assert_eq!(native_bytes(nested).as_deref(), Some("ab\u{12c}".as_bytes()));
        assert_eq!(native_bytes(Term::NIL).as_deref(), Some(&b""[..]));
        for wrong in [heap.string("a\0b"), heap.list([Term::small(0xd800)]), Term::small(1), atoms::OK] {
            assert_eq!(native_bytes(wrong), None);
        }
        let improper = heap.cons(Term::small(97), Term::small(98));
        assert_eq!(native_bytes(improper), None);
    }

    #[test]
    fn paths_end_in_zeros() {
        let mut heap = ScratchHeap::new();
        assert_eq!(path(heap.binary(b"ab\0\0")).as_deref(), Ok(c"ab"));
        for wrong in [&b"ab"[..], b"a\0b\0"] {
            assert_eq!(path(heap.binary(wrong)), Err(Errno::INVAL));
        }
    }
}
