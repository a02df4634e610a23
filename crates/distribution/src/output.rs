//! What goes to another node and is not given to its carrier yet.
//!
//! **Invariant D2:** what one process sends through a connection leaves in the order in which it was sent. A message
//! that is longer than a fragment is sent in turns with everything else, so that it holds up nobody; what the same
//! sender sends behind it waits until it has left as a whole. The sender itself waits as well, so that no process that
//! it tells of its message can overtake it.
//!
//! **Invariant D3:** a header is made when its packet leaves, by the one thread that takes packets out, because it
//! changes the cache of atoms that the other side keeps in the same order.

use std::collections::{HashMap, VecDeque};

use atoll_etf::Pieces;
use atoll_term::Term;

use crate::atom_cache::AtomCache;
use crate::form::{FIRST_FRAGMENT, HEADED, NEXT_FRAGMENT, PASS_THROUGH, VERSION};

/// Bytes of a fragment's contents.
const FRAGMENT: usize = 64 * 1024;
/// Messages that leave in fragments at the same time. The other node has room for all of each from its first fragment
/// on, and there may be any number: a process that is killed while its message leaves does not hold up the next one.
const MOST_TURNS: usize = 64;
/// Bytes that are reserved for headers.
const MOST_HEADER: usize = 256;
/// Bytes of the length in front of each packet on a stream.
const LENGTH: usize = 4;

/// A control message and its payload, encoded.
#[derive(Debug)]
pub struct Item {
    /// Word of the sender's pid: see D2.
    pub sender: u64,
    /// The bytes.
    pub bytes: Pieces,
    /// Bytes of the control message, which are not split.
    pub control: usize,
    /// The atoms that the bytes refer to by numbers; `None`: they are written out, and version bytes stand in front of
    /// the terms.
    pub atoms: Option<Vec<Term>>,
}

/// An item that leaves in fragments.
struct Parts {
    item: Item,
    sent: usize,
    /// Number of the next fragment; the last one is 1.
    number: u64,
}

/// Items of one sender, of which the first leaves in fragments.
struct Held {
    first: Parts,
    behind: VecDeque<Item>,
}

/// What is to leave through one connection.
#[derive(Default)]
pub struct Output {
    ready: VecDeque<Item>,
    held: HashMap<u64, Held>,
    /// Senders in `held`, in the order of their turns.
    turns: VecDeque<u64>,
    /// Senders in `held` whose message has not begun to leave, because so many others leave.
    later: VecDeque<u64>,
    bytes: usize,
    /// Bytes of messages that leave in fragments.
    long: usize,
    /// Bytes that have left since the last fragment did.
    since: usize,
    cache: AtomCache,
    /// Whether long messages are split.
    pub fragments: bool,
}

impl Output {
    /// Bytes that have not left.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// As [`Output::bytes`], without the messages that leave in fragments: each of these holds up its own sender, and
    /// nobody else has to wait for it.
    pub fn in_the_way(&self) -> usize {
        self.bytes - self.long
    }

    /// Whether everything has left.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.held.is_empty()
    }

    /// Adds an item behind all others of its sender.
    pub fn push(&mut self, item: Item) {
        self.bytes += item.bytes.len();
        match self.held.get_mut(&item.sender) {
            Some(held) => held.behind.push_back(item),
            None => self.admit(item),
        }
    }

    /// Whether a message of this sender leaves in fragments and has not left as a whole.
    pub fn holds(&self, sender: u64) -> bool {
        self.held.contains_key(&sender)
    }

    /// Takes everything out, to be changed and pushed again.
    pub fn drain(&mut self) -> Vec<Item> {
        let mut items: Vec<Item> = self.ready.drain(..).collect();
        for (_, held) in self.held.drain() {
            items.push(held.first.item);
            items.extend(held.behind);
        }
        self.turns.clear();
        self.later.clear();
        (self.bytes, self.long) = (0, 0);
        items
    }

    /// An item with none of its sender in front of it.
    fn admit(&mut self, item: Item) {
        let payload = item.bytes.len() - item.control;
        if !self.fragments || item.atoms.is_none() || payload <= FRAGMENT {
            return self.ready.push_back(item);
        }
        let sender = item.sender;
        self.long += item.bytes.len();
        let first = Parts { number: payload.div_ceil(FRAGMENT) as u64, item, sent: 0 };
        self.held.insert(sender, Held { first, behind: VecDeque::new() });
        let others = if self.turns.len() < MOST_TURNS { &mut self.turns } else { &mut self.later };
        others.push_back(sender);
    }

    /// Takes packets out, each with its length in front, until there are so many bytes or no more packets.
    pub fn take(&mut self, enough: usize) -> (Vec<u8>, u64) {
        // A fragment and its header fit behind what is not enough yet.
        let room = (self.bytes + MOST_HEADER).min(enough + FRAGMENT + MOST_HEADER);
        let (mut bytes, mut packets) = (Vec::with_capacity(room), 0);
        while bytes.len() < enough {
            let start = bytes.len();
            bytes.resize(start + LENGTH, 0);
            if !self.take_into(&mut bytes) {
                bytes.truncate(start);
                break;
            }
            let length = (bytes.len() - start - LENGTH) as u32;
            bytes[start..start + LENGTH].copy_from_slice(&length.to_be_bytes());
            packets += 1;
        }
        (bytes, packets)
    }

    /// Takes the next packet out.
    pub fn take_one(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.take_into(&mut bytes).then_some(bytes)
    }

    fn take_into(&mut self, to: &mut Vec<u8>) -> bool {
        if self.since >= FRAGMENT && self.take_fragment(to) {
            return true;
        }
        if let Some(item) = self.ready.pop_front() {
            self.bytes -= item.bytes.len();
            self.since += item.bytes.len();
            match &item.atoms {
                Some(atoms) => {
                    to.extend([VERSION, HEADED]);
                    self.cache.write(atoms, to);
                }
                None => to.push(PASS_THROUGH),
            }
            item.bytes.copy(0, item.bytes.len(), to);
            return true;
        }
        self.take_fragment(to)
    }

    fn take_fragment(&mut self, to: &mut Vec<u8>) -> bool {
        let Some(sender) = self.turns.pop_front() else { return false };
        let Some(held) = self.held.get_mut(&sender) else { return false };
        self.since = 0;
        let parts = &mut held.first;
        let is_first = parts.sent == 0;
        to.extend([VERSION, if is_first { FIRST_FRAGMENT } else { NEXT_FRAGMENT }]);
        to.extend(sender.to_be_bytes());
        to.extend(parts.number.to_be_bytes());
        if is_first {
            self.cache.write(parts.item.atoms.as_deref().unwrap_or_default(), to);
        }
        let length = if is_first { parts.item.control + FRAGMENT } else { FRAGMENT };
        let end = (parts.sent + length).min(parts.item.bytes.len());
        parts.item.bytes.copy(parts.sent, end, to);
        self.bytes -= end - parts.sent;
        self.long -= end - parts.sent;
        parts.sent = end;
        parts.number -= 1;
        if parts.number > 0 {
            self.turns.push_back(sender);
            return true;
        }
        self.turns.extend(self.later.pop_front());
        // The rest of this sender's can go, up to what is long again.
        let behind = self.held.remove(&sender).map(|held| held.behind).unwrap_or_default();
        for item in behind {
            match self.held.get_mut(&sender) {
                Some(held) => held.behind.push_back(item),
                None => self.admit(item),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(sender: u64, control: u8, payload: usize) -> Item {
        let mut bytes = vec![control];
        bytes.resize(1 + payload, sender as u8);
        Item { sender, bytes: bytes.into(), control: 1, atoms: Some(Vec::new()) }
    }

    fn output() -> Output {
        Output { fragments: true, ..Output::default() }
    }

    /// Of each packet: its kind, its sender if it is a fragment, the fragment's number, and the first byte of contents.
    fn shown(output: &mut Output) -> Vec<(u8, u64, u64, u8)> {
        std::iter::from_fn(|| output.take_one())
            .map(|packet| match packet[1] {
                HEADED => (HEADED, 0, 0, packet[3]),
                kind => {
                    let word = |at: usize| u64::from_be_bytes(*packet[at..].first_chunk().expect("a word"));
                    let contents = if kind == FIRST_FRAGMENT { packet[19] } else { packet[18] };
                    (kind, word(2), word(10), contents)
                }
            })
            .collect()
    }

    #[test]
    fn a_long_message_holds_up_its_own_sender_alone() {
        let mut output = output();
        output.push(item(1, 10, 2 * FRAGMENT + 1));
        output.push(item(1, 11, 5));
        assert!(output.holds(1) && !output.holds(2));
        output.push(item(2, 20, 5));
        assert_eq!(
            shown(&mut output),
            [
                (HEADED, 0, 0, 20),
                (FIRST_FRAGMENT, 1, 3, 10),
                (NEXT_FRAGMENT, 1, 2, 1),
                (NEXT_FRAGMENT, 1, 1, 1),
                (HEADED, 0, 0, 11)
            ]
        );
        assert!(output.is_empty() && output.bytes() == 0 && !output.holds(1));
    }

    #[test]
    fn long_messages_take_turns() {
        let mut output = output();
        output.push(item(1, 10, FRAGMENT + 1));
        output.push(item(2, 20, FRAGMENT + 1));
        output.push(item(1, 11, FRAGMENT + 1));
        let senders: Vec<(u64, u64)> =
            shown(&mut output).into_iter().map(|(_, sender, number, _)| (sender, number)).collect();
        assert_eq!(senders, [(1, 2), (2, 2), (1, 1), (2, 1), (1, 2), (1, 1)]);
    }

    #[test]
    fn a_long_message_is_in_nobodys_way_and_leaves_whatever_else_does() {
        let mut output = output();
        output.push(item(1, 10, 10 * FRAGMENT));
        assert_eq!(output.in_the_way(), 0);
        for _ in 0..4 {
            output.push(item(2, 20, FRAGMENT / 2));
        }
        assert_eq!((output.in_the_way(), output.bytes()), (4 + 2 * FRAGMENT, 5 + 12 * FRAGMENT));
        let kinds: Vec<u8> = shown(&mut output).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(kinds[..6], [HEADED, HEADED, FIRST_FRAGMENT, HEADED, HEADED, NEXT_FRAGMENT]);
        assert_eq!((kinds.len(), output.in_the_way(), output.bytes()), (14, 0, 0));
    }

    #[test]
    fn so_many_long_messages_leave_at_once() {
        let mut output = output();
        let many = 2 * MOST_TURNS as u64;
        for sender in 0..many {
            output.push(item(sender, 0, 2 * FRAGMENT));
        }
        let (mut open, mut most, mut left) = (0, 0, 0);
        for (kind, ..) in shown(&mut output) {
            match kind {
                FIRST_FRAGMENT => open += 1,
                _ => (open, left) = (open - 1, left + 1),
            }
            most = open.max(most);
        }
        assert_eq!((most, left), (MOST_TURNS, many));
        assert!(output.is_empty());
    }

    #[test]
    fn packets_of_a_stream_have_their_lengths_in_front() {
        let mut output = output();
        output.push(item(1, 10, 2));
        output.push(item(2, 20, 0));
        let expected = [&[0, 0, 0, 6, 131, 68, 0, 10, 1, 1][..], &[0, 0, 0, 4, 131, 68, 0, 20]].concat();
        assert_eq!(output.take(1000), (expected, 2));
    }
}
