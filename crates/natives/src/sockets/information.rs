//! What there is, and what sockets are and have done: `info`, `supports`, commands to the whole.

use std::sync::atomic::Ordering;

use atoll_process::release::release_number;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};

use crate::sockets::options::OPTIONS;
use crate::sockets::sending::MOST_PARTS;
use crate::sockets::socket::{part, socket};
use crate::sockets::state::{COUNT_NAMES, Phase, boolean, open_counts};
use crate::sockets::{address, control, interfaces};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_info", 0, all),
    BuiltIn::new("prim_socket", "nif_info", 1, one),
    BuiltIn::new("prim_socket", "nif_supports", 0, supports),
    BuiltIn::new("prim_socket", "nif_supports", 1, supports_of),
    BuiltIn::new("prim_socket", "nif_command", 1, command),
];

static COMMAND: LazyAtom = LazyAtom::new("command");
static COUNTERS: LazyAtom = LazyAtom::new("counters");
static DATA: LazyAtom = LazyAtom::new("data");
static DEBUG: LazyAtom = LazyAtom::new("debug");
static SOCKET_DEBUG: LazyAtom = LazyAtom::new("socket_debug");
static USE_REGISTRY_KEY: LazyAtom = LazyAtom::new("use_registry");

fn all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let mut counts = open_counts();
    counts.push((known_atom("num_cnt_bits"), Term::small(64)));
    let counts = map::from_pairs(caller.heap(), &counts);
    let pairs = [
        (DEBUG.get(), boolean(part().debugging.load(Ordering::Relaxed))),
        (SOCKET_DEBUG.get(), boolean(part().socket_debugging.load(Ordering::Relaxed))),
        (USE_REGISTRY_KEY.get(), boolean(part().use_registry.load(Ordering::Relaxed))),
        (known_atom("iow"), atoms::FALSE),
        (known_atom("iov_max"), Term::small(MOST_PARTS as i64)),
        (COUNTERS.get(), counts),
    ];
    Ok(map::from_pairs(caller.heap(), &pairs))
}

fn one(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let mut state = socket.lock();
    let (closing, closed) = (state.phase != Phase::Open, state.phase == Phase::Closed);
    let of_reading = [
        (state.bound, "bound"),
        (state.listening, "listening"),
        (state.accepting, "accepting"),
        (state.read_selected, "selected"),
        (closing, "closing"),
        (closed, "closed"),
    ];
    let of_writing = [
        (state.connector.first.is_some(), "connecting"),
        (state.connected, "connected"),
        (state.write_selected, "selected"),
        (closing, "closing"),
        (closed, "closed"),
    ];
    let [_, acceptors, readers, writers] = state.lines().map(|line| Term::small(line.length() as i64));
    let heap = caller.heap();
    let mut names = |states: &[(bool, &str)]| {
        let terms: Vec<Term> = states.iter().filter(|(is, _)| *is).map(|(_, name)| known_atom(name)).collect();
        heap.list(terms)
    };
    let (of_reading, of_writing) = (names(&of_reading), names(&of_writing));
    let mut counts = Vec::with_capacity(COUNT_NAMES.len());
    for (name, count) in COUNT_NAMES.iter().zip(state.counters.0) {
        counts.push((known_atom(name), heap.unsigned(count)));
    }
    let counts = map::from_pairs(heap, &counts);
    let made = match socket.adopted {
        Some(number) => heap.tuple(&[known_atom("fromfd"), Term::small(number.into())]),
        None => atoms::NORMAL,
    };
    let pairs = [
        (known_atom("domain"), address::domain_term(socket.domain)),
        (known_atom("type"), address::kind_term(socket.kind)),
        (known_atom("protocol"), Term::small(socket.protocol.into())),
        (known_atom("owner"), state.owner.unwrap_or(atoms::UNDEFINED)),
        (known_atom("ctype"), made),
        (known_atom("rstates"), of_reading),
        (known_atom("wstates"), of_writing),
        (COUNTERS.get(), counts),
        (known_atom("num_readers"), readers),
        (known_atom("num_writers"), writers),
        (known_atom("num_acceptors"), acceptors),
    ];
    Ok(map::from_pairs(heap, &pairs))
}

fn pairs(heap: &mut (impl Build + ?Sized), of: &[(Term, Term)]) -> Term {
    let pairs: Vec<Term> = of.iter().map(|(name, value)| heap.tuple(&[*name, *value])).collect();
    heap.list(pairs)
}

fn supports(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let known = ["sctp", "ipv6", "local", "netns", "sendfile"].map(|name| (known_atom(name), atoms::TRUE));
    Ok(pairs(caller.heap(), &known))
}

/// `nif_supports(What)`
fn supports_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let what = arguments[0];
    let heap = caller.heap();
    let numbers = |numbers: &[(&str, i32)]| -> Vec<(Term, Term)> {
        numbers.iter().map(|(name, number)| (known_atom(name), Term::small(i64::from(*number)))).collect()
    };
    Ok(match what {
        what if what == known_atom("msg_flags") => pairs(heap, &numbers(&control::FLAGS)),
        what if what == known_atom("ioctl_requests") => pairs(heap, &numbers(&interfaces::REQUESTS)),
        what if what == known_atom("ioctl_flags") => pairs(heap, &numbers(&interfaces::ALL_FLAGS)),
        what if what == known_atom("protocols") => protocols(heap),
        what if what == known_atom("options") => {
            let levels: Vec<Term> = OPTIONS
                .iter()
                .map(|(level, options)| {
                    let (name, number) = level_names(*level);
                    let options: Vec<Term> = options
                        .iter()
                        .map(|option| match option.number {
                            Some(number) => heap.tuple(&[known_atom(option.name), Term::small(number.into())]),
                            None => known_atom(option.name),
                        })
                        .collect();
                    let options = heap.list(options);
                    match (release_number() >= LEVELS_BY_NAME, *level) {
                        (true, _) => heap.tuple(&[name, number, options]),
                        (false, libc::SOL_SOCKET) => heap.tuple(&[name, options]),
                        (false, _) => heap.tuple(&[number, options]),
                    }
                })
                .collect();
            heap.list(levels)
        }
        _ => Term::NIL,
    })
}

/// The first release whose table of options names levels, beside their numbers.
const LEVELS_BY_NAME: u32 = 29;

/// Name and number of a level of options.
fn level_names(level: i32) -> (Term, Term) {
    let named = PROTOCOLS.into_iter().find(|(_, number)| *number == level);
    let name = match level {
        libc::SOL_SOCKET => "socket",
        _ => named.map_or("undefined", |(name, _)| name),
    };
    (known_atom(name), Term::small(level.into()))
}

/// Protocols that are there whatever the system's list says.
const PROTOCOLS: [(&str, i32); 8] = [
    ("ip", libc::IPPROTO_IP),
    ("icmp", libc::IPPROTO_ICMP),
    ("igmp", libc::IPPROTO_IGMP),
    ("tcp", libc::IPPROTO_TCP),
    ("udp", libc::IPPROTO_UDP),
    ("ipv6", libc::IPPROTO_IPV6),
    ("ipv6-icmp", libc::IPPROTO_ICMPV6),
    ("sctp", libc::IPPROTO_SCTP),
];

/// `[{[LazyAtom, ...], Number}]`, by the system's list. Where a number stands there twice the first line counts, which
/// therefore comes last.
fn protocols(heap: &mut (impl Build + ?Sized)) -> Term {
    let list = std::fs::read_to_string("/etc/protocols").unwrap_or_default();
    let mut known: Vec<(Vec<String>, i32)> = list
        .lines()
        .filter_map(|line| {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let name = words.next()?;
            let number = words.next()?.parse().ok()?;
            Some(([name].into_iter().chain(words).map(str::to_owned).collect(), number))
        })
        .collect();
    for (name, number) in PROTOCOLS {
        if !known.iter().any(|(_, known)| *known == number) {
            known.push((vec![name.to_owned(), name.to_uppercase()], number));
        }
    }
    let entries: Vec<Term> = known
        .iter()
        .rev()
        .map(|(names, number)| {
            let names: Vec<Term> = names.iter().map(|name| known_atom(name)).collect();
            let names = heap.list(names);
            heap.tuple(&[names, Term::small(i64::from(*number))])
        })
        .collect();
    heap.list(entries)
}

/// `nif_command(#{command := Command, data := Value})`
fn command(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_map() {
        return Err(badarg());
    }
    let value = match map::get(arguments[0], DATA.get()) {
        Some(atoms::TRUE) => true,
        Some(atoms::FALSE) => false,
        _ => return Err(badarg()),
    };
    match map::get(arguments[0], COMMAND.get()) {
        Some(command) if command == DEBUG.get() => part().debugging.store(value, Ordering::Relaxed),
        Some(command) if command == SOCKET_DEBUG.get() => part().socket_debugging.store(value, Ordering::Relaxed),
        Some(command) if command == USE_REGISTRY_KEY.get() => part().use_registry.store(value, Ordering::Relaxed),
        _ => return Err(badarg()),
    }
    Ok(atoms::OK)
}
