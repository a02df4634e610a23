//! What OTP does with the carrier of a connection to another node.

use std::sync::Arc;

use atoll_distribution::node::{Carrier, Handle, Node};
use atoll_distribution::watching::{self, Change};
use atoll_distribution::{flags, nodes, tell};
use atoll_operations::guards::as_boolean;
use atoll_operations::iolist::iolist_bytes;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::node::{has_name, this};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "create_dist_channel", 3, create_channel),
    BuiltIn::new("erlang", "dist_ctrl_input_handler", 2, input_handler),
    BuiltIn::new("erlang", "dist_ctrl_put_data", 2, put_data),
    BuiltIn::new("erlang", "dist_ctrl_get_data", 1, get_data),
    BuiltIn::new("erlang", "dist_ctrl_get_data_notification", 1, get_notification),
    BuiltIn::new("erlang", "dist_ctrl_get_opt", 2, get_option),
    BuiltIn::new("erlang", "dist_ctrl_set_opt", 3, set_option),
    BuiltIn::new("erlang", "dist_get_stat", 1, counts),
];

/// `create_dist_channel(Node, PortOrPid, {Flags, Creation})`: the connection is made.
fn create_channel(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, carrier, settings] = arguments else { return Ok(atoms::BADARG) };
    let Some(&[agreed, creation]) = settings.tuple_elements() else { return Ok(atoms::BADARG) };
    let (Some(agreed), Some(creation)) = (agreed.to_u64(), creation.to_u64().and_then(|one| u32::try_from(one).ok()))
    else {
        return Ok(atoms::BADARG);
    };
    let system = System::get();
    let kind = match carrier {
        port if port.is_local_port() => Carrier::Port(port),
        pid if pid.is_local_pid() => Carrier::Process(pid),
        _ => return Ok(atoms::BADARG),
    };
    let kernel = system.whereis(atoms::NET_KERNEL);
    let (Some(kernel), true) = (kernel, node.is_atom() && node != this() && has_name()) else {
        return Ok(atoms::BADARG);
    };
    if let Carrier::Process(pid) = kind
        && system.table.with(pid, |process| process.at_end.note_work()).is_none()
    {
        return Ok(atoms::BADARG);
    }
    let other = nodes::find_or_add(node);
    let Some(handle) = other.connected(kind, agreed, creation) else { return Ok(atoms::BADARG) };
    let me = caller.process.pid;
    tell(kernel, |heap| heap.tuple(&[known_atom("dist_ctrlr"), carrier, node, me]));
    watching::tell(Change::Up, node, handle.connection, agreed & flags::PUBLISHED != 0);
    other.flush();
    let handle = handle.term(caller.heap());
    Ok(caller.heap().tuple(&[atoms::OK, handle]))
}

fn find(handle: Term) -> Result<(Arc<Node>, Handle), Interrupt> {
    let handle = Handle::of(handle).ok_or_else(badarg)?;
    Ok((nodes::of_handle(handle).ok_or_else(badarg)?, handle))
}

/// `dist_ctrl_input_handler(Handle, Pid)`
fn input_handler(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (node, _) = find(arguments[0])?;
    let pid = arguments[1];
    if !pid.is_local_pid() || !node.set_input_handler(caller.process.pid, pid) {
        return Err(badarg());
    }
    Ok(atoms::OK)
}

/// `dist_ctrl_put_data(Handle, Data)`: a packet has come.
fn put_data(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (node, handle) = find(arguments[0])?;
    let data = iolist_bytes(arguments[1]).map_err(|_| badarg())?;
    if !node.may_put(caller.process.pid) {
        return Err(badarg());
    }
    caller.reductions -= data.len() as i64 / 100;
    node.put(handle.connection, &data);
    Ok(atoms::OK)
}

fn carried(caller: &Caller<'_>, handle: Term) -> Result<Arc<Node>, Interrupt> {
    let (node, _) = find(handle)?;
    if node.carrier() == Carrier::Process(caller.process.pid) { Ok(node) } else { Err(badarg()) }
}

/// `dist_ctrl_get_data(Handle)`: the next packet that is to be sent.
fn get_data(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let node = carried(caller, arguments[0])?;
    let Some((packet, wants_sizes)) = node.take_packet() else { return Ok(atoms::NONE) };
    caller.reductions -= packet.len() as i64 / 100;
    let heap = caller.heap();
    let binary = heap.binary(&packet);
    let data = heap.list([binary]);
    Ok(if wants_sizes { heap.tuple(&[Term::small(packet.len() as i64), data]) } else { data })
}

/// `dist_ctrl_get_data_notification(Handle)`: the caller gets `dist_data` when there is a packet.
fn get_notification(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    carried(caller, arguments[0])?.ask_notice();
    Ok(atoms::OK)
}

/// `dist_ctrl_get_opt(Handle, get_size)`
fn get_option(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let node = carried(caller, arguments[0])?;
    if arguments[1] != known_atom("get_size") {
        return Err(badarg());
    }
    Ok(Term::boolean(node.sizes_option(None)))
}

/// `dist_ctrl_set_opt(Handle, get_size, Bool)`
fn set_option(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let node = carried(caller, arguments[0])?;
    let on = as_boolean(arguments[2]).filter(|_| arguments[1] == known_atom("get_size")).ok_or_else(badarg)?;
    Ok(Term::boolean(node.sizes_option(Some(on))))
}

/// `dist_get_stat(Handle)`: `{ok, PacketsIn, PacketsOut, Waiting}`
fn counts(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (node, _) = find(arguments[0])?;
    let (incoming, outgoing, waiting) = node.counts();
    let numbers = [incoming as i64, outgoing as i64, waiting as i64].map(Term::small);
    Ok(caller.heap().tuple(&[&[atoms::OK][..], &numbers].concat()))
}
