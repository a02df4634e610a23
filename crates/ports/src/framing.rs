//! How a stream of bytes is cut into messages: as it comes, by a length in front, or by lines.

use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};

use crate::port::{Port, State};

/// The option `stream`, `{packet, N}` or `{line, N}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As it comes.
    #[default]
    Stream,
    /// A length of so many bytes in front.
    Packet(usize),
    /// Lines of at most so many bytes.
    Line(usize),
}

/// Bytes that do not make a message yet.
#[derive(Default)]
pub struct Frames {
    rest: Vec<u8>,
}

impl Frames {
    /// Sends the owner the messages that are complete with these bytes.
    pub fn receive(&mut self, port: &Port, state: &mut State, bytes: &[u8]) {
        match port.settings.framing {
            Framing::Stream => port.tell_data(state, bytes),
            Framing::Packet(head) => {
                self.rest.extend_from_slice(bytes);
                let mut from = 0;
                while let Some((length, behind)) = self.rest[from..].split_at_checked(head) {
                    let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                    let Some(packet) = behind.get(..length) else { break };
                    port.tell_data(state, packet);
                    from += head + length;
                }
                self.rest.drain(..from);
            }
            Framing::Line(longest) => {
                self.rest.extend_from_slice(bytes);
                let mut from = 0;
                loop {
                    let rest = &self.rest[from..];
                    match rest.iter().take(longest + 1).position(|byte| *byte == b'\n') {
                        Some(end) => {
                            tell_line(port, state, "eol", &rest[..end]);
                            from += end + 1;
                        }
                        None if rest.len() > longest => {
                            tell_line(port, state, "noeol", &rest[..longest]);
                            from += longest;
                        }
                        None => break,
                    }
                }
                self.rest.drain(..from);
            }
        }
    }

    /// There will be no more bytes: a last line without an end is sent.
    pub fn finish(&mut self, port: &Port, state: &mut State) {
        if matches!(port.settings.framing, Framing::Line(_)) && !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            tell_line(port, state, "noeol", &rest);
        }
    }
}

fn tell_line(port: &Port, state: &mut State, end: &str, line: &[u8]) {
    state.input += line.len() as u64;
    port.tell_owner(state, |heap| {
        let data = port.bytes_term(heap, line);
        let line = heap.tuple(&[known_atom(end), data]);
        heap.tuple(&[known_atom("data"), line])
    });
}

/// Puts the length in front of data; `None` if it does not fit there.
pub fn framed(framing: Framing, data: Vec<u8>) -> Option<Vec<u8>> {
    let Framing::Packet(head) = framing else { return Some(data) };
    let length = (data.len() as u64).to_be_bytes();
    let (above, shown) = length.split_at(8 - head);
    if above.iter().any(|byte| *byte != 0) {
        return None;
    }
    Some([shown, &data].concat())
}

/// The framing that a term of the settings says.
pub fn from_option(kind: Term, size: Term) -> Option<Framing> {
    let size = size.as_small()?;
    if kind == known_atom("packet") && matches!(size, 1 | 2 | 4) {
        Some(Framing::Packet(size as usize))
    } else if kind == known_atom("line") && size >= 0 {
        Some(Framing::Line(size as usize))
    } else {
        None
    }
}
