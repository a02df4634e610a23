//! What crash dumps and `system_info(dist)` say of other nodes.

use std::collections::HashMap;
use std::fmt::Write;

use atoll_process::remote::{Remote, RemotePid, RemoteTarget};
use atoll_process::{Own, System};
use atoll_term::text::to_string;
use atoll_term::{Term, this_node};

use crate::node::Shown;
use crate::{nodes, watching};

/// The lines about the links and monitors of processes, by the node of the other process.
type Relations = HashMap<Term, String>;

/// A section for this node and one for each that is known, with the links and monitors of the processes that `each`
/// visits. A node whose lock is held, as can be after a crash, is left out.
pub fn text(each: impl FnOnce(&mut dyn FnMut(Term, &mut Own))) -> String {
    let mut text = format!("=node:{}\n", to_string(this_node().0));
    let mut shown: Vec<Shown> = nodes::all().iter().filter_map(|node| node.show()).collect();
    // As OTP has them: the published ones first, those without a connection last.
    shown.sort_by_key(|node| (node.carrier.is_none(), node.is_hidden));
    if shown.is_empty() {
        text.push_str("=no_distribution\n");
    }
    let mut relations = Relations::new();
    each(&mut |pid, own| relations_of(pid, own, &mut relations));
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
            text.push_str(relations.get(&node.name).map_or("", String::as_str));
        }
        for pid in node.monitors {
            let _ = writeln!(text, "Remote monitoring: {} {name}", to_string(pid));
        }
    }
    text
}

/// Visits the processes that wait.
pub fn each_waiting(visit: &mut dyn FnMut(Term, &mut Own)) {
    System::get().table.each(|process| {
        process.inspect(&mut |own| visit(process.pid, own));
    });
}

fn relations_of(pid: Term, own: &mut Own, found: &mut Relations) {
    let (Some(remote), pid) = (own.known_remote(), to_string(pid)) else { return };
    let Remote { monitored_by, monitoring, .. } = &*remote;
    let mut note = |node: Term, line: String| found.entry(node).or_default().push_str(&line);
    for one in monitored_by.values() {
        note(one.watcher.node, format!("Remotely monitored by: {pid} {}\n", shown(one.watcher)));
    }
    for one in monitoring.values() {
        let target = match one.target {
            RemoteTarget::Pid(other) => shown(other),
            RemoteTarget::Name { name, node } => format!("{{{}, {}}}", to_string(name), to_string(node)),
        };
        note(one.target.node(), format!("Remote monitoring: {pid} {target}\n"));
    }
    // OTP names the other process first.
    for other in remote.linked() {
        note(other.node, format!("Remote link: {} {pid}\n", shown(other)));
    }
}

/// As the text of such a pid.
fn shown(pid: RemotePid) -> String {
    format!("<{}.{}.{}>", pid.node.atom_index(), pid.number, pid.serial)
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
