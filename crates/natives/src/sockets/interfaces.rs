//! `ioctl`: what the system tells of its network interfaces.

use std::os::fd::{AsFd, OwnedFd};

use atoll_platform::network::{NAME_BYTES, REQUEST_BYTES, configured_interfaces, interface_request};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::map::MapIter;
use atoll_term::{Build, Term, atoms, map};
use rustix::io::Errno;

use crate::arguments::int;
use crate::results::{done, ok, posix_error};
use crate::sockets::open::open_descriptor;
use crate::sockets::socket::{closed, invalid, socket};
use crate::sockets::{address, values};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_ioctl", 2, configuration),
    BuiltIn::new("prim_socket", "nif_ioctl", 3, get),
    BuiltIn::new("prim_socket", "nif_ioctl", 4, set),
];

static ADDR: LazyAtom = LazyAtom::new("addr");
static FAMILY: LazyAtom = LazyAtom::new("family");
static NAME: LazyAtom = LazyAtom::new("name");

/// Requests, by name.
pub const REQUESTS: [(&str, i32); 18] = [
    ("gifname", 0x8910),
    ("gifindex", 0x8933),
    ("gifconf", 0x8912),
    ("gifflags", 0x8913),
    ("sifflags", 0x8914),
    ("gifaddr", 0x8915),
    ("sifaddr", 0x8916),
    ("gifdstaddr", 0x8917),
    ("sifdstaddr", 0x8918),
    ("gifbrdaddr", 0x8919),
    ("sifbrdaddr", 0x891a),
    ("gifnetmask", 0x891b),
    ("gifmtu", 0x8921),
    ("sifmtu", 0x8922),
    ("gifhwaddr", 0x8927),
    ("gifmap", 0x8970),
    ("giftxqlen", 0x8942),
    ("siftxqlen", 0x8943),
];

/// Flags of interfaces, by name; those that only other systems have are 0.
pub const ALL_FLAGS: [(&str, i32); 32] = [
    ("up", libc::IFF_UP),
    ("broadcast", libc::IFF_BROADCAST),
    ("debug", libc::IFF_DEBUG),
    ("loopback", libc::IFF_LOOPBACK),
    ("pointopoint", libc::IFF_POINTOPOINT),
    ("notrailers", libc::IFF_NOTRAILERS),
    ("running", libc::IFF_RUNNING),
    ("noarp", libc::IFF_NOARP),
    ("promisc", libc::IFF_PROMISC),
    ("allmulti", libc::IFF_ALLMULTI),
    ("master", libc::IFF_MASTER),
    ("slave", libc::IFF_SLAVE),
    ("multicast", libc::IFF_MULTICAST),
    ("portsel", libc::IFF_PORTSEL),
    ("automedia", libc::IFF_AUTOMEDIA),
    ("dynamic", libc::IFF_DYNAMIC),
    ("lower_up", libc::IFF_LOWER_UP),
    ("dormant", libc::IFF_DORMANT),
    ("echo", libc::IFF_ECHO),
    ("cantconfig", 0),
    ("dying", 0),
    ("knowsepoch", 0),
    ("link0", 0),
    ("link1", 0),
    ("link2", 0),
    ("monitor", 0),
    ("nogroup", 0),
    ("oactive", 0),
    ("ppromisc", 0),
    ("renaming", 0),
    ("simplex", 0),
    ("staticarp", 0),
];

const GET_NAME: i32 = 0x8910;
const GET_CONFIGURATION: i32 = 0x8912;
const GET_FLAGS: i32 = 0x8913;
const SET_FLAGS: i32 = 0x8914;
const GET_MTU: i32 = 0x8921;
const SET_MTU: i32 = 0x8922;
const GET_HARDWARE: i32 = 0x8927;
const GET_INDEX: i32 = 0x8933;
const GET_QUEUE: i32 = 0x8942;
const SET_QUEUE: i32 = 0x8943;
const GET_MAP: i32 = 0x8970;

/// Requests that give an address, and those that set one.
const GET_ADDRESS: [i32; 4] = [0x8915, 0x8917, 0x8919, 0x891b];
const SET_ADDRESS: [i32; 4] = [0x8916, 0x8918, 0x891a, 0x891c];

type Request = [u8; REQUEST_BYTES];

fn part<const N: usize>(request: &Request, place: usize) -> [u8; N] {
    request[NAME_BYTES + place..NAME_BYTES + place + N].try_into().unwrap_or([0; N])
}

fn name_of(request: &Request) -> Vec<Term> {
    let name = request[..NAME_BYTES].split(|byte| *byte == 0).next().unwrap_or_default();
    name.iter().map(|byte| Term::small(i64::from(*byte))).collect()
}

/// A request about the interface of this name.
///
/// # Errors
/// `badarg`: no string
fn request(name: Term) -> Result<Request, Interrupt> {
    let name = values::text(name).ok_or_else(badarg)?;
    let mut request = [0; REQUEST_BYTES];
    // One byte stays free for the end.
    let length = name.len().min(NAME_BYTES - 1);
    request[..length].copy_from_slice(&name[..length]);
    Ok(request)
}

/// The names of flags, lowest first.
fn flags(heap: &mut (impl Build + ?Sized), flags: i32) -> Term {
    let names = ALL_FLAGS.iter().filter(|(_, flag)| flags & flag != 0);
    let names: Vec<Term> = names.map(|(name, _)| known_atom(name)).collect();
    heap.list(names)
}

/// `nif_ioctl(Socket, gifconf)`
fn configuration(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (socket, number) = (socket(&arguments[0])?, int(arguments[1])?);
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    if number != GET_CONFIGURATION {
        return posix_error(caller, Errno::NOTSUP);
    }
    match configured_interfaces(descriptor.as_fd()) {
        Ok(found) => {
            let heap = caller.heap();
            let mut interfaces = Vec::with_capacity(found.len());
            for one in &found {
                let name = heap.list(name_of(one));
                let address = address::encode(heap, &one[NAME_BYTES..NAME_BYTES + 16]);
                interfaces.push(map::from_pairs(heap, &[(NAME.get(), name), (ADDR.get(), address)]));
            }
            let interfaces = heap.list(interfaces);
            ok(caller, interfaces)
        }
        Err(error) => posix_error(caller, error),
    }
}

fn ask(descriptor: &OwnedFd, number: i32, request: &mut Request) -> Result<(), Errno> {
    interface_request(descriptor.as_fd(), number as u64, request)
}

/// `nif_ioctl(Socket, Request, Name | Index)`
fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (socket, number) = (socket(&arguments[0])?, int(arguments[1])?);
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let is_known = [GET_FLAGS, GET_MTU, GET_HARDWARE, GET_INDEX, GET_QUEUE, GET_MAP].contains(&number);
    let mut data = match number {
        GET_NAME => {
            let mut data = [0; REQUEST_BYTES];
            data[NAME_BYTES..NAME_BYTES + 4].copy_from_slice(&int(arguments[2])?.to_ne_bytes());
            data
        }
        number if is_known || GET_ADDRESS.contains(&number) => request(arguments[2])?,
        _ => return posix_error(caller, Errno::NOTSUP),
    };
    if let Err(error) = ask(descriptor, number, &mut data) {
        return posix_error(caller, error);
    }
    let heap = caller.heap();
    let integer = i32::from_ne_bytes(part(&data, 0));
    let value = match number {
        GET_NAME => heap.list(name_of(&data)),
        GET_FLAGS => flags(heap, i32::from(u16::from_ne_bytes(part(&data, 0)))),
        GET_HARDWARE => {
            let kind = address::hardware_term(u16::from_ne_bytes(part(&data, 0)));
            let bytes = heap.binary(&part::<14>(&data, 2));
            map::from_pairs(heap, &[(FAMILY.get(), kind), (ADDR.get(), bytes)])
        }
        GET_MAP => {
            let (start, end) = (u64::from_ne_bytes(part(&data, 0)), u64::from_ne_bytes(part(&data, 8)));
            let (start, end) = (heap.unsigned(start), heap.unsigned(end));
            let [irq, dma, port] = part::<3>(&data, 18).map(|byte| Term::small(byte.into()));
            let base = Term::small(u16::from_ne_bytes(part(&data, 16)).into());
            let pairs = [
                (known_atom("mem_start"), start),
                (known_atom("mem_end"), end),
                (known_atom("base_addr"), base),
                (known_atom("irq"), irq),
                (known_atom("dma"), dma),
                (known_atom("port"), port),
            ];
            map::from_pairs(heap, &pairs)
        }
        GET_INDEX | GET_MTU | GET_QUEUE => Term::small(integer.into()),
        _ => address::encode(heap, &part::<16>(&data, 0)),
    };
    ok(caller, value)
}

/// The flags with those of a map `#{Flag => boolean()}` set or reset.
fn changed(before: u16, changes: Term) -> Option<u16> {
    let mut flags = before;
    for (flag, value) in changes.is_map().then(|| MapIter::new(&changes))? {
        let flag = u16::try_from(flag.as_small()?).ok()?;
        match value {
            atoms::TRUE => flags |= flag,
            atoms::FALSE => flags &= !flag,
            _ => return None,
        }
    }
    Some(flags)
}

/// `nif_ioctl(Socket, Request, LazyAtom, Value)`
fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (socket, number, value) = (socket(&arguments[0])?, int(arguments[1])?, arguments[3]);
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let is_known = [SET_FLAGS, SET_MTU, SET_QUEUE].contains(&number);
    if !is_known && !SET_ADDRESS.contains(&number) {
        return posix_error(caller, Errno::NOTSUP);
    }
    let mut data = request(arguments[2])?;
    let (what, bytes) = match number {
        SET_FLAGS => {
            if let Err(error) = ask(descriptor, GET_FLAGS, &mut data) {
                return posix_error(caller, error);
            }
            ("flags", changed(u16::from_ne_bytes(part(&data, 0)), value).map(|flags| flags.to_ne_bytes().to_vec()))
        }
        SET_MTU => ("mtu", int(value).ok().map(|number| number.to_ne_bytes().to_vec())),
        SET_QUEUE => ("tx_qlen", int(value).ok().map(|number| number.to_ne_bytes().to_vec())),
        _ => ("addr", address::decode(value).filter(|bytes| bytes.len() <= REQUEST_BYTES - NAME_BYTES)),
    };
    let Some(bytes) = bytes else { return invalid(caller, what) };
    data[NAME_BYTES..NAME_BYTES + bytes.len()].copy_from_slice(&bytes);
    let result = ask(descriptor, number, &mut data);
    done(caller, result)
}
