//! Addresses: maps of `socket`, and bytes as the system lays them out.

use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, map};

static ADDR: LazyAtom = LazyAtom::new("addr");
static ANY: LazyAtom = LazyAtom::new("any");
static BROADCAST: LazyAtom = LazyAtom::new("broadcast");
static FAMILY: LazyAtom = LazyAtom::new("family");
static FLOWINFO: LazyAtom = LazyAtom::new("flowinfo");
static HATYPE: LazyAtom = LazyAtom::new("hatype");
static IFINDEX: LazyAtom = LazyAtom::new("ifindex");
static INET: LazyAtom = LazyAtom::new("inet");
static INET6: LazyAtom = LazyAtom::new("inet6");
static LOCAL: LazyAtom = LazyAtom::new("local");
static LOOPBACK: LazyAtom = LazyAtom::new("loopback");
static PACKET: LazyAtom = LazyAtom::new("packet");
static PATH: LazyAtom = LazyAtom::new("path");
static PKTTYPE: LazyAtom = LazyAtom::new("pkttype");
static PORT: LazyAtom = LazyAtom::new("port");
static PROTOCOL: LazyAtom = LazyAtom::new("protocol");
static SCOPE_ID: LazyAtom = LazyAtom::new("scope_id");
static UNSPEC: LazyAtom = LazyAtom::new("unspec");

/// Bytes in front of an address's own: its family.
const FAMILY_BYTES: usize = 2;
/// Bytes of the longest path.
const PATH_BYTES: usize = 108;
/// Bytes of the own part of an address of any family.
const NATIVE_BYTES: usize = 126;

/// The number of a family; `None` if the term is none.
pub fn domain(term: Term) -> Option<i32> {
    if let Some(number) = term.as_small() {
        return i32::try_from(number).ok();
    }
    let known = [(&INET, libc::AF_INET), (&INET6, libc::AF_INET6), (&LOCAL, libc::AF_UNIX), (&UNSPEC, libc::AF_UNSPEC)];
    known.into_iter().find(|(name, _)| name.get() == term).map(|(_, number)| number)
}

/// The name of a family, or its number.
pub fn domain_term(number: i32) -> Term {
    match number {
        libc::AF_INET => INET.get(),
        libc::AF_INET6 => INET6.get(),
        libc::AF_UNIX => LOCAL.get(),
        libc::AF_UNSPEC => UNSPEC.get(),
        libc::AF_PACKET => PACKET.get(),
        other => Term::small(other.into()),
    }
}

/// The types of sockets, by name.
const KINDS: [(&str, i32); 5] = [
    ("stream", libc::SOCK_STREAM),
    ("dgram", libc::SOCK_DGRAM),
    ("raw", libc::SOCK_RAW),
    ("rdm", libc::SOCK_RDM),
    ("seqpacket", libc::SOCK_SEQPACKET),
];

/// The number of a type; `None` if the term is none.
pub fn kind(term: Term) -> Option<i32> {
    if let Some(number) = term.as_small() {
        return i32::try_from(number).ok();
    }
    KINDS.into_iter().find(|(name, _)| known_atom(name) == term).map(|(_, number)| number)
}

/// The name of a type, or its number.
pub fn kind_term(number: i32) -> Term {
    let name = KINDS.into_iter().find(|(_, known)| *known == number);
    name.map_or(Term::small(number.into()), |(name, _)| known_atom(name))
}

fn family_bytes(family: i32) -> [u8; FAMILY_BYTES] {
    (family as u16).to_ne_bytes()
}

/// The bytes of an IPv4 address.
pub fn octets(term: Term) -> Option<[u8; 4]> {
    if term == ANY.get() {
        return Some([0; 4]);
    }
    if term == LOOPBACK.get() {
        return Some([127, 0, 0, 1]);
    }
    if term == BROADCAST.get() {
        return Some([255; 4]);
    }
    let parts: &[Term; 4] = term.tuple_elements()?.try_into().ok()?;
    let mut octets = [0; 4];
    for (octet, part) in octets.iter_mut().zip(parts) {
        *octet = u8::try_from(part.as_small()?).ok()?;
    }
    Some(octets)
}

/// The bytes of an IPv6 address.
pub fn long_octets(term: Term) -> Option<[u8; 16]> {
    if term == ANY.get() {
        return Some([0; 16]);
    }
    if term == LOOPBACK.get() {
        return Some(1u128.to_be_bytes());
    }
    let parts: &[Term; 8] = term.tuple_elements()?.try_into().ok()?;
    let mut octets = [0; 16];
    for (pair, part) in octets.chunks_exact_mut(2).zip(parts) {
        pair.copy_from_slice(&u16::try_from(part.as_small()?).ok()?.to_be_bytes());
    }
    Some(octets)
}

fn number<T: TryFrom<i64>>(address: Term, key: &LazyAtom) -> Option<T> {
    T::try_from(map::get(address, key.get())?.as_small()?).ok()
}

fn binary(address: Term, key: &LazyAtom) -> Option<Vec<u8>> {
    let value = map::get(address, key.get())?;
    let bits = value.bits().filter(|bits| bits.is_binary())?;
    Some(bits.to_bytes().into_owned())
}

/// The bytes of an address; `None` if the map does not say one.
pub fn decode(address: Term) -> Option<Vec<u8>> {
    if !address.is_map() {
        return None;
    }
    let family = map::get(address, FAMILY.get())?;
    let head = family_bytes(domain(family)?);
    if family.as_small().is_some() || family == UNSPEC.get() {
        let own = binary(address, &ADDR).filter(|own| own.len() <= NATIVE_BYTES)?;
        return Some([&head[..], &own].concat());
    }
    if family == LOCAL.get() {
        let mut path = binary(address, &PATH).filter(|path| path.len() < PATH_BYTES)?;
        // A name that begins with a zero has no end but its length.
        if path.first().is_some_and(|first| *first != 0) {
            path.push(0);
        }
        return Some([&head[..], &path].concat());
    }
    let port = number::<u16>(address, &PORT)?.to_be_bytes();
    let ip = map::get(address, ADDR.get())?;
    if family == INET.get() {
        return Some([&head[..], &port, &octets(ip)?, &[0; 8]].concat());
    }
    let flow = number::<u32>(address, &FLOWINFO)?.to_be_bytes();
    let scope = number::<u32>(address, &SCOPE_ID)?.to_ne_bytes();
    Some([&head[..], &port, &flow, &long_octets(ip)?, &scope].concat())
}

/// An IPv4 address as a tuple.
pub fn octets_term(heap: &mut (impl Build + ?Sized), octets: &[u8]) -> Term {
    let parts: Vec<Term> = octets.iter().map(|octet| Term::small(i64::from(*octet))).collect();
    heap.tuple(&parts)
}

/// An IPv6 address as a tuple.
pub fn long_octets_term(heap: &mut (impl Build + ?Sized), octets: &[u8]) -> Term {
    let pairs = octets.chunks_exact(2);
    let parts: Vec<Term> = pairs.map(|pair| Term::small(i64::from(u16::from_be_bytes([pair[0], pair[1]])))).collect();
    heap.tuple(&parts)
}

/// Takes so many bytes from a place; zeros if they are not there.
fn bytes_at<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    bytes.get(place..place + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// The kinds of hardware that have a name.
const HARDWARE: [(u16, &str); 10] = [
    (libc::ARPHRD_NETROM, "netrom"),
    (libc::ARPHRD_ETHER, "ether"),
    (libc::ARPHRD_IEEE802, "ieee802"),
    (libc::ARPHRD_DLCI, "dlci"),
    (libc::ARPHRD_FRAD, "frelay"),
    (libc::ARPHRD_IEEE1394, "ieee1394"),
    (libc::ARPHRD_LOOPBACK, "loopback"),
    (libc::ARPHRD_TUNNEL, "tunnel"),
    (libc::ARPHRD_NONE, "none"),
    (libc::ARPHRD_VOID, "void"),
];

/// The kinds of packets.
const PACKETS: [&str; 8] = ["host", "broadcast", "multicast", "otherhost", "outgoing", "loopback", "user", "kernel"];

/// The name of a kind of hardware, or its number.
pub fn hardware_term(number: u16) -> Term {
    let name = HARDWARE.into_iter().find(|(known, _)| *known == number);
    name.map_or(Term::small(number.into()), |(_, name)| known_atom(name))
}

/// An address as a map.
pub fn encode(heap: &mut (impl Build + ?Sized), bytes: &[u8]) -> Term {
    let family = i32::from(u16::from_ne_bytes(bytes_at(bytes, 0)));
    let own = bytes.get(FAMILY_BYTES..).unwrap_or_default();
    let name = (FAMILY.get(), domain_term(family));
    let port = (PORT.get(), Term::small(u16::from_be_bytes(bytes_at(bytes, 2)).into()));
    match family {
        libc::AF_INET => {
            let ip = octets_term(heap, &bytes_at::<4>(bytes, 4));
            map::from_pairs(heap, &[name, port, (ADDR.get(), ip)])
        }
        libc::AF_INET6 => {
            let ip = long_octets_term(heap, &bytes_at::<16>(bytes, 8));
            let flow = Term::small(u32::from_be_bytes(bytes_at(bytes, 4)).into());
            let scope = Term::small(u32::from_ne_bytes(bytes_at(bytes, 24)).into());
            map::from_pairs(heap, &[name, port, (ADDR.get(), ip), (FLOWINFO.get(), flow), (SCOPE_ID.get(), scope)])
        }
        libc::AF_UNIX => {
            let end = match own {
                [] | [0, ..] => own.len(),
                path => path.iter().position(|byte| *byte == 0).unwrap_or(path.len()),
            };
            let path = heap.binary(&own[..end]);
            map::from_pairs(heap, &[name, (PATH.get(), path)])
        }
        libc::AF_PACKET => {
            let protocol = Term::small(u16::from_be_bytes(bytes_at(bytes, 2)).into());
            let index = Term::small(i32::from_ne_bytes(bytes_at(bytes, 4)).into());
            let hardware = hardware_term(u16::from_ne_bytes(bytes_at(bytes, 8)));
            let [packet, length] = bytes_at::<2>(bytes, 10);
            let packet = PACKETS.get(usize::from(packet)).map_or(Term::small(packet.into()), |name| known_atom(name));
            let own = bytes.get(12..).unwrap_or_default();
            let own = heap.binary(&own[..own.len().min(length.into())]);
            let pairs = [
                name,
                (PROTOCOL.get(), protocol),
                (IFINDEX.get(), index),
                (HATYPE.get(), hardware),
                (PKTTYPE.get(), packet),
                (ADDR.get(), own),
            ];
            map::from_pairs(heap, &pairs)
        }
        _ => {
            let own = heap.binary(own);
            map::from_pairs(heap, &[name, (ADDR.get(), own)])
        }
    }
}
