//! What comes and goes beside the data of a datagram: type of service, traffic class, time to live.

use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};
use rustix::io::Errno;

use crate::inet::address::{take_integer, take_number};

/// Bytes of a control message's head, and of one whose content is an integer.
const HEAD: usize = 16;
const WHOLE: usize = 24;

/// Bytes for the control messages of one datagram.
pub const ROOM: usize = 256;

/// Option as commands number it, level, type when sent, name.
type Kind = (u8, i32, i32, &'static str);

const KINDS: [Kind; 3] = [
    (9, libc::IPPROTO_IP, libc::IP_TOS, "tos"),
    (41, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, "tclass"),
    (46, libc::IPPROTO_IP, libc::IP_TTL, "ttl"),
];

/// The bit that an option sets that asks for one of these; `None`: another option.
pub fn wish(option: u8) -> Option<u8> {
    match option {
        43 => Some(1),
        44 => Some(2),
        47 => Some(4),
        _ => None,
    }
}

/// Control messages from a command's bytes.
///
/// # Errors
/// `EINVAL`: an option that cannot go with data
pub fn encode(mut options: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut control = Vec::new();
    while !options.is_empty() {
        let option = take_number(&mut options, 1)? as u8;
        let value = take_integer(&mut options)?;
        let known = KINDS.iter().find(|known| known.0 == option).ok_or(Errno::INVAL)?;
        let length = HEAD + size_of::<i32>();
        control.extend(length.to_ne_bytes());
        control.extend([known.1, known.2, value, 0].map(i32::to_ne_bytes).concat());
    }
    debug_assert!(control.len().is_multiple_of(WHOLE));
    Ok(control)
}

/// The known ones among control messages, in the order in which they came: what is known of them, and the value.
fn messages(mut control: &[u8]) -> Vec<(&'static Kind, i32)> {
    let mut found = Vec::new();
    while control.len() >= HEAD {
        let number = |place: usize| {
            control.get(place..place + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes)
        };
        let length = usize::try_from(number(0)).unwrap_or(0).clamp(HEAD, control.len());
        let value = match &control[HEAD..length] {
            [byte] => i32::from(*byte),
            _ => number(HEAD),
        };
        let known = KINDS.iter().find(|known| (known.1, known.2) == (number(8), number(12)));
        found.extend(known.map(|known| (known, value)));
        control = control.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    found
}

/// `[{Name, Value}]`, in the order in which they came.
pub fn decode(heap: &mut (impl Build + ?Sized), control: &[u8]) -> Term {
    let mut pairs = Vec::new();
    for (known, value) in messages(control) {
        pairs.push(heap.tuple(&[known_atom(known.3), Term::small(value.into())]));
    }
    heap.list(pairs)
}

/// Control messages as answers show options: number and value of each.
pub fn options(control: &[u8]) -> Vec<u8> {
    messages(control).into_iter().flat_map(|(known, value)| [&[known.0][..], &value.to_be_bytes()].concat()).collect()
}

#[cfg(test)]
mod tests {
    use atoll_term::ScratchHeap;

    use super::*;

    #[test]
    fn what_goes_comes() {
        let control = encode(&[9, 0, 0, 0, 16, 46, 0, 0, 0, 5]).expect("two options");
        assert_eq!(control.len(), 2 * WHOLE);
        let mut heap = ScratchHeap::new();
        let list = decode(&mut heap, &control);
        let value = |term: Term| term.head().tuple_elements().map(|pair| pair[1]);
        assert_eq!(value(list), Some(Term::small(16)));
        assert_eq!(value(list.tail()), Some(Term::small(5)));
        assert_eq!(options(&control), [9, 0, 0, 0, 16, 46, 0, 0, 0, 5]);
        assert_eq!(encode(&[1, 0, 0, 0, 1]), Err(Errno::INVAL));
    }
}
