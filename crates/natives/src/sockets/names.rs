//! `prim_net`: names and addresses of hosts, services and interfaces.

use std::ffi::CString;

use atoll_operations::{Exception, list};
use atoll_platform::network;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};
use rustix::io::Errno;

use crate::dirty;
use crate::results::{ok, posix_error};
use crate::sockets::interfaces::ALL_FLAGS;
use crate::sockets::{address, namespace, values};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_net", "nif_info", 0, information),
    BuiltIn::new("prim_net", "nif_command", 1, command),
    BuiltIn::new("prim_net", "nif_gethostname", 0, host_name),
    BuiltIn::new("prim_net", "nif_getnameinfo", 2, names_of),
    BuiltIn::new("prim_net", "nif_getaddrinfo", 3, addresses_of),
    BuiltIn::new("prim_net", "nif_getifaddrs", 1, interfaces),
    BuiltIn::new("prim_net", "nif_if_name2index", 1, interface_number),
    BuiltIn::new("prim_net", "nif_if_index2name", 1, interface_name),
    BuiltIn::new("prim_net", "nif_if_names", 0, interface_names),
    BuiltIn::new("prim_net", "nif_get_adapters_addresses", 1, not_here),
    BuiltIn::new("prim_net", "nif_get_if_entry", 1, not_here),
    BuiltIn::new("prim_net", "nif_get_interface_info", 1, not_here),
    BuiltIn::new("prim_net", "nif_get_ip_address_table", 1, not_here),
];

static ADDR: LazyAtom = LazyAtom::new("addr");
static BROADADDR: LazyAtom = LazyAtom::new("broadaddr");
static DEBUG: LazyAtom = LazyAtom::new("debug");
static DSTADDR: LazyAtom = LazyAtom::new("dstaddr");
static FAMILY: LazyAtom = LazyAtom::new("family");
static FLAGS: LazyAtom = LazyAtom::new("flags");
static HOST: LazyAtom = LazyAtom::new("host");
static NAME: LazyAtom = LazyAtom::new("name");
static NETMASK: LazyAtom = LazyAtom::new("netmask");
static NETNS: LazyAtom = LazyAtom::new("netns");
static PROTOCOL: LazyAtom = LazyAtom::new("protocol");
static SERVICE: LazyAtom = LazyAtom::new("service");
static TYPE: LazyAtom = LazyAtom::new("type");

/// The names of what looking up names can end with.
const FAILURES: [(i32, &str); 10] = [
    (libc::EAI_AGAIN, "eagain"),
    (libc::EAI_BADFLAGS, "ebadflags"),
    (libc::EAI_FAIL, "efail"),
    (libc::EAI_FAMILY, "efamily"),
    (libc::EAI_MEMORY, "emem"),
    (libc::EAI_NODATA, "enodata"),
    (libc::EAI_NONAME, "enoname"),
    (libc::EAI_OVERFLOW, "eoverflow"),
    (libc::EAI_SERVICE, "eservice"),
    (libc::EAI_SOCKTYPE, "esocktype"),
];

fn failure(caller: &mut Caller<'_>, number: i32) -> Outcome {
    let name = FAILURES.into_iter().find(|(known, _)| *known == number).map_or("unknown", |(_, name)| name);
    let name = if number == libc::EAI_SYSTEM { "esystem" } else { name };
    let name = known_atom(name);
    Ok(caller.heap().tuple(&[atoms::ERROR, name]))
}

fn string(heap: &mut (impl Build + ?Sized), bytes: &[u8]) -> Term {
    heap.list(bytes.iter().map(|byte| Term::small(i64::from(*byte))).collect::<Vec<Term>>())
}

/// What only Windows has: the error `notsup`.
fn not_here(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(Exception::error(known_atom("notsup")).into())
}

fn information(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(map::from_pairs(caller.heap(), &[(DEBUG.get(), atoms::FALSE)]))
}

/// `nif_command({debug, boolean()})`: there is nothing to tell of.
fn command(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match arguments[0].tuple_elements() {
        Some([what, atoms::TRUE | atoms::FALSE]) if *what == DEBUG.get() => Ok(atoms::OK),
        _ => posix_error(caller, Errno::INVAL),
    }
}

fn host_name(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let name = rustix::system::uname().nodename().to_bytes().to_vec();
    let name = string(caller.heap(), &name);
    ok(caller, name)
}

/// Flags of `getnameinfo`.
const NAME_FLAGS: [(&str, i32); 6] = [
    ("namereqd", libc::NI_NAMEREQD),
    ("dgram", libc::NI_DGRAM),
    ("nofqdn", libc::NI_NOFQDN),
    ("numerichost", libc::NI_NUMERICHOST),
    ("numericserv", libc::NI_NUMERICSERV),
    ("idn", libc::NI_IDN),
];

fn name_flags(list: Term) -> Result<i32, Interrupt> {
    if list == atoms::UNDEFINED {
        return Ok(0);
    }
    list::elements_or_badarg(list)?.into_iter().try_fold(0, |flags, flag| {
        let known = NAME_FLAGS.into_iter().find(|(name, _)| known_atom(name) == flag);
        known.map(|(_, number)| flags | number).ok_or_else(badarg)
    })
}

/// `nif_getnameinfo(Address, Flags)`
fn names_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = match dirty::result::<Result<(Vec<u8>, Vec<u8>), i32>>(caller, arguments)? {
        Some(result) => result,
        None => {
            let flags = name_flags(arguments[1])?;
            let Some(address) = address::decode(arguments[0]) else { return posix_error(caller, Errno::INVAL) };
            return Err(dirty::start(caller, arguments, move || network::names_of(&address, flags)));
        }
    };
    match result {
        Ok((host, service)) => {
            let heap = caller.heap();
            let (host, service) = (string(heap, &host), string(heap, &service));
            let names = map::from_pairs(heap, &[(HOST.get(), host), (SERVICE.get(), service)]);
            ok(caller, names)
        }
        Err(number) => failure(caller, number),
    }
}

/// A string, or `undefined`.
fn optional_text(term: Term) -> Result<Option<CString>, Interrupt> {
    if term == atoms::UNDEFINED {
        return Ok(None);
    }
    let text = values::text(term).and_then(|text| CString::new(text).ok());
    text.map(Some).ok_or_else(badarg)
}

/// `nif_getaddrinfo(Host, Service, Hints)`
fn addresses_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = match dirty::result::<Result<Vec<network::HostAddress>, i32>>(caller, arguments)? {
        Some(result) => result,
        None => {
            let (host, service) = (optional_text(arguments[0])?, optional_text(arguments[1])?);
            if host.is_none() && service.is_none() {
                return Err(badarg());
            }
            let work = move || network::addresses_of(host.as_ref(), service.as_ref());
            return Err(dirty::start(caller, arguments, work));
        }
    };
    match result {
        Ok(found) => {
            let heap = caller.heap();
            let mut addresses = Vec::with_capacity(found.len());
            for one in found {
                let address = address::encode(heap, &one.address);
                let pairs = [
                    (FAMILY.get(), address::domain_term(one.family)),
                    (TYPE.get(), address::kind_term(one.kind)),
                    (PROTOCOL.get(), Term::small(one.protocol.into())),
                    (ADDR.get(), address),
                ];
                addresses.push(map::from_pairs(heap, &pairs));
            }
            let addresses = heap.list(addresses);
            ok(caller, addresses)
        }
        Err(number) => failure(caller, number),
    }
}

/// Flags of interfaces that `getifaddrs` does not show.
const NOT_SHOWN: [&str; 4] = ["allmulti", "lower_up", "dormant", "echo"];

/// `nif_getifaddrs(#{netns => Path})`
fn interfaces(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_map() {
        return Err(badarg());
    }
    let found = match map::get(arguments[0], NETNS.get()) {
        None => network::interface_addresses(),
        Some(path) => {
            let path = values::text(path).ok_or_else(badarg)?;
            namespace::within(&path, network::interface_addresses)
        }
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return posix_error(caller, error),
    };
    let heap = caller.heap();
    let mut interfaces = Vec::with_capacity(found.len());
    for one in found {
        let set = ALL_FLAGS.iter().filter(|(name, flag)| one.flags as i32 & flag != 0 && !NOT_SHOWN.contains(name));
        let flags: Vec<Term> = set.map(|(name, _)| known_atom(name)).collect();
        let flags = heap.list(flags);
        let name = string(heap, &one.name);
        let mut pairs = vec![(NAME.get(), name), (FLAGS.get(), flags)];
        let other = match one.flags as i32 {
            flags if flags & libc::IFF_BROADCAST != 0 => Some(&BROADADDR),
            flags if flags & libc::IFF_POINTOPOINT != 0 => Some(&DSTADDR),
            _ => None,
        };
        let addresses = [(Some(&ADDR), one.address), (Some(&NETMASK), one.mask), (other, one.other)];
        for (key, bytes) in addresses {
            if let (Some(key), Some(bytes)) = (key, bytes) {
                pairs.push((key.get(), address::encode(heap, &bytes)));
            }
        }
        interfaces.push(map::from_pairs(heap, &pairs));
    }
    let interfaces = heap.list(interfaces);
    ok(caller, interfaces)
}

fn interface_number(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(name) = values::text(arguments[0]).and_then(|name| CString::new(name).ok()) else {
        return posix_error(caller, Errno::INVAL);
    };
    match network::interface_number(&name) {
        Ok(number) => ok(caller, Term::small(number.into())),
        Err(error) => posix_error(caller, error),
    }
}

fn interface_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let number = arguments[0].as_small().and_then(|number| u32::try_from(number).ok()).ok_or_else(badarg)?;
    match network::interface_name(number) {
        Ok(name) => {
            let name = string(caller.heap(), &name);
            ok(caller, name)
        }
        Err(error) => posix_error(caller, error),
    }
}

fn interface_names(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    match network::interface_names() {
        Ok(names) => {
            let heap = caller.heap();
            let mut pairs = Vec::with_capacity(names.len());
            for (number, name) in names {
                let name = string(heap, &name);
                pairs.push(heap.tuple(&[Term::small(number.into()), name]));
            }
            let pairs = heap.list(pairs);
            ok(caller, pairs)
        }
        Err(error) => posix_error(caller, error),
    }
}
