//! Pids, ports and references as text and back.

use atoll_distribution::nodes;
use atoll_process::{BuiltIn, Caller, Outcome, System, badarg};
use atoll_term::{Build, ExternalKind, PID_NUMBER_BITS, Term, text};

use crate::texts::byte_list;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "pid_to_list", 1, pid_to_list),
    BuiltIn::new("erlang", "port_to_list", 1, port_to_list),
    BuiltIn::new("erlang", "ref_to_list", 1, ref_to_list),
    BuiltIn::new("erlang", "list_to_pid", 1, list_to_pid),
    BuiltIn::new("erlang", "list_to_port", 1, list_to_port),
    BuiltIn::new("erlang", "list_to_ref", 1, list_to_ref),
];

fn to_list(caller: &mut Caller<'_>, term: Term, is_one: bool) -> Outcome {
    if is_one { Ok(caller.heap().string(&text::to_string(term))) } else { Err(badarg()) }
}

fn pid_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    to_list(caller, arguments[0], arguments[0].is_pid())
}

fn port_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    to_list(caller, arguments[0], arguments[0].is_port())
}

fn ref_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    to_list(caller, arguments[0], arguments[0].is_reference())
}

/// Longest texts that are read, as in OTP.
const LONGEST_PID: usize = 64;
const LONGEST_PORT: usize = 38;
const LONGEST_REFERENCE: usize = 71;

/// The numbers of `<N.N.N>` behind a prefix: that of the node, 0 for this one, and as many as an identifier has. The
/// text has at most `longest` characters.
fn numbers<const N: usize>(list: Term, prefix: &str, longest: usize) -> Option<(u32, [u64; N])> {
    let bytes = byte_list(list, longest)?;
    let inside = std::str::from_utf8(&bytes).ok()?.strip_prefix(prefix)?.strip_prefix('<')?.strip_suffix('>')?;
    let mut parts = inside.split('.').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<u64>().ok() } else { None }
    });
    let node = u32::try_from(parts.next()??).ok()?;
    let mut found = [0; N];
    for number in &mut found {
        *number = parts.next()??;
    }
    parts.next().is_none().then_some((node, found))
}

/// An identifier of a node to which there is a connection. Other nodes' numbers have 32 bits each, but for ports.
fn of_another(caller: &mut Caller<'_>, kind: ExternalKind, node: u32, data: &[u64]) -> Outcome {
    let fits = kind == ExternalKind::Port || data.iter().all(|number| number >> u32::BITS == 0);
    let (name, creation) = nodes::numbered(node).filter(|_| fits).ok_or_else(badarg)?;
    Ok(caller.heap().external(kind, name, creation, data))
}

/// Bits of a serial that a pid of OTP can have. Serials of this machine go beyond, as pids never come again.
const PID_SERIAL_BITS: u32 = 13;

fn list_to_pid(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some((node, [number, serial])) = numbers(arguments[0], "", LONGEST_PID) else { return Err(badarg()) };
    if node != 0 {
        return of_another(caller, ExternalKind::Pid, node, &[number, serial]);
    }
    if number >> PID_NUMBER_BITS != 0 || serial >> u32::BITS != 0 {
        return Err(badarg());
    }
    let pid = Term::pid_of(number, serial);
    let is_possible = serial >> PID_SERIAL_BITS == 0 || pid.immediate_data() < System::get().table.next_number();
    if is_possible { Ok(pid) } else { Err(badarg()) }
}

/// Bits of a port's number.
const PORT_BITS: u32 = 28;

fn list_to_port(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match numbers(arguments[0], "#Port", LONGEST_PORT) {
        Some((node @ 1.., data @ [_])) => of_another(caller, ExternalKind::Port, node, &data),
        Some((0, [number])) if number >> PORT_BITS == 0 => Ok(Term::port(number)),
        _ => Err(badarg()),
    }
}

/// Bits of a reference's first number.
const REFERENCE_BITS: u32 = 18;

fn list_to_ref(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some((node, numbers)) = numbers::<3>(arguments[0], "#Ref", LONGEST_REFERENCE) else { return Err(badarg()) };
    // The text has the last number first.
    if node != 0 {
        let [last, middle, first] = numbers;
        return of_another(caller, ExternalKind::Reference, node, &[first, middle, last]);
    }
    match numbers.map(u32::try_from) {
        [Ok(last), Ok(middle), Ok(first)] if first >> REFERENCE_BITS == 0 => {
            Ok(caller.heap().reference([first, middle, last], None))
        }
        _ => Err(badarg()),
    }
}
