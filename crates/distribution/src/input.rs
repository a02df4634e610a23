//! What comes from another node: packets are taken apart, fragments put together, terms decoded.

use std::collections::HashMap;

use atoll_code::Resolver;
use atoll_etf::{DecodeError, decode_behind_header};
use atoll_term::{ScratchHeap, Term};

use crate::atom_cache::{AtomCache, BadHeader};
use crate::control;
use crate::form::{FIRST_FRAGMENT, HEADED, NEXT_FRAGMENT, PASS_THROUGH, VERSION};

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A packet is none.
    Malformed,
    /// The packets ask for more atoms than there may be.
    TooManyAtoms,
    /// Incomplete messages have more bytes than there is room for.
    TooMuch,
}

impl From<BadHeader> for Fault {
    fn from(error: BadHeader) -> Fault {
        match error {
            BadHeader::Malformed => Fault::Malformed,
            BadHeader::TooManyAtoms => Fault::TooManyAtoms,
        }
    }
}

impl From<DecodeError> for Fault {
    fn from(error: DecodeError) -> Fault {
        match error {
            DecodeError::TooManyAtoms => Fault::TooManyAtoms,
            DecodeError::Malformed | DecodeError::Unsafe => Fault::Malformed,
        }
    }
}

/// A control message and its payload, on a heap of their own.
pub struct Received {
    /// Holds both.
    _heap: ScratchHeap,
    /// The control message.
    pub control: Term,
    /// The payload, or `NONE`.
    pub payload: Term,
}

/// Fragments of a message that is not complete.
struct Partial {
    atoms: Vec<Term>,
    bytes: Vec<u8>,
    /// Number of the fragment that comes next.
    next: u64,
}

/// Messages that may be incomplete at the same time. A node sends at most one for each of its processes; one that sends
/// more wants to fill this node's memory.
const MOST_PARTIAL: usize = 1 << 16;

/// The part of the machine's memory that incomplete messages of one connection may have.
const PART_OF_MEMORY: usize = 4;

/// The receiving side of one connection.
pub struct Input {
    cache: AtomCache,
    partial: HashMap<u64, Partial>,
    /// Bytes of incomplete messages.
    held: usize,
    /// The most that they may have.
    most: usize,
}

impl Default for Input {
    fn default() -> Input {
        let most = atoll_platform::machine_bytes() / PART_OF_MEMORY;
        Input { cache: AtomCache::default(), partial: HashMap::new(), held: 0, most }
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), Fault> {
    let (word, rest) = bytes.split_first_chunk().ok_or(Fault::Malformed)?;
    Ok((u64::from_be_bytes(*word), rest))
}

impl Input {
    /// Takes a packet; a message if one is complete with it.
    ///
    /// # Errors
    /// The packet is none. The connection is to be ended.
    pub fn packet(&mut self, packet: &[u8]) -> Result<Option<Received>, Fault> {
        match packet {
            // A tick: the other side is alive.
            [] => Ok(None),
            [PASS_THROUGH, terms @ ..] => received_plain(terms).map(Some),
            [VERSION, HEADED, rest @ ..] => {
                let (atoms, taken) = self.cache.read(rest)?;
                received(&rest[taken..], &atoms).map(Some)
            }
            [VERSION, FIRST_FRAGMENT, rest @ ..] => {
                let (sequence, rest) = number(rest)?;
                let (left, rest) = number(rest)?;
                let (atoms, taken) = self.cache.read(rest)?;
                let bytes = &rest[taken..];
                if left <= 1 {
                    return if left == 1 { received(bytes, &atoms).map(Some) } else { Err(Fault::Malformed) };
                }
                self.hold(bytes.len())?;
                let partial = Partial { atoms, bytes: bytes.to_vec(), next: left - 1 };
                if self.partial.len() >= MOST_PARTIAL || self.partial.insert(sequence, partial).is_some() {
                    return Err(Fault::Malformed);
                }
                Ok(None)
            }
            [VERSION, NEXT_FRAGMENT, rest @ ..] => {
                let (sequence, rest) = number(rest)?;
                let (left, bytes) = number(rest)?;
                self.hold(bytes.len())?;
                let partial = self.partial.get_mut(&sequence).filter(|partial| partial.next == left);
                let partial = partial.ok_or(Fault::Malformed)?;
                partial.bytes.extend_from_slice(bytes);
                partial.next -= 1;
                if partial.next > 0 {
                    return Ok(None);
                }
                let whole = self.partial.remove(&sequence).ok_or(Fault::Malformed)?;
                self.held -= whole.bytes.len();
                received(&whole.bytes, &whole.atoms).map(Some)
            }
            _ => Err(Fault::Malformed),
        }
    }

    /// Counts bytes of an incomplete message.
    fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        self.held += bytes;
        if self.held > self.most { Err(Fault::TooMuch) } else { Ok(()) }
    }
}

/// The number of a control message: its first element.
fn kind(control: Term) -> Result<i64, Fault> {
    control.tuple_elements().and_then(|elements| elements.first()?.as_small()).ok_or(Fault::Malformed)
}

fn received(bytes: &[u8], atoms: &[Term]) -> Result<Received, Fault> {
    let mut heap = ScratchHeap::new();
    let (control, taken) = decode_behind_header(bytes, atoms, &mut Resolver, &mut heap)?;
    let rest = &bytes[taken..];
    let payload = match control::has_payload(kind(control)?) {
        true => decode_behind_header(rest, atoms, &mut Resolver, &mut heap)?.0,
        false => Term::NONE,
    };
    Ok(Received { _heap: heap, control, payload })
}

fn received_plain(bytes: &[u8]) -> Result<Received, Fault> {
    let mut heap = ScratchHeap::new();
    let [VERSION, bytes @ ..] = bytes else { return Err(Fault::Malformed) };
    let (control, taken) = decode_behind_header(bytes, &[], &mut Resolver, &mut heap)?;
    let payload = match control::has_payload(kind(control)?) {
        true => {
            let [VERSION, rest @ ..] = &bytes[taken..] else { return Err(Fault::Malformed) };
            decode_behind_header(rest, &[], &mut Resolver, &mut heap)?.0
        }
        false => Term::NONE,
    };
    Ok(Received { _heap: heap, control, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{1, a, b}` with the atoms in the header.
    const HEAD: [u8; 9] = [2, 0x88, 0, 1, 1, b'a', 2, 1, b'b'];
    const LINK: [u8; 8] = [104, 3, 97, 1, 82, 0, 82, 1];
    /// `{2, a, b}`, whose payload is still to come.
    const SEND: [u8; 8] = [104, 3, 97, 2, 82, 0, 82, 1];

    fn fragment(kind: u8, left: u64, rest: &[&[u8]]) -> Vec<u8> {
        [&[VERSION, kind][..], &9_u64.to_be_bytes(), &left.to_be_bytes(), &rest.concat()].concat()
    }

    #[test]
    fn a_packet_is_a_control_message_and_what_follows_it() {
        let mut input = Input::default();
        let link = input.packet(&[&[VERSION, HEADED][..], &HEAD, &LINK].concat()).ok().flatten().expect("a message");
        assert!(link.payload.is_none() && link.control.tuple_elements().is_some_and(|parts| parts.len() == 3));
        let send = input.packet(&[&[VERSION, HEADED][..], &HEAD, &SEND, &[97, 5]].concat()).ok().flatten();
        assert_eq!(send.expect("a message").payload, Term::small(5));
        let plain = input.packet(&[PASS_THROUGH, 131, 104, 2, 97, 2, 106, 131, 97, 6]).ok().flatten();
        assert_eq!(plain.expect("a message").payload, Term::small(6));
        assert!(input.packet(&[]).is_ok_and(|message| message.is_none()));
    }

    #[test]
    fn fragments_are_put_together() {
        let mut input = Input::default();
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 3, &[&HEAD, &SEND, &[107, 0]])).is_ok_and(|one| one.is_none()));
        assert!(input.packet(&fragment(NEXT_FRAGMENT, 2, &[&[2]])).is_ok_and(|one| one.is_none()));
        let whole = input.packet(&fragment(NEXT_FRAGMENT, 1, &[&[7, 8]])).ok().flatten().expect("a message");
        assert!(whole.payload.is_cons() && whole.payload.head() == Term::small(7));
        // Nothing is left of it, so what follows is of nothing.
        assert_eq!(input.packet(&fragment(NEXT_FRAGMENT, 1, &[&[7]])).err(), Some(Fault::Malformed));
    }

    #[test]
    fn incomplete_messages_have_so_many_bytes_and_no_more() {
        let mut input = Input { most: 10, ..Input::default() };
        for _ in 0..3 {
            // 10 bytes are held until the message is complete, and none afterwards.
            assert!(input.packet(&fragment(FIRST_FRAGMENT, 2, &[&HEAD, &SEND])).is_ok_and(|one| one.is_none()));
            assert!(input.packet(&fragment(NEXT_FRAGMENT, 1, &[&[97, 5]])).is_ok_and(|one| one.is_some()));
        }
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 3, &[&HEAD, &SEND])).is_ok());
        assert_eq!(input.packet(&fragment(NEXT_FRAGMENT, 2, &[&[107, 0, 3]])).err(), Some(Fault::TooMuch));
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let whole = [&[VERSION, HEADED][..], &HEAD, &SEND, &[107, 0, 2, 7, 8]].concat();
        for length in 1..whole.len() {
            assert!(Input::default().packet(&whole[..length]).is_err(), "{length} bytes");
        }
        for packet in [&[0][..], &[VERSION], &[VERSION, 71, 0], &[PASS_THROUGH], &[VERSION, HEADED, 0, 106]] {
            assert!(Input::default().packet(packet).is_err(), "{packet:?}");
        }
        let mut input = Input::default();
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 0, &[&HEAD, &LINK])).is_err());
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 5, &[&HEAD, &LINK])).is_ok());
        // A number is left out.
        assert!(input.packet(&fragment(NEXT_FRAGMENT, 3, &[&[1]])).is_err());
    }
}
