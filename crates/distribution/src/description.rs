//! What crash dumps and `system_info(dist)` say of other nodes.

use std::fmt::Write;

use atoll_term::text::to_string;
use atoll_term::{Term, this_node};

use crate::node::Shown;
use crate::{nodes, watching};

/// A section for this node and one for each that is known. Links and monitors stand with the processes that have them.
/// A node whose lock is held, as can be after a crash, is left out.
pub fn text() -> String {
    let mut text = format!("=node:{}\n", to_string(this_node().0));
    let mut shown: Vec<Shown> = nodes::all().iter().filter_map(|node| node.show()).collect();
    // As OTP has them: the published ones first, those without a connection last.
    shown.sort_by_key(|node| (node.carrier.is_none(), node.is_hidden));
    if shown.is_empty() {
        text.push_str("=no_distribution\n");
    }
    for node in shown {
        let kind = match (node.carrier, node.is_hidden) {
            (None, _) => "not_connected",
            (_, true) => "hidden_node",
            (_, false) => "visible_node",
        };
        let name = to_string(node.name);
        let _ = writeln!(text, "={kind}:{}\nName: {name}", node.name.atom_index());
        if let Some(carrier) = node.carrier {
            let _ = writeln!(text, "Controller: {}\nCreation: {}", to_string(carrier), node.creation);
        }
        for pid in node.monitors {
            let _ = writeln!(text, "Remote monitoring: {} {name}", to_string(pid));
        }
    }
    text
}

/// The port or process that carries the connection to a node, if there is one.
pub fn carrier(name: Term) -> Option<Term> {
    nodes::find(name)?.show()?.carrier
}

/// Each process that gets messages about nodes, once for each message, with its wish.
pub fn watchers() -> Vec<(Term, watching::Wish)> {
    let each = |(pid, wish, count): (Term, watching::Wish, u32)| (0..count).map(move |_| (pid, wish));
    watching::wishes().into_iter().flat_map(each).collect()
}
