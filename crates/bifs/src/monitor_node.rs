//! Processes that hear when another node is lost, and what that needs.

use atoll_distribution::{nodes, tell};
use atoll_operations::guards::as_boolean;
use atoll_operations::list;
use atoll_process::{BuiltIn, Caller, Outcome, badarg, remote};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::errors::error_with_cause;
use crate::node::{has_name, this};
use crate::tail_calls::go_on_in;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] =
    &[BuiltIn::new("erlang", "monitor_node", 2, monitor_node), BuiltIn::new("erlang", "monitor_node", 3, monitor_node)];

/// Whether it was named, or is to get a name from the first node that it connects to (`is_alive/0`).
pub fn is_alive(caller: &mut Caller<'_>) -> bool {
    has_name() || {
        // Where OTP's code notes it.
        let key = [known_atom("erts_internal"), known_atom("dynamic_node_name")];
        crate::persistent_term::holds(caller.heap().tuple(&key))
    }
}

/// `monitor_node(Node, Bool, Options)`
fn monitor_node(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, on, ..] = arguments else { return Err(badarg()) };
    let Some(on) = as_boolean(on).filter(|_| node.is_atom()) else { return Err(badarg()) };
    let mut may_be_passive = false;
    for option in list::elements(arguments.get(2).copied().unwrap_or(Term::NIL)).ok_or_else(badarg)? {
        if option != known_atom("allow_passive_connect") {
            return Err(badarg());
        }
        may_be_passive = true;
    }
    if node == this() {
        return Ok(atoms::TRUE);
    }
    if !is_alive(caller) {
        return Err(error_with_cause(caller, known_atom("notalive"), known_atom("notalive")));
    }
    let me = caller.process.pid;
    if !on {
        if let Some(node) = nodes::find(node) {
            node.remove_monitor(me);
        }
        return Ok(atoms::TRUE);
    }
    // OTP waits for a connection from the other side.
    if may_be_passive && nodes::way_to(node, false).is_none() {
        let arguments = vec![node, atoms::TRUE, arguments[2]];
        return go_on_in("erlang", "dmonitor_node", arguments);
    }
    let is_watched = nodes::way_to(node, true).is_some_and(|(other, line)| {
        remote::watch(me, caller.own, node, line.connection) && other.add_monitor(line.connection, me)
    });
    if is_watched {
        caller.process.at_end.note_work();
    } else {
        tell(me, |heap| heap.tuple(&[atoms::NODEDOWN, node]));
    }
    Ok(atoms::TRUE)
}
