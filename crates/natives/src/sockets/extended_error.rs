//! What the system tells of a datagram that did not arrive: `recverr` among the control messages.

use atoll_platform::errors;
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, map};
use rustix::io::Errno;

use crate::sockets::address;

static CODE: LazyAtom = LazyAtom::new("code");
static DATA: LazyAtom = LazyAtom::new("data");
static ERROR: LazyAtom = LazyAtom::new("error");
static INFO: LazyAtom = LazyAtom::new("info");
static OFFENDER: LazyAtom = LazyAtom::new("offender");
static ORIGIN: LazyAtom = LazyAtom::new("origin");
static TYPE: LazyAtom = LazyAtom::new("type");

/// Where errors come from; their number is their place. The last two are the routers' protocols.
const ORIGINS: [&str; 4] = ["none", "local", "icmp", "icmp6"];
const ICMP: u8 = 2;
const ICMP6: u8 = 3;
/// Bytes in front of the address of who told.
const HEAD: usize = 16;

/// The name of a number that an origin's protocol gives a type.
fn type_name(origin: u8, kind: u8) -> Option<&'static str> {
    match (origin, kind) {
        (ICMP, 3) | (ICMP6, 1) => Some("dest_unreach"),
        (ICMP, 11) | (ICMP6, 3) => Some("time_exceeded"),
        (ICMP6, 2) => Some("pkt_toobig"),
        _ => None,
    }
}

/// The name of a number that says why a destination cannot be reached.
fn code_name(origin: u8, code: u8) -> Option<&'static str> {
    match (origin, code) {
        (ICMP, 0) => Some("net_unreach"),
        (ICMP, 1) => Some("host_unreach"),
        (ICMP, 3) => Some("port_unreach"),
        (ICMP, 4) => Some("frag_needed"),
        (ICMP, 6) => Some("net_unknown"),
        (ICMP, 7) => Some("host_unknown"),
        (ICMP6, 0) => Some("noroute"),
        (ICMP6, 1) => Some("adm_prohibited"),
        (ICMP6, 2) => Some("not_neighbour"),
        (ICMP6, 3) => Some("addr_unreach"),
        (ICMP6, 4) => Some("port_unreach"),
        (ICMP6, 5) => Some("policy_fail"),
        (ICMP6, 6) => Some("reject_route"),
        _ => None,
    }
}

/// The map of an error; `None` if these are not the bytes of one.
pub fn decode(heap: &mut (impl Build + ?Sized), data: &[u8]) -> Option<Term> {
    let number = |place: usize| Some(u32::from_ne_bytes(data.get(place..place + 4)?.try_into().ok()?));
    let [error, info, more] = [number(0)?, number(8)?, number(12)?];
    let [origin, kind, code] = [data[4], data[5], data[6]];
    let named = |name: Option<&str>, number: u8| name.map_or(Term::small(number.into()), known_atom);
    let origin_term = named(ORIGINS.get(usize::from(origin)).copied(), origin);
    let type_term = named(type_name(origin, kind), kind);
    let unreachable = type_name(origin, kind) == Some("dest_unreach");
    let code_term = named(code_name(origin, code).filter(|_| unreachable), code);
    let error = known_atom(errors::name(Errno::from_raw_os_error(error as i32)));
    let offender = address::encode(heap, &data[HEAD..]);
    let pairs = [
        (ERROR.get(), error),
        (ORIGIN.get(), origin_term),
        (TYPE.get(), type_term),
        (CODE.get(), code_term),
        (INFO.get(), Term::small(info.into())),
        (DATA.get(), Term::small(more.into())),
        (OFFENDER.get(), offender),
    ];
    Some(map::from_pairs(heap, &pairs))
}

#[cfg(test)]
mod tests {
    use atoll_term::ScratchHeap;

    use super::*;

    #[test]
    fn numbers_without_names_stay_numbers() {
        let mut heap = ScratchHeap::new();
        let mut bytes = [0; HEAD + 16];
        bytes[0] = 111;
        bytes[4..7].copy_from_slice(&[ICMP, 3, 3]);
        let known = decode(&mut heap, &bytes).expect("an error");
        assert_eq!(map::get(known, ERROR.get()), Some(known_atom("econnrefused")));
        assert_eq!(map::get(known, CODE.get()), Some(known_atom("port_unreach")));
        bytes[4..7].copy_from_slice(&[ICMP, 11, 3]);
        let other = decode(&mut heap, &bytes).expect("an error");
        assert_eq!(map::get(other, TYPE.get()), Some(known_atom("time_exceeded")));
        assert_eq!(map::get(other, CODE.get()), Some(Term::small(3)));
        bytes[4] = 200;
        let unknown = decode(&mut heap, &bytes).expect("an error");
        assert_eq!(map::get(unknown, ORIGIN.get()), Some(Term::small(200)));
        assert_eq!(decode(&mut heap, &bytes[..HEAD - 1]), None);
    }
}
