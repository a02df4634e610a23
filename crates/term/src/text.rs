//! Terms as text, as the machine itself prints them (`erlang:display/1`, crash reports).
//!
//! Large maps are printed as maps in the order of the iterator; `erlang:display/1` of OTP shows their nodes instead.

use std::fmt::Write;

use num_bigint::BigUint;
use smallvec::SmallVec;

use crate::atoms::atom_name;
use crate::map::MapIter;
use crate::view::{Bits, External, ExternalKind, View};
use crate::word::{Term, pid_parts};

/// How floats are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// With six decimals and an exponent, as `erlang:display/1` does.
    Scientific,
    /// With the fewest digits that read back as the same float, as `io:format("~w")` does.
    Shortest,
}

/// How terms are written.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// Style of floats.
    pub floats: Floats,
    /// Whether lists of printable characters and printable binaries are written as strings.
    pub strings: bool,
    /// Most bytes written before the rest is left out as `...` (an atom or number begun is finished).
    pub limit: usize,
    /// Levels of nesting below which terms are left out as `...`.
    pub depth: usize,
}

impl Default for TextOptions {
    /// As `erlang:display/1`: without limits.
    fn default() -> TextOptions {
        TextOptions { floats: Floats::Scientific, strings: true, limit: usize::MAX, depth: usize::MAX }
    }
}

/// The text of a term as `erlang:display/1` writes it.
pub fn to_string(term: Term) -> String {
    let mut out = String::new();
    write(&mut out, term, TextOptions::default());
    out
}

/// What remains to be written.
enum Task<'h> {
    Text(&'static str),
    Term(&'h Term, usize),
    /// Elements, each with a separator in front, and the bracket behind the last one.
    Terms(&'h [Term], usize, &'static str),
    /// Tail of a list whose elements before it are written.
    Tail(&'h Term, usize),
    Pairs(Box<MapIter<'h>>, usize, &'static str),
}

type Tasks<'h> = SmallVec<[Task<'h>; 8]>;

/// Appends the text of a term.
pub fn write(out: &mut String, term: Term, options: TextOptions) {
    let end = out.len().saturating_add(options.limit);
    let mut tasks = Tasks::new();
    tasks.push(Task::Term(&term, 0));
    while let Some(task) = tasks.pop() {
        if out.len() >= end {
            out.push_str("...");
            return;
        }
        match task {
            Task::Text(text) => out.push_str(text),
            Task::Term(_, depth) if depth > options.depth => out.push_str("..."),
            Task::Term(term, depth) => one(out, term, depth, options, end, &mut tasks),
            Task::Terms([], _, bracket) => out.push_str(bracket),
            Task::Terms([first, rest @ ..], depth, bracket) => {
                out.push(',');
                tasks.push(Task::Terms(rest, depth, bracket));
                tasks.push(Task::Term(first, depth));
            }
            Task::Tail(tail, depth) => {
                if tail.is_cons() {
                    let [head, tail] = tail.cons_cell();
                    out.push(',');
                    tasks.push(Task::Tail(tail, depth));
                    tasks.push(Task::Term(head, depth));
                } else if tail.is_nil() {
                    out.push(']');
                } else {
                    out.push('|');
                    tasks.push(Task::Text("]"));
                    tasks.push(Task::Term(tail, depth));
                }
            }
            Task::Pairs(mut pairs, depth, separator) => match pairs.next_in_place() {
                None => out.push('}'),
                Some((key, value)) => {
                    out.push_str(separator);
                    tasks.push(Task::Pairs(pairs, depth, ","));
                    tasks.push(Task::Term(value, depth));
                    tasks.push(Task::Text("=>"));
                    tasks.push(Task::Term(key, depth));
                }
            },
        }
    }
}

fn one<'h>(out: &mut String, term: &'h Term, depth: usize, options: TextOptions, end: usize, tasks: &mut Tasks<'h>) {
    match term.view() {
        View::Small(value) => put(out, format_args!("{value}")),
        View::Big(big) => {
            let digits: Vec<u32> = big.limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]).collect();
            put(out, format_args!("{}{}", if big.negative { "-" } else { "" }, BigUint::from_slice(&digits)));
        }
        View::Float(value) => match options.floats {
            Floats::Scientific => out.push_str(&float_scientific(value, 6)),
            Floats::Shortest => out.push_str(&float_shortest(value)),
        },
        View::Atom(atom) => write_atom(out, atom_name(atom)),
        View::Nil => out.push_str("[]"),
        View::Cons(..) if options.strings && is_printable_list(*term) => {
            write_string(out, std::iter::successors(Some(*term), |cell| cell.is_cons().then(|| cell.tail())), end);
        }
        View::Cons(..) => {
            let [head, tail] = term.cons_cell();
            out.push('[');
            tasks.push(Task::Tail(tail, depth + 1));
            tasks.push(Task::Term(head, depth + 1));
        }
        View::Tuple(elements) => {
            out.push('{');
            match elements {
                [] => out.push('}'),
                [first, rest @ ..] => {
                    tasks.push(Task::Terms(rest, depth + 1, "}"));
                    tasks.push(Task::Term(first, depth + 1));
                }
            }
        }
        View::Map(_) => {
            out.push_str("#{");
            tasks.push(Task::Pairs(Box::new(MapIter::new(term)), depth + 1, ""));
        }
        View::Bits(bits) => write_bits(out, bits, options.strings, end),
        View::Fun(fun) => {
            out.push_str("#Fun<");
            write_atom(out, atom_name(fun.entry.module));
            put(out, format_args!(".{}.{}>", fun.entry.index, fun.entry.old_unique));
        }
        View::ExternalFun(export) => {
            out.push_str("fun ");
            write_atom(out, atom_name(export.module));
            out.push(':');
            write_atom(out, atom_name(export.name));
            put(out, format_args!("/{}", export.arity));
        }
        View::Pid(data) => {
            let (number, serial) = pid_parts(data);
            write_identifier(out, ExternalKind::Pid, 0, &[number, serial]);
        }
        View::Port(data) => write_identifier(out, ExternalKind::Port, 0, &[data]),
        View::Reference(reference) => {
            write_identifier(out, ExternalKind::Reference, 0, &reference.numbers().map(u64::from));
        }
        View::External(External { kind, node, data, .. }) => {
            write_identifier(out, kind, node.atom_index(), data);
        }
        View::Internal => put(out, format_args!("#Internal<{:#x}>", term.word())),
    }
}

fn put(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

/// `<N.D.D>`, `#Port<N.D>` or `#Ref<N.D.D.D>`; numbers of a reference are written last one first.
fn write_identifier(out: &mut String, kind: ExternalKind, node: u32, data: &[u64]) {
    let name = match kind {
        ExternalKind::Pid => "",
        ExternalKind::Port => "#Port",
        ExternalKind::Reference => "#Ref",
    };
    put(out, format_args!("{name}<{node}"));
    let mut number = |number: &u64| put(out, format_args!(".{number}"));
    match kind {
        ExternalKind::Reference => data.iter().rev().for_each(&mut number),
        _ => data.iter().for_each(&mut number),
    }
    out.push('>');
}

/// Whether a byte is a lower-case letter, an upper-case letter or printable in Latin-1.
fn is_lower(code: u32) -> bool {
    matches!(code, 0x61..=0x7a | 0xdf..=0xf6 | 0xf8..=0xff)
}

fn is_upper(code: u32) -> bool {
    matches!(code, 0x41..=0x5a | 0xc0..=0xd6 | 0xd8..=0xde)
}

fn is_printable(code: u32) -> bool {
    matches!(code, 0x20..=0x7e | 0xa0..=0xff)
}

fn is_space(code: u32) -> bool {
    matches!(code, 0x20 | 0x0a | 0x09 | 0x0d)
}

fn is_printable_list(mut list: Term) -> bool {
    while list.is_cons() {
        let code = list.head().as_small().and_then(|code| u32::try_from(code).ok());
        if !code.is_some_and(|code| is_printable(code) || is_space(code)) {
            return false;
        }
        list = list.tail();
    }
    list.is_nil()
}

fn write_string(out: &mut String, cells: impl Iterator<Item = Term>, end: usize) {
    out.push('"');
    for cell in cells.take_while(|cell| cell.is_cons()) {
        if out.len() >= end {
            out.push_str("...");
            break;
        }
        match cell.head().small_value() as u8 {
            b'\n' => out.push_str("\\n"),
            b'"' => out.push_str("\\\""),
            code => out.push(char::from(code)),
        }
    }
    out.push('"');
}

/// Appends an atom, in quotes unless it is a lower-case letter followed by letters, digits and underscores.
pub fn write_atom(out: &mut String, name: &str) {
    let mut characters = name.chars().map(u32::from);
    let plain = characters.next().is_some_and(is_lower)
        && characters.all(|code| is_lower(code) || is_upper(code) || matches!(code, 0x30..=0x39 | 0x5f));
    if plain {
        out.push_str(name);
        return;
    }
    out.push('\'');
    for character in name.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\x0c' => out.push_str("\\f"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            _ if character.is_control() => put(out, format_args!("\\{:03o}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('\'');
}

fn write_bits(out: &mut String, bits: Bits, strings: bool, end: usize) {
    let whole = bits.length() / 8;
    let rest = bits.length() % 8;
    let bytes = bits.to_bytes();
    if strings && rest == 0 && whole > 0 && bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e)) {
        out.push_str("<<\"");
        for byte in bytes.iter() {
            if out.len() >= end {
                out.push_str("...");
                break;
            }
            match byte {
                b'"' => out.push_str("\\\""),
                byte => out.push(char::from(*byte)),
            }
        }
        out.push_str("\">>");
        return;
    }
    out.push_str("<<");
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if out.len() >= end {
            out.push_str("...");
            break;
        }
        if index < whole {
            put(out, format_args!("{byte}"));
        } else {
            put(out, format_args!("{}:{rest}", byte >> (8 - rest)));
        }
    }
    out.push_str(">>");
}

/// A float with so many decimals and an exponent of at least two digits: `1.000000e-05`.
pub fn float_scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The digits of a positive float, and the exponent of the first one.
fn shortest_digits(value: f64) -> (String, i32) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading_zeros = digits.len() - digits.trim_start_matches('0').len();
    let exponent = exponent.parse().unwrap_or(0) + whole.len() as i32 - 1 - leading_zeros as i32;
    match digits.trim_matches('0') {
        "" => ("0".into(), 0),
        digits => (digits.into(), exponent),
    }
}

/// From here on floats are always written with an exponent, because the digits of the integer would not all be known.
const EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A float with the fewest digits that read back as the same float: the shorter of `0.001` and `1.0e-3`.
pub fn float_shortest(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (digits, exponent) = shortest_digits(value.abs());
    let (first, rest) = digits.split_at(1);
    let scientific = format!("{sign}{first}.{}e{exponent}", if rest.is_empty() { "0" } else { rest });
    if value.abs() >= EXACT_WHOLE {
        return scientific;
    }
    let decimal = match usize::try_from(exponent) {
        // Exponents of floats are small, so these zeros are few.
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Ok(exponent) if exponent < rest.len() => {
            let (whole, fraction) = digits.split_at(exponent + 1);
            format!("{sign}{whole}.{fraction}")
        }
        Ok(exponent) => format!("{sign}{digits}{}.0", "0".repeat(exponent - rest.len())),
    };
    if decimal.len() <= scientific.len() { decimal } else { scientific }
}
