//! Terms in a crash dump, in the form that OTP's viewer reads: each object of a heap is a line with its address, and
//! objects name others by theirs.

use std::collections::HashSet;
use std::fmt::Write;

use atoll_etf::{EncodeOptions, encode, encoded_size};
use atoll_process::{Own, inspect};
use atoll_term::{Term, View, Word, atoms, text, this_node};

/// Most objects of one process.
const OBJECTS: usize = 20_000;
/// Most bytes of one object.
const OBJECT_BYTES: usize = 64 << 10;
/// Most words of a stack.
const STACK_WORDS: usize = 4_096;

/// What was found of one process.
#[derive(Default)]
pub struct Terms {
    /// The parts of the dump: messages, dictionary, stack.
    pub messages: String,
    /// Entries of the dictionary.
    pub dictionary: String,
    /// Return addresses, and what stands between them.
    pub stack: String,
    /// Objects that the others mention.
    pub heap: String,
    seen: HashSet<u64>,
    open: Vec<Term>,
    /// Tuples that stand in the dump alone.
    made: u64,
}

/// Terms of a process that does not run. Its memory must be as a process sees it, not in the middle of a collection.
pub fn terms_of(own: &Own) -> Terms {
    let mut terms = Terms::default();
    own.mailbox.each(|message| {
        let shown = terms.mention(message.term());
        let _ = writeln!(terms.messages, "{shown}:N");
    });
    for (key, value) in own.rare.iter().flat_map(|rare| rare.dictionary.entries()) {
        let (key, value) = (terms.mention(*key), terms.mention(*value));
        // No object lies this low.
        terms.made += 8;
        let _ = writeln!(terms.dictionary, "H{:X}", terms.made);
        let _ = writeln!(terms.heap, "{:X}:t2:{key},{value}", terms.made);
    }
    let (mut slot, mut words) = (0, 0);
    inspect::each_stack_word(own, &mut |word| {
        words += 1;
        if let Some(address) = inspect::return_address(word) {
            slot = 0;
            terms.stack.push_str(&return_line(address));
        } else {
            let shown = match word.is_catch_mark() {
                true => format!("SCatch {:#X}", word.catch_address()),
                false => terms.mention(word),
            };
            let _ = writeln!(terms.stack, "y{slot}:{shown}");
            slot += 1;
        }
        words < STACK_WORDS
    });
    terms.write_objects();
    terms
}

/// A return address as a line of a stack; nothing if it is none of loaded code.
pub fn return_line(address: *const Word) -> String {
    let Some(frame) = atoll_code::frame_of(address) else { return String::new() };
    let place = format!("{}:{}/{} + 0", show(frame.module), show(frame.name), frame.arity);
    format!("{0:#018x}:SReturn addr {0:#X} ({place})\n", address.addr())
}

fn show(term: Term) -> String {
    text::to_string(term)
}

impl Terms {
    /// A term as others name it; an object is written later.
    fn mention(&mut self, term: Term) -> String {
        if term.is_none() {
            return "N".to_owned();
        }
        match term.view() {
            View::Small(value) => format!("I{value}"),
            View::Atom(_) => atom(atoms::atom_name(term)),
            View::Pid(_) => format!("P{}", show(term)),
            View::Port(_) => format!("p{}", show(term)),
            View::Nil | View::Internal => "N".to_owned(),
            _ => {
                self.open.push(term);
                format!("H{:X}", term.pointer().addr())
            }
        }
    }

    fn write_objects(&mut self) {
        while let Some(term) = self.open.pop() {
            let address = term.pointer().addr();
            if self.seen.len() >= OBJECTS || !self.seen.insert(address as u64) {
                continue;
            }
            let shown = match term.view() {
                View::Cons(head, tail) => format!("l{}|{}", self.mention(head), self.mention(tail)),
                View::Tuple(elements) => {
                    let shown: Vec<String> = elements.iter().map(|element| self.mention(*element)).collect();
                    format!("t{:X}:{}", elements.len(), shown.join(","))
                }
                View::Float(_) => sized('F', &show(term)),
                View::Big(_) => format!("B{}", show(term)),
                View::Bits(bits) if bits.is_binary() && bits.byte_length() <= OBJECT_BYTES => {
                    let bytes = bits.to_bytes();
                    format!("Yh{:X}:{}", bytes.len(), base_64(&bytes))
                }
                _ => external(term),
            };
            let _ = writeln!(self.heap, "{address:X}:{shown}");
        }
    }
}

fn sized(kind: char, text: &str) -> String {
    format!("{kind}{:X}:{text}", text.len())
}

fn atom(name: &str) -> String {
    sized('A', name)
}

/// A term in the external format, or a word about why not.
fn external(term: Term) -> String {
    let (options, node) = (EncodeOptions::default(), this_node());
    match encoded_size(term, options, node) {
        Ok(size) if size <= OBJECT_BYTES => match encode(term, options, node) {
            Ok(bytes) => format!("E{:X}:{}", bytes.len(), base_64(&bytes)),
            Err(_) => format!("t1:{}", atom("not_shown")),
        },
        Ok(size) => format!("t2:{},I{size}", atom("too_large")),
        Err(_) => format!("t1:{}", atom("not_shown")),
    }
}

/// Bytes in base 64, with padding.
fn base_64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, index| bits << 8 | u32::from(group.get(index).copied().unwrap_or(0)));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base_64;

    #[test]
    fn base_64_pads() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base_64(bytes.as_bytes()), text);
        }
    }
}
