//! The name of the node, and other nodes.

use atoll_distribution::node::{Carrier, Phase};
use atoll_distribution::watching::{self, Change};
use atoll_distribution::{Kept, nodes};
use atoll_operations::guards::as_boolean;
use atoll_operations::list;
use atoll_process::{BuiltIn, Caller, Outcome, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, View, atoms, map, set_this_node, this_node};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "node", 0, node),
    BuiltIn::new("erlang", "node", 1, node_of),
    BuiltIn::new("erlang", "nodes", 0, visible_nodes),
    BuiltIn::new("erlang", "nodes", 1, nodes_of),
    BuiltIn::new("erlang", "nodes", 2, nodes_of),
    BuiltIn::new("erlang", "setnode", 2, set_node),
    BuiltIn::new("erts_internal", "get_creation", 0, creation),
    BuiltIn::new("erts_internal", "new_connection", 1, new_connection),
    BuiltIn::new("erts_internal", "abort_pending_connection", 2, abort_pending_connection),
];

/// Longest name of a node, in characters.
const LONGEST_NAME: usize = 255;

/// This node's name.
pub fn this() -> Term {
    this_node().0
}

/// Whether it was named.
pub fn has_name() -> bool {
    this() != atoms::NONODE_NOHOST
}

fn node(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(this())
}

fn node_of(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match arguments[0].view() {
        View::Pid(_) | View::Port(_) | View::Reference(_) => Ok(this()),
        View::External(external) => Ok(external.node),
        _ => Err(badarg()),
    }
}

fn visible_nodes(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    nodes_of(caller, &[atoms::VISIBLE])
}

/// `nodes(Kind)`, `nodes(Kind, Options)`
fn nodes_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let kinds = list::elements(arguments[0]).unwrap_or_else(|| vec![arguments[0]]);
    let (mut this_one, mut known, mut visible, mut hidden) = (false, false, false, false);
    for kind in kinds {
        if !kind.is_atom() {
            return Err(badarg());
        }
        match atoms::atom_name(kind) {
            "this" => this_one = true,
            "known" => known = true,
            "visible" => visible = true,
            "hidden" => hidden = true,
            "connected" => (visible, hidden) = (true, true),
            _ => return Err(badarg()),
        }
    }
    let (mut tells_connection, mut tells_kind) = (false, false);
    if let Some(options) = arguments.get(1) {
        let read = |key: &str| match map::get(*options, known_atom(key)) {
            Some(value) => as_boolean(value).ok_or_else(badarg),
            None => Ok(false),
        };
        if !options.is_map() {
            return Err(badarg());
        }
        (tells_connection, tells_kind) = (read("connection_id")?, read("node_type")?);
    }
    let mut rows: Vec<(Term, Option<u32>, Term)> = Vec::new();
    if this_one || known {
        rows.push((this(), None, known_atom("this")));
    }
    for other in nodes::all() {
        let (phase, connection, is_published) = other.status();
        let is_up = phase == Phase::Up;
        if known || is_up && (if is_published { visible } else { hidden }) {
            let kind = match (is_up, is_published) {
                (false, _) => known_atom("known"),
                (true, true) => atoms::VISIBLE,
                (true, false) => atoms::HIDDEN,
            };
            rows.push((other.name, is_up.then_some(connection), kind));
        }
    }
    let with_information = arguments.len() > 1;
    let heap = caller.heap();
    let mut shown = Vec::with_capacity(rows.len());
    for (node, connection, kind) in rows {
        if !with_information {
            shown.push(node);
            continue;
        }
        let mut pairs = Vec::new();
        if tells_connection {
            let number = connection.map_or(atoms::UNDEFINED, |number| Term::small(number.into()));
            pairs.push((known_atom("connection_id"), number));
        }
        if tells_kind {
            pairs.push((known_atom("node_type"), kind));
        }
        let information = map::from_pairs(heap, &pairs);
        shown.push(heap.tuple(&[node, information]));
    }
    Ok(heap.list(shown))
}

/// `setnode(Name, Creation)`: `net_kernel` names the node, once.
fn set_node(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, creation] = arguments else { return Err(badarg()) };
    let creation = creation.as_small().and_then(|creation| u32::try_from(creation).ok()).ok_or_else(badarg)?;
    let is_name = node.is_atom() && is_node_name(atoms::atom_name(node)) && node != atoms::NONODE_NOHOST;
    let kernel = System::get().whereis(atoms::NET_KERNEL).filter(|_| is_name && !has_name()).ok_or_else(badarg)?;
    set_this_node(node, creation);
    atoll_distribution::set_kernel(kernel);
    watching::tell(Change::Up, node, 0, true);
    Ok(atoms::TRUE)
}

/// Whether a name has two parts, of which the second is a host's.
fn is_node_name(name: &str) -> bool {
    name.chars().count() <= LONGEST_NAME
        && name.split_once('@').is_some_and(|(own, host)| !own.is_empty() && !host.is_empty() && !host.contains('@'))
}

fn creation(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(if has_name() { Term::small(this_node().1.into()) } else { atoms::UNDEFINED })
}

/// `new_connection(Node)`: the handle of a connection that is being made, or is there.
fn new_connection(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let node = arguments[0];
    if !node.is_atom() || node == this() {
        return Err(badarg());
    }
    let (_, handle) = nodes::find_or_add(node).begin();
    Ok(handle.term(caller.heap()))
}

/// `abort_pending_connection(Node, Handle)`
fn abort_pending_connection(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let handle = atoll_distribution::node::Handle::of(arguments[1]).ok_or_else(badarg)?;
    let node = nodes::find(arguments[0]).filter(|node| node.is_handle(handle));
    let aborted = node.is_some_and(|node| {
        let (phase, connection, _) = node.status();
        phase == Phase::Pending
            && node.carrier() == Carrier::None
            && node.end(connection, Kept::of(atoms::NOCONNECTION))
    });
    Ok(Term::boolean(aborted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes_have_two_parts() {
        assert!(is_node_name("a@b") && is_node_name("one.two@host.domain"));
        assert!(!is_node_name("a") && !is_node_name("@b") && !is_node_name("a@") && !is_node_name("a@b@c"));
        assert!(!is_node_name(&format!("{}@b", "a".repeat(LONGEST_NAME))));
    }
}
