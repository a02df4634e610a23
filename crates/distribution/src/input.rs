//! What comes from another node: packets are taken apart, fragments put together, terms decoded.

use std::collections::HashMap;

use atoll_code::Resolver;
use atoll_etf::{DecodeError, decode_behind_header, decode_held};
use atoll_platform::allocator::may_fail;
use atoll_term::{HeldBinary, ScratchHeap, Term};

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
    bytes: HeldBinary,
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
    /// Bytes that are reserved for incomplete messages.
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
                if self.partial.len() >= MOST_PARTIAL || self.partial.contains_key(&sequence) {
                    return Err(Fault::Malformed);
                }
                // All fragments but the last are as long as the first. Room is for all of them from the beginning: to
                // move what has come to a larger one would hold up whatever else comes through the connection.
                let whole = usize::try_from(left).unwrap_or(usize::MAX).saturating_mul(bytes.len());
                let bytes = self.room(bytes, &[], whole)?;
                self.partial.insert(sequence, Partial { atoms, bytes, next: left - 1 });
                Ok(None)
            }
            [VERSION, NEXT_FRAGMENT, rest @ ..] => {
                let (sequence, rest) = number(rest)?;
                let (left, bytes) = number(rest)?;
                let mut partial = self.partial.remove(&sequence).ok_or(Fault::Malformed)?;
                if partial.next != left {
                    return Err(Fault::Malformed);
                }
                if !partial.bytes.append(bytes) {
                    self.held -= partial.bytes.capacity();
                    partial.bytes = self.room(partial.bytes.bytes(), bytes, partial.bytes.capacity() * 2)?;
                }
                partial.next -= 1;
                if partial.next > 0 {
                    self.partial.insert(sequence, partial);
                    return Ok(None);
                }
                self.held -= partial.bytes.capacity();
                received_held(&partial.bytes, &partial.atoms).map(Some)
            }
            _ => Err(Fault::Malformed),
        }
    }

    /// Memory for an incomplete message, which is counted, with these bytes in it; for `wanted` bytes if there may be
    /// so many.
    fn room(&mut self, first: &[u8], second: &[u8], wanted: usize) -> Result<HeldBinary, Fault> {
        let (needed, left) = (first.len() + second.len(), self.most - self.held);
        if needed > left {
            return Err(Fault::TooMuch);
        }
        let capacity = wanted.clamp(needed, left);
        let mut room = may_fail(|| HeldBinary::with_room(capacity)).ok_or(Fault::TooMuch)?;
        self.held += capacity;
        if room.append(first) && room.append(second) { Ok(room) } else { Err(Fault::TooMuch) }
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

/// As [`received`]; a large binary in the payload keeps the bytes instead of being copied.
fn received_held(bytes: &HeldBinary, atoms: &[Term]) -> Result<Received, Fault> {
    let mut heap = ScratchHeap::new();
    let (control, taken) = decode_behind_header(bytes.bytes(), atoms, &mut Resolver, &mut heap)?;
    let payload = match control::has_payload(kind(control)?) {
        true => decode_held(bytes, taken, atoms, &mut Resolver, &mut heap)?.0,
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
    fn a_binary_that_fills_its_message_is_not_copied() {
        let contents: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut input = Input::default();
        let first = [&[109, 0, 0, 3, 232][..], &contents[..400]].concat();
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 3, &[&HEAD, &SEND, &first])).is_ok_and(|one| one.is_none()));
        assert!(input.packet(&fragment(NEXT_FRAGMENT, 2, &[&contents[400..800]])).is_ok_and(|one| one.is_none()));
        let whole = input.packet(&fragment(NEXT_FRAGMENT, 1, &[&contents[800..]])).ok().flatten().expect("a message");
        assert_eq!(whole.payload.bits().and_then(|bits| bits.aligned_bytes()), Some(&contents[..]));
        let under = whole.payload.boxed_terms()[2];
        let room = under.off_heap_binary().map(|binary| (binary.owners(), binary.used()));
        assert_eq!(room, Some((1, SEND.len() + 5 + contents.len())), "it is part of the message");
        // Two that fill half of it each are.
        let half = [&[109, 0, 0, 1, 244][..], &contents[..500]].concat();
        let list = [&[108, 0, 0, 0, 2][..], &half, &half, &[106]].concat();
        assert!(
            input.packet(&fragment(FIRST_FRAGMENT, 2, &[&HEAD, &SEND, &list[..600]])).is_ok_and(|one| one.is_none())
        );
        let whole = input.packet(&fragment(NEXT_FRAGMENT, 1, &[&list[600..]])).ok().flatten().expect("a message");
        let under = whole.payload.head().off_heap_binary().map(|binary| binary.used());
        assert_eq!(under, Some(500));
        assert_eq!(input.held, 0);
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
    fn a_long_message_is_not_moved_while_it_comes() {
        let mut input = Input { most: 1 << 30, ..Input::default() };
        let part = vec![0; 64 << 10];
        assert!(input.packet(&fragment(FIRST_FRAGMENT, 2000, &[&HEAD, &part])).is_ok_and(|one| one.is_none()));
        assert_eq!(input.held, 2000 * part.len());
        // One that claims more than there may be has what is left.
        let mut claims = fragment(FIRST_FRAGMENT, u64::MAX, &[&HEAD, &part]);
        claims[2] = 1;
        assert!(input.packet(&claims).is_ok_and(|one| one.is_none()));
        assert_eq!(input.held, input.most);
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
