//! Values of options, as terms and as the system lays them out.

use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};

use crate::sockets::address::{domain, domain_term, kind_term, long_octets, octets, octets_term};
use crate::sockets::control;
use crate::sockets::options::Value;
use crate::sockets::state::boolean;

static DEFAULT: LazyAtom = LazyAtom::new("default");
static EXCLUDE: LazyAtom = LazyAtom::new("exclude");
static INCLUDE: LazyAtom = LazyAtom::new("include");
static INTERFACE: LazyAtom = LazyAtom::new("interface");
static LINGER: LazyAtom = LazyAtom::new("linger");
static MODE: LazyAtom = LazyAtom::new("mode");
static MULTIADDR: LazyAtom = LazyAtom::new("multiaddr");
static ONOFF: LazyAtom = LazyAtom::new("onoff");
static SLIST: LazyAtom = LazyAtom::new("slist");
static SOURCEADDR: LazyAtom = LazyAtom::new("sourceaddr");

/// Types of service, by name.
const SERVICES: [(&str, i32); 4] = [
    ("lowdelay", libc::IPTOS_LOWDELAY as i32),
    ("throughput", libc::IPTOS_THROUGHPUT as i32),
    ("reliability", libc::IPTOS_RELIABILITY as i32),
    ("mincost", libc::IPTOS_MINCOST as i32),
];

/// The bits of a type of service that say the type.
const SERVICE_MASK: i32 = 0x1e;

/// What is done about the largest packet that a path takes.
const DISCOVERIES: [(&str, i32); 4] = [
    ("dont", libc::IP_PMTUDISC_DONT),
    ("want", libc::IP_PMTUDISC_WANT),
    ("do", libc::IP_PMTUDISC_DO),
    ("probe", libc::IP_PMTUDISC_PROBE),
];

fn number(term: Term) -> Option<i32> {
    i32::try_from(term.as_small()?).ok()
}

fn named(names: &[(&str, i32)], term: Term) -> Option<i32> {
    number(term).or_else(|| names.iter().find(|(name, _)| known_atom(name) == term).map(|(_, number)| *number))
}

fn name_term(names: &[(&str, i32)], number: i32) -> Term {
    let name = names.iter().find(|(_, known)| *known == number);
    name.map_or(Term::small(number.into()), |(name, _)| known_atom(name))
}

/// The number of a type of service.
pub fn service_type(term: Term) -> Option<i32> {
    named(&SERVICES, term)
}

/// The name of a type of service, or its number.
pub fn service_type_term(number: i32) -> Term {
    name_term(&SERVICES, number & SERVICE_MASK)
        .as_small()
        .map_or(name_term(&SERVICES, number & SERVICE_MASK), |_| Term::small(number.into()))
}

fn truth(term: Term) -> Option<bool> {
    match term {
        atoms::TRUE => Some(true),
        atoms::FALSE => Some(false),
        _ => None,
    }
}

fn part(map: Term, key: &LazyAtom) -> Option<Term> {
    map::get(map, key.get())
}

/// The bytes of a value; `None` if the term is none.
pub fn encode(value: Value, term: Term) -> Option<Vec<u8>> {
    let integer = |number: i32| number.to_ne_bytes().to_vec();
    Some(match value {
        Value::Boolean => integer(truth(term)?.into()),
        Value::Integer => integer(number(term)?),
        Value::Hops if term == DEFAULT.get() => integer(-1),
        Value::Hops => integer(number(term).filter(|hops| (0..=255).contains(hops))?),
        Value::Text => text(term)?,
        Value::Domain => integer(domain(term)?),
        Value::Address => octets(term)?.to_vec(),
        Value::Discovery => integer(named(&DISCOVERIES, term)?),
        Value::ServiceType => integer(service_type(term)?),
        Value::Linger | Value::Membership | Value::LongMembership | Value::Source | Value::Filter if !term.is_map() => {
            return None;
        }
        Value::Linger => {
            let seconds = number(part(term, &LINGER)?).filter(|seconds| *seconds >= 0)?;
            [i32::from(truth(part(term, &ONOFF)?)?).to_ne_bytes(), seconds.to_ne_bytes()].concat()
        }
        Value::Membership => [octets(part(term, &MULTIADDR)?)?, octets(part(term, &INTERFACE)?)?].concat(),
        Value::LongMembership => {
            let index = number(part(term, &INTERFACE)?).filter(|index| *index >= 0)?;
            [&long_octets(part(term, &MULTIADDR)?)?[..], &index.to_ne_bytes()].concat()
        }
        Value::Source => {
            let parts = [&MULTIADDR, &INTERFACE, &SOURCEADDR].map(|key| octets(part(term, key)?));
            let [group, interface, source] = parts;
            [group?, interface?, source?].concat()
        }
        Value::Filter => {
            let mode = match part(term, &MODE)? {
                mode if mode == EXCLUDE.get() => 0u32,
                mode if mode == INCLUDE.get() => 1,
                _ => return None,
            };
            let list = atoll_operations::list::elements(part(term, &SLIST)?)?;
            let sources: Option<Vec<[u8; 4]>> = list.into_iter().map(octets).collect();
            let sources = sources?;
            let (group, interface) = (octets(part(term, &MULTIADDR)?)?, octets(part(term, &INTERFACE)?)?);
            let count = sources.len() as u32;
            [&group[..], &interface, &mode.to_ne_bytes(), &count.to_ne_bytes(), &sources.concat()].concat()
        }
        Value::Type | Value::Protocol | Value::PacketOptions => return None,
    })
}

/// The characters of a string, as Latin-1.
pub fn text(term: Term) -> Option<Vec<u8>> {
    let characters = atoll_operations::list::elements(term)?;
    characters.into_iter().map(|character| u8::try_from(character.as_small()?).ok()).collect()
}

/// How many bytes a value can have.
pub fn room(value: Value) -> usize {
    match value {
        Value::Linger => 8,
        Value::Text => 16,
        Value::PacketOptions => 1024,
        _ => 4,
    }
}

/// A value as a term; `None` if it cannot be read.
pub fn decode(heap: &mut (impl Build + ?Sized), value: Value, bytes: &[u8]) -> Option<Term> {
    let integer = match bytes {
        [byte] => i32::from(*byte),
        bytes => bytes.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes),
    };
    Some(match value {
        Value::Boolean => boolean(integer != 0),
        Value::Integer | Value::Hops | Value::Protocol => Term::small(integer.into()),
        Value::Text => {
            // As many as OTP gives.
            let bytes = &bytes[..bytes.len().min(15)];
            let characters: Vec<Term> = bytes.iter().map(|byte| Term::small(i64::from(*byte))).collect();
            heap.list(characters)
        }
        Value::Linger => {
            let seconds = i32::from_ne_bytes(bytes.get(4..8)?.try_into().ok()?);
            map::from_pairs(heap, &[(ONOFF.get(), boolean(integer != 0)), (LINGER.get(), Term::small(seconds.into()))])
        }
        Value::Domain => domain_term(integer),
        Value::Type => kind_term(integer),
        Value::Address => octets_term(heap, bytes.get(..4)?),
        Value::Discovery => name_term(&DISCOVERIES, integer),
        Value::ServiceType => service_type_term(integer),
        Value::PacketOptions => control::decode(heap, bytes),
        Value::Membership | Value::LongMembership | Value::Source | Value::Filter => return None,
    })
}
