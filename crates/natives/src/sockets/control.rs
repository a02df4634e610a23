//! Control messages: what comes and goes beside data.

use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, map};

use crate::sockets::address::{encode as encode_address, long_octets_term, octets_term};
use crate::sockets::{extended_error, values};

static ADDR: LazyAtom = LazyAtom::new("addr");
static DATA: LazyAtom = LazyAtom::new("data");
static IFINDEX: LazyAtom = LazyAtom::new("ifindex");
static LEVEL: LazyAtom = LazyAtom::new("level");
static SEC: LazyAtom = LazyAtom::new("sec");
static SOCKET: LazyAtom = LazyAtom::new("socket");
static SPEC_DST: LazyAtom = LazyAtom::new("spec_dst");
static TYPE: LazyAtom = LazyAtom::new("type");
static USEC: LazyAtom = LazyAtom::new("usec");
static VALUE: LazyAtom = LazyAtom::new("value");

/// What a control message's data are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Bytes,
    Integer,
    ServiceType,
    Time,
    PacketInformation,
    LongPacketInformation,
    Address,
    Error,
}

/// Level, type, name, content.
const TYPES: [(i32, i32, &str, Content); 16] = [
    (libc::SOL_SOCKET, libc::SCM_TIMESTAMP, "timestamp", Content::Time),
    (libc::SOL_SOCKET, libc::SCM_RIGHTS, "rights", Content::Bytes),
    (libc::SOL_SOCKET, libc::SCM_CREDENTIALS, "credentials", Content::Bytes),
    (libc::IPPROTO_IP, libc::IP_TOS, "tos", Content::ServiceType),
    (libc::IPPROTO_IP, libc::IP_TTL, "ttl", Content::Integer),
    (libc::IPPROTO_IP, libc::IP_PKTINFO, "pktinfo", Content::PacketInformation),
    (libc::IPPROTO_IP, libc::IP_RECVORIGDSTADDR, "origdstaddr", Content::Address),
    (libc::IPPROTO_IP, libc::IP_RECVTOS, "recvtos", Content::ServiceType),
    (libc::IPPROTO_IP, libc::IP_RECVTTL, "recvttl", Content::Integer),
    (libc::IPPROTO_IP, libc::IP_RECVERR, "recverr", Content::Error),
    (libc::IPPROTO_IP, libc::IP_RECVOPTS, "recvopts", Content::Bytes),
    (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, "pktinfo", Content::LongPacketInformation),
    (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, "hoplimit", Content::Integer),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, "tclass", Content::Integer),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, "recverr", Content::Error),
    (libc::IPPROTO_IPV6, libc::IPV6_RTHDR, "rthdr", Content::Bytes),
];

/// Bytes of a control message's head: its length, level and type.
const HEAD: usize = 16;

fn integer(bytes: &[u8]) -> Option<i32> {
    match bytes {
        [byte] => Some(i32::from(*byte)),
        bytes => Some(i32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?)),
    }
}

fn value(heap: &mut (impl Build + ?Sized), content: Content, data: &[u8]) -> Option<Term> {
    Some(match content {
        Content::Bytes => return None,
        Content::Integer => Term::small(integer(data)?.into()),
        Content::ServiceType => values::service_type_term(integer(data)?),
        Content::Time => {
            let part = |place: usize| Some(i64::from_ne_bytes(data.get(place..place + 8)?.try_into().ok()?));
            let (seconds, rest) = (heap.integer(part(0)?), heap.integer(part(8)?));
            map::from_pairs(heap, &[(SEC.get(), seconds), (USEC.get(), rest)])
        }
        Content::PacketInformation => {
            let index = Term::small(integer(data)?.into());
            let local = octets_term(heap, data.get(4..8)?);
            let address = octets_term(heap, data.get(8..12)?);
            map::from_pairs(heap, &[(IFINDEX.get(), index), (SPEC_DST.get(), local), (ADDR.get(), address)])
        }
        Content::LongPacketInformation => {
            let address = long_octets_term(heap, data.get(..16)?);
            let index = Term::small(integer(data.get(16..)?)?.into());
            map::from_pairs(heap, &[(ADDR.get(), address), (IFINDEX.get(), index)])
        }
        Content::Address => encode_address(heap, data),
        Content::Error => extended_error::decode(heap, data)?,
    })
}

/// Control messages as a list of maps.
pub fn decode(heap: &mut (impl Build + ?Sized), mut bytes: &[u8]) -> Term {
    let mut messages = Vec::new();
    while bytes.len() >= HEAD {
        let number = |place: usize| integer(&bytes[place..]).unwrap_or(0);
        let length = usize::try_from(number(0)).unwrap_or(0).clamp(HEAD, bytes.len());
        let (level, kind) = (number(8), number(12));
        let data = &bytes[HEAD..length];
        let known = TYPES.iter().find(|known| (known.0, known.1) == (level, kind));
        let level = if level == libc::SOL_SOCKET { SOCKET.get() } else { Term::small(level.into()) };
        let name = known.map_or(Term::small(kind.into()), |known| known_atom(known.2));
        let content = heap.binary(data);
        let mut pairs = vec![(LEVEL.get(), level), (TYPE.get(), name), (DATA.get(), content)];
        if let Some(value) = known.and_then(|known| value(heap, known.3, data)) {
            pairs.push((VALUE.get(), value));
        }
        messages.push(map::from_pairs(heap, &pairs));
        bytes = bytes.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    heap.list(messages)
}

/// The bytes of one message.
fn encode_one(message: Term) -> Option<Vec<u8>> {
    if !message.is_map() {
        return None;
    }
    let (level, kind) = (map::get(message, LEVEL.get())?, map::get(message, TYPE.get())?);
    let number = |term: Term| i32::try_from(term.as_small()?).ok();
    let level = if level == SOCKET.get() { libc::SOL_SOCKET } else { number(level)? };
    let known = TYPES.iter().find(|known| known.0 == level && known_atom(known.2) == kind);
    let kind = number(kind).or(known.map(|known| known.1))?;
    let data = match (map::get(message, DATA.get()), map::get(message, VALUE.get())) {
        (Some(data), None) => match (data.bits().filter(|bits| bits.is_binary()), data.as_small()) {
            (Some(bits), _) => bits.to_bytes().into_owned(),
            (None, Some(_)) => number(data)?.to_ne_bytes().to_vec(),
            (None, None) => return None,
        },
        (None, Some(value)) => match known?.3 {
            Content::Integer => number(value)?.to_ne_bytes().to_vec(),
            Content::ServiceType => values::service_type(value)?.to_ne_bytes().to_vec(),
            Content::Time => {
                let part = |key: &LazyAtom| Some(map::get(value, key.get())?.to_i64()?.to_ne_bytes());
                if !value.is_map() {
                    return None;
                }
                [part(&SEC)?, part(&USEC)?].concat()
            }
            _ => return None,
        },
        _ => return None,
    };
    let length = HEAD + data.len();
    let mut bytes = [&length.to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), &data].concat();
    bytes.resize(length.next_multiple_of(8), 0);
    Some(bytes)
}

/// The bytes of a list of control messages; `None` if it is none.
pub fn encode(list: Term) -> Option<Vec<u8>> {
    let parts: Option<Vec<Vec<u8>>> = atoll_operations::list::elements(list)?.into_iter().map(encode_one).collect();
    Some(parts?.concat())
}

/// Flags of messages, by name.
pub const FLAGS: [(&str, i32); 11] = [
    ("cmsg_cloexec", libc::MSG_CMSG_CLOEXEC),
    ("confirm", libc::MSG_CONFIRM),
    ("ctrunc", libc::MSG_CTRUNC),
    ("dontroute", libc::MSG_DONTROUTE),
    ("eor", libc::MSG_EOR),
    ("errqueue", libc::MSG_ERRQUEUE),
    ("more", libc::MSG_MORE),
    ("nosignal", libc::MSG_NOSIGNAL),
    ("oob", libc::MSG_OOB),
    ("peek", libc::MSG_PEEK),
    ("trunc", libc::MSG_TRUNC),
];

/// The names of flags; what has none comes as a number.
pub fn flags(heap: &mut (impl Build + ?Sized), flags: i32) -> Term {
    let known = FLAGS.into_iter().filter(|(_, flag)| flags & flag != 0);
    let rest = FLAGS.into_iter().fold(flags, |rest, (_, flag)| rest & !flag);
    let rest = (rest != 0).then(|| Term::small(rest.into()));
    let terms: Vec<Term> = known.map(|(name, _)| known_atom(name)).chain(rest).collect();
    heap.list(terms)
}
