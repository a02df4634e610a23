//! Literal terms as Erlang text.

use std::fmt::{self, Write};

/// Terms nested deeper than this are cut.
const DEEPEST: usize = 32;

/// A term in the external term format, with the leading version byte. What is not understood is
/// shown as dots.
pub(super) struct External<'a>(pub(super) &'a [u8]);

impl fmt::Display for External<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut bytes = Bytes(self.0);
        if bytes.take(1) != Some(&[131]) || term(&mut bytes, &mut text, DEEPEST).is_none() {
            text.push_str("...");
        }
        f.write_str(&text)
    }
}

/// An atom, quoted where Erlang quotes it.
pub(super) struct Atom<'a>(pub(super) &'a str);

impl fmt::Display for Atom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.starts_with(|first: char| first.is_ascii_lowercase())
            && self.0.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '@');
        if plain {
            return f.write_str(self.0);
        }
        f.write_char('\'')?;
        for c in self.0.chars() {
            match c {
                '\'' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "\\x{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('\'')
    }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// An unsigned big-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<usize> {
        Some(self.take(size)?.iter().fold(0, |value, &byte| value << 8 | usize::from(byte)))
    }
}

/// Appends one term; none when it is damaged, unknown or too deep.
fn term(bytes: &mut Bytes<'_>, text: &mut String, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match bytes.number(1)? {
        97 => write!(text, "{}", bytes.number(1)?).ok(),
        98 => {
            let digits = bytes.take(4)?.try_into().ok()?;
            write!(text, "{}", i32::from_be_bytes(digits)).ok()
        }
        70 => {
            let digits = bytes.take(8)?.try_into().ok()?;
            write!(text, "{:?}", f64::from_be_bytes(digits)).ok()
        }
        size @ (110 | 111) => {
            let length = bytes.number(if size == 110 { 1 } else { 4 })?;
            let negative = bytes.number(1)? != 0;
            big(bytes.take(length)?, negative, text)
        }
        size @ (100 | 115 | 118 | 119) => {
            let length = bytes.number(if matches!(size, 115 | 119) { 1 } else { 2 })?;
            let name = bytes.take(length)?;
            if matches!(size, 118 | 119) {
                write!(text, "{}", Atom(std::str::from_utf8(name).ok()?)).ok()
            } else {
                let name: String = name.iter().copied().map(char::from).collect();
                write!(text, "{}", Atom(&name)).ok()
            }
        }
        size @ (104 | 105) => {
            let count = bytes.number(if size == 104 { 1 } else { 4 })?;
            text.push('{');
            terms(count, bytes, text, depth)?;
            text.push('}');
            Some(())
        }
        106 => text.write_str("[]").ok(),
        107 => {
            let length = bytes.number(2)?;
            characters(bytes.take(length)?, text)
        }
        108 => {
            let count = bytes.number(4)?;
            text.push('[');
            terms(count, bytes, text, depth)?;
            if bytes.0.first() == Some(&106) {
                bytes.take(1)?;
            } else {
                text.push('|');
                term(bytes, text, depth)?;
            }
            text.push(']');
            Some(())
        }
        109 => {
            let length = bytes.number(4)?;
            binary(bytes.take(length)?, 8, text)
        }
        77 => {
            let length = bytes.number(4)?;
            let last = bytes.number(1)?;
            binary(bytes.take(length)?, last, text)
        }
        116 => {
            let count = bytes.number(4)?;
            text.push_str("#{");
            for index in 0..count {
                separate(index, text);
                term(bytes, text, depth)?;
                text.push_str(" => ");
                term(bytes, text, depth)?;
            }
            text.push('}');
            Some(())
        }
        113 => {
            text.push_str("fun ");
            term(bytes, text, depth)?;
            text.push(':');
            term(bytes, text, depth)?;
            text.push('/');
            term(bytes, text, depth)
        }
        _ => None,
    }
}

fn terms(count: usize, bytes: &mut Bytes<'_>, text: &mut String, depth: usize) -> Option<()> {
    for index in 0..count {
        separate(index, text);
        term(bytes, text, depth)?;
    }
    Some(())
}

fn separate(index: usize, text: &mut String) {
    if index > 0 {
        text.push(',');
    }
}

/// A large integer from its little-endian magnitude: decimal if 128 bits hold it.
fn big(magnitude: &[u8], negative: bool, text: &mut String) -> Option<()> {
    if negative {
        text.push('-');
    }
    if magnitude.len() <= 16 {
        let value = magnitude.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte));
        return write!(text, "{value}").ok();
    }
    text.push_str("16#");
    magnitude.iter().rev().try_for_each(|byte| write!(text, "{byte:02X}")).ok()
}

/// A list of bytes, as a string if all are printable.
fn characters(bytes: &[u8], text: &mut String) -> Option<()> {
    if bytes.iter().all(|&byte| printable(byte)) {
        text.push('"');
        text.extend(bytes.iter().copied().map(char::from));
        text.push('"');
        return Some(());
    }
    text.push('[');
    for (index, byte) in bytes.iter().enumerate() {
        separate(index, text);
        write!(text, "{byte}").ok()?;
    }
    text.push(']');
    Some(())
}

/// A bitstring whose last byte has `last` bits.
fn binary(bytes: &[u8], last: usize, text: &mut String) -> Option<()> {
    if last == 8 && !bytes.is_empty() && bytes.iter().all(|&byte| printable(byte)) {
        text.push_str("<<\"");
        text.extend(bytes.iter().copied().map(char::from));
        text.push_str("\">>");
        return Some(());
    }
    text.push_str("<<");
    for (index, &byte) in bytes.iter().enumerate() {
        separate(index, text);
        if last < 8 && index + 1 == bytes.len() {
            write!(text, "{}:{last}", u32::from(byte) >> (8 - last)).ok()?;
        } else {
            write!(text, "{byte}").ok()?;
        }
    }
    text.push_str(">>");
    Some(())
}

fn printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(bytes: &[u8], text: &str) {
        assert_eq!(External(bytes).to_string(), text);
    }

    #[test]
    fn common_terms() {
        shows(b"\x83h\x02w\x02okk\0\x02ab", r#"{ok,"ab"}"#);
        shows(b"\x83l\0\0\0\x01a\x07w\x01X", "[7|'X']");
        shows(b"\x83t\0\0\0\x01w\x01am\0\0\0\x02hi", r#"#{a => <<"hi">>}"#);
        shows(b"\x83M\0\0\0\x02\x05\xff\x80", "<<255,16:5>>");
        shows(b"\x83n\x09\x01\0\0\0\0\0\0\0\0\x01", "-18446744073709551616");
        shows(b"\x83F\x3f\xf8\0\0\0\0\0\0", "1.5");
        shows(b"\x83qw\x05listsw\x03mapa\x02", "fun lists:map/2");
    }

    #[test]
    fn damaged_terms() {
        shows(b"\x83h\x02w\x02ok", "{ok,...");
        shows(b"", "...");
        shows(&[[131].as_slice(), &[104, 1].repeat(10_000)].concat(), &format!("{}...", "{".repeat(32)));
    }
}
