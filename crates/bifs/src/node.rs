//! The node's name. A node can have one, so that what is started with `-sname` runs; other nodes cannot be connected:
//! they are always down.

use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::{Build, Term, View, atoms, set_this_node, this_node};

use crate::process_support::{badarg, error_with_cause, list_elements, name};
use crate::spawn::boolean;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "node", arity: 0, function: node },
    BuiltIn { module: "erlang", name: "node", arity: 1, function: node_of },
    BuiltIn { module: "erlang", name: "nodes", arity: 0, function: no_nodes },
    BuiltIn { module: "erlang", name: "nodes", arity: 1, function: nodes },
    BuiltIn { module: "erlang", name: "nodes", arity: 2, function: nodes },
    BuiltIn { module: "erlang", name: "is_alive", arity: 0, function: is_alive },
    BuiltIn { module: "erlang", name: "monitor_node", arity: 2, function: monitor_node },
    BuiltIn { module: "erlang", name: "monitor_node", arity: 3, function: monitor_node },
    BuiltIn { module: "erlang", name: "setnode", arity: 2, function: set_node },
    BuiltIn { module: "erts_internal", name: "get_creation", arity: 0, function: creation },
    BuiltIn { module: "erts_internal", name: "new_connection", arity: 1, function: new_connection },
    BuiltIn { module: "erts_internal", name: "abort_pending_connection", arity: 2, function: abort_pending_connection },
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

fn no_nodes(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::NIL)
}

/// `nodes(Kind)`, `nodes(Kind, Options)`: this node alone.
fn nodes(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let kinds = list_elements(arguments[0]).unwrap_or_else(|| vec![arguments[0]]);
    let mut wants_this = false;
    for kind in kinds {
        if !kind.is_atom() {
            return Err(badarg());
        }
        match atoms::atom_name(kind) {
            "this" | "known" => wants_this = true,
            "visible" | "hidden" | "connected" => {}
            _ => return Err(badarg()),
        }
    }
    let with_information = match arguments.get(1) {
        None => false,
        Some(options) if options.is_map() => true,
        Some(_) => return Err(badarg()),
    };
    if !wants_this {
        return Ok(Term::NIL);
    }
    let node = if with_information {
        let information = atoll_term::map::empty(caller.heap());
        caller.heap().tuple(&[this(), information])
    } else {
        this()
    };
    Ok(caller.heap().list([node]))
}

fn is_alive(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::boolean(has_name()))
}

/// `monitor_node(Node, Bool, …)`: other nodes are down, which a node with a name says at once.
fn monitor_node(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, on, ..] = arguments else { return Err(badarg()) };
    let Some(on) = boolean(on).filter(|_| node.is_atom()) else { return Err(badarg()) };
    if node == this() {
        return Ok(atoms::TRUE);
    }
    if !has_name() {
        return Err(error_with_cause(caller, name("notalive"), name("notalive")));
    }
    if on {
        let pid = caller.process.pid;
        let message = caller.heap().tuple(&[name("nodedown"), node]);
        let fragment = atoll_heap::architecture().send(Some(caller.heap()), message);
        System::get().deliver_or_answer(pid, fragment);
    }
    Ok(atoms::TRUE)
}

/// `setnode(Name, Creation)`: `net_kernel` names the node, once.
fn set_node(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, creation] = arguments else { return Err(badarg()) };
    let creation = creation.as_small().and_then(|creation| u32::try_from(creation).ok()).ok_or_else(badarg)?;
    let is_name = node.is_atom() && is_node_name(atoms::atom_name(node)) && node != atoms::NONODE_NOHOST;
    let is_kernel = System::get().whereis(name("net_kernel")).is_some();
    if !is_name || !is_kernel || has_name() {
        return Err(badarg());
    }
    set_this_node(node, creation);
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

/// There are no connections to give an identifier to; `net_kernel` says so and takes the node for down.
fn new_connection(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(badarg())
}

fn abort_pending_connection(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::FALSE)
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
