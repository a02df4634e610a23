//! What processes of this node tell those of others, as control messages.

use std::sync::Arc;

use atoll_code::Resolver;
use atoll_etf::{EncodeError, ForChannel, decode_behind_header};
use atoll_heap::architecture;
use atoll_process::remote::{
    self, Connection, Distribution, RemotePid, RemoteSignal, RemoteSpawn, RemoteTarget, SendOptions, Sent, Tell,
};
use atoll_process::sequence::Mark;
use atoll_process::{Own, ReferenceId, System, sequence, tracing, watch};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ExternalKind, ScratchHeap, Term, View, atoms, this_node};

use crate::node::{Carrier, Line, Node};
use crate::nodes::{self, way_to};
use crate::output::Item;
use crate::{control, flags, token};

/// The nodes, as processes see them.
pub struct Nodes;

/// A control message being written.
pub(crate) struct Message {
    encoder: ForChannel,
    result: Result<(), EncodeError>,
}

impl Message {
    /// One with this number and so many elements behind it, for a connection.
    pub fn new(line: Line, number: i64, elements: u8) -> Message {
        let mut encoder = ForChannel::new(line.flags & flags::HEADER != 0, this_node());
        encoder.begin();
        encoder.tuple(elements + 1);
        encoder.integer(number);
        Message { encoder, result: Ok(()) }
    }

    /// The next element.
    pub fn term(mut self, term: Term) -> Message {
        if self.result.is_ok() {
            self.result = self.encoder.term(term);
        }
        self
    }

    /// The next element, a small integer.
    pub fn integer(mut self, value: i64) -> Message {
        self.encoder.integer(value);
        self
    }

    /// The next element.
    pub fn pid(mut self, pid: RemotePid) -> Message {
        self.encoder.pid((pid.node, pid.creation), pid.number, pid.serial);
        self
    }

    /// The next element: a reference of this node.
    pub fn own_reference(mut self, reference: ReferenceId) -> Message {
        self.encoder.reference(this_node(), &reference.0);
        self
    }

    /// The next element.
    pub fn reference(mut self, reference: &remote::RemoteReference) -> Message {
        self.encoder.reference((reference.node, reference.creation), reference.numbers());
        self
    }

    /// Sends it, with a payload if there is one. If that is too large, the other node cannot be told what it has to
    /// know, so the connection ends.
    pub fn send(self, node: &Node, line: Line, sender: Term, payload: Option<Term>) {
        if self.try_send(node, line, sender, payload) == Err(EncodeError::TooLarge)
            && let Some(node) = nodes::find(node.name)
        {
            nodes::end(&node, line.connection, known_atom("system_limit"));
        }
    }

    /// Sends it, with a payload if there is one.
    ///
    /// # Errors
    /// It cannot be encoded; nothing is sent.
    pub fn try_send(mut self, node: &Node, line: Line, sender: Term, payload: Option<Term>) -> Result<(), EncodeError> {
        let control = self.encoder.length();
        if let Some(payload) = payload {
            self.encoder.begin();
            self = self.term(payload);
        }
        self.result?;
        let (bytes, atoms) = self.encoder.finish();
        node.push(line.connection, Item { sender: sender.word(), bytes, control, atoms });
        node.flush();
        Ok(())
    }
}

/// An item that was encoded before it was known what the other node can do.
pub(crate) enum Fitted {
    /// This is to be sent.
    Sent(Item),
    /// The other node can do nothing with it.
    Dropped,
    /// It asks for a process (its reference, the process that asks), which the other node cannot make.
    Refused(ReferenceId, Term),
}

/// What becomes of an item for a node with these flags.
pub(crate) fn fitted(item: Item, agreed: u64) -> Fitted {
    if agreed & flags::HEADER != 0 || item.atoms.is_none() {
        return Fitted::Sent(item);
    }
    if agreed & flags::SPAWN == 0
        && let Some((reference, asker)) = asked_by(&item)
    {
        return Fitted::Refused(reference, asker);
    }
    rewritten(item, agreed).map_or(Fitted::Dropped, Fitted::Sent)
}

/// The reference of a request for a process, and who asks.
fn asked_by(item: &Item) -> Option<(ReferenceId, Term)> {
    let mut bytes = Vec::new();
    item.bytes.copy(0, item.control, &mut bytes);
    let mut scratch = ScratchHeap::new();
    let (control, _) = decode_behind_header(&bytes, item.atoms.as_deref()?, &mut Resolver, &mut scratch).ok()?;
    match control.tuple_elements()? {
        [number, reference, asker, ..]
            if matches!(number.as_small(), Some(control::SPAWN_REQUEST | control::SPAWN_REQUEST_TT)) =>
        {
            Some((ReferenceId::of(*reference)?, *asker))
        }
        _ => None,
    }
}

/// Tells a process that the other node cannot make processes.
pub(crate) fn refuse(connection: Connection, reference: ReferenceId, asker: Term) {
    let spawned = RemoteSignal::Spawned { reference, child: None, connection, mark: Mark::Neutral };
    let answer = remote::signal_with(architecture().send_copy(known_atom("notsup")), spawned);
    System::get().deliver_or_answer(asker, answer);
}

/// An item for a node without headers.
fn rewritten(item: Item, agreed: u64) -> Option<Item> {
    let cached = item.atoms.as_deref()?;
    let mut scratch = ScratchHeap::new();
    let bytes = item.bytes.into_bytes();
    let (control, taken) = decode_behind_header(&bytes, cached, &mut Resolver, &mut scratch).ok()?;
    let payload = match &bytes[taken..] {
        [] => None,
        rest => Some(decode_behind_header(rest, cached, &mut Resolver, &mut scratch).ok()?.0),
    };
    let (parts, payload) = known_to(agreed, control.tuple_elements()?.to_vec(), payload)?;
    let mut encoder = ForChannel::new(false, this_node());
    encoder.begin();
    encoder.term(scratch.tuple(&parts)).ok()?;
    let control = encoder.length();
    if let Some(payload) = payload {
        encoder.begin();
        encoder.term(payload).ok()?;
    }
    let (bytes, atoms) = encoder.finish();
    Some(Item { sender: item.sender, bytes, control, atoms })
}

/// A control message and its payload as a node with these flags knows them.
fn known_to(agreed: u64, mut parts: Vec<Term>, payload: Option<Term>) -> Option<(Vec<Term>, Option<Term>)> {
    let number = parts.first()?.as_small()?;
    let needed = match number {
        control::MONITOR_P | control::DEMONITOR_P | control::MONITOR_P_EXIT | control::PAYLOAD_MONITOR_P_EXIT => {
            flags::MONITOR
        }
        control::SPAWN_REQUEST | control::SPAWN_REQUEST_TT => flags::SPAWN,
        control::ALIAS_SEND | control::ALIAS_SEND_TT => flags::ALIAS,
        _ => 0,
    };
    if agreed & needed != needed {
        return None;
    }
    if matches!(number, control::SEND_SENDER | control::SEND_SENDER_TT) && agreed & flags::SEND_SENDER == 0 {
        let plain = if number == control::SEND_SENDER { control::SEND } else { control::SEND_TT };
        (parts[0], parts[1]) = (Term::small(plain), known_atom(""));
    }
    let with_reason = match number {
        control::PAYLOAD_EXIT => control::EXIT,
        control::PAYLOAD_EXIT_TT => control::EXIT_TT,
        control::PAYLOAD_EXIT2 => control::EXIT2,
        control::PAYLOAD_EXIT2_TT => control::EXIT2_TT,
        control::PAYLOAD_MONITOR_P_EXIT => control::MONITOR_P_EXIT,
        _ => return Some((parts, payload)),
    };
    if agreed & flags::EXIT_PAYLOAD != 0 {
        return Some((parts, payload));
    }
    parts[0] = Term::small(with_reason);
    parts.extend(payload);
    Some((parts, None))
}

/// Whether a node lets its processes be watched; one that does not is told nothing of monitors.
fn can_watch(line: Line) -> bool {
    line.flags & flags::MONITOR == flags::MONITOR
}

impl Distribution for Nodes {
    fn send(&self, sender: Term, own: &mut Own, destination: Term, message: Term, options: SendOptions) -> Sent {
        let name = match destination.view() {
            View::External(external) if external.kind != ExternalKind::Port => external.node,
            View::Tuple(&[_, node]) => node,
            _ => return Sent::Done,
        };
        let Some((node, line)) = way_to(name, options.connect) else {
            return if options.connect { Sent::Done } else { Sent::NotConnected };
        };
        if !options.suspend && node.is_busy() {
            return Sent::Full;
        }
        let token = if own.flags.traced() { told(sender, own, line, destination, message) } else { Term::NONE };
        let begin = |plain: i64, with_token: i64, elements: u8| match token.is_none() {
            true => Message::new(line, plain, elements),
            false => Message::new(line, with_token, elements + 1),
        };
        let control = match destination.view() {
            View::Tuple(&[name, _]) => {
                let message = begin(control::REG_SEND, control::REG_SEND_TT, 3).term(sender);
                message.term(known_atom("")).term(name)
            }
            View::External(external) if external.kind == ExternalKind::Reference => {
                if line.flags & flags::ALIAS == 0 {
                    return Sent::Done;
                }
                begin(control::ALIAS_SEND, control::ALIAS_SEND_TT, 2).term(sender).term(destination)
            }
            _ if line.flags & flags::SEND_SENDER != 0 => {
                begin(control::SEND_SENDER, control::SEND_SENDER_TT, 2).term(sender).term(destination)
            }
            _ => begin(control::SEND, control::SEND_TT, 2).term(known_atom("")).term(destination),
        };
        let control = if token.is_none() { control } else { control.term(token) };
        if control.try_send(&node, line, sender, Some(message)) == Err(EncodeError::TooLarge) {
            return Sent::TooLarge;
        }
        if options.suspend && wait_if_busy(sender, own, &node) { Sent::Busy } else { Sent::Done }
    }

    fn tell(&self, from: Term, connection: Connection, what: Tell) {
        let Some(node) = nodes::find(what.node()) else { return };
        let Some(line) = node.line().filter(|line| line.connection == connection) else { return };
        tell(&node, line, from, what);
    }

    fn watch(&self, node: Term, connection: Connection, pid: Term) -> bool {
        nodes::find(node).is_some_and(|node| node.watch(connection, pid))
    }

    fn forget(&self, node: Term, connection: Connection, pid: Term) {
        // The reason of its end is long. It does not wait until that has left; in OTP it does, and the system monitor
        // hears of that.
        if let Some(node) = nodes::find(node)
            && node.forget(connection, pid)
        {
            tell_busy(pid, &node);
        }
    }

    fn ended(&self, pid: Term, reason: Term) {
        crate::process_ended(pid, reason);
    }
}

/// A process that is traced or has a token sends: the token that goes along (on its heap), or `NONE`.
#[cold]
fn told(sender: Term, own: &mut Own, line: Line, destination: Term, message: Term) -> Term {
    tracing::event(sender, own, tracing::SEND, "send", &[message, destination]);
    if own.token().is_none() {
        return Term::NONE;
    }
    sequence::sent(sender, own, destination, message);
    Some(own.token_term()).filter(|token| token::can_go(line, *token)).unwrap_or(Term::NONE)
}

/// Suspends a process if more waits for the connection than there should; whether it did.
fn wait_if_busy(pid: Term, own: &mut Own, node: &Node) -> bool {
    let waits_never = own.rare.as_ref().is_some_and(|rare| rare.async_dist);
    if waits_never || !node.suspend(pid) {
        return false;
    }
    own.rare().suspended += 1;
    tell_busy(pid, node);
    true
}

/// Tells the system monitor that signals of this process wait for a connection.
fn tell_busy(pid: Term, node: &Node) {
    if let Some(watch) = watch::watch().filter(|watch| watch.busy_distribution_port && watch.pid != pid) {
        let carrier = match node.carrier() {
            Carrier::Port(carrier) | Carrier::Process(carrier) => carrier,
            Carrier::None => atoms::UNDEFINED,
        };
        let what = known_atom("busy_dist_port");
        crate::node::tell(watch.pid, |heap| heap.tuple(&[known_atom("monitor"), pid, what, carrier]));
    }
}

fn tell(node: &Node, line: Line, from: Term, what: Tell) {
    let has_payloads = line.flags & flags::EXIT_PAYLOAD != 0;
    match what {
        Tell::Unlink { id, to } if line.flags & flags::UNLINK_ID != 0 => {
            let message = Message::new(line, control::UNLINK_ID, 3).integer(id as i64).term(from).pid(to);
            message.send(node, line, from, None);
        }
        Tell::Unlink { to, .. } => {
            Message::new(line, control::UNLINK, 2).term(from).pid(to).send(node, line, from, None);
        }
        Tell::UnlinkKnown { id, to } => {
            if line.flags & flags::UNLINK_ID != 0 && id != 0 {
                let message = Message::new(line, control::UNLINK_ID_ACK, 3).integer(id as i64).term(from).pid(to);
                message.send(node, line, from, None);
            }
        }
        Tell::Demonitor { .. } if !can_watch(line) => {}
        Tell::Demonitor { reference, target } => {
            let message = Message::new(line, control::DEMONITOR_P, 3).term(from);
            let message = match target {
                RemoteTarget::Pid(pid) => message.pid(pid),
                RemoteTarget::Name { name, .. } => message.term(name),
            };
            message.own_reference(reference).send(node, line, from, None);
        }
        Tell::Exit { to, reason, token } if token::can_go(line, token) => {
            let number = if has_payloads { control::PAYLOAD_EXIT_TT } else { control::EXIT_TT };
            let message = Message::new(line, number, if has_payloads { 3 } else { 4 }).term(from).pid(to).term(token);
            match has_payloads {
                true => message.send(node, line, from, Some(reason)),
                false => message.term(reason).send(node, line, from, None),
            }
        }
        Tell::Exit { to, reason, .. } if has_payloads => {
            let message = Message::new(line, control::PAYLOAD_EXIT, 2).term(from).pid(to);
            message.send(node, line, from, Some(reason));
        }
        Tell::Exit { to, reason, .. } => {
            let message = Message::new(line, control::EXIT, 3).term(from).pid(to).term(reason);
            message.send(node, line, from, None);
        }
        Tell::Down { to, reference, name, reason } => {
            if !name.is_none() {
                node.take_named(&reference);
            }
            let watched = if name.is_none() { from } else { name };
            let number = if has_payloads { control::PAYLOAD_MONITOR_P_EXIT } else { control::MONITOR_P_EXIT };
            let elements = if has_payloads { 3 } else { 4 };
            let message = Message::new(line, number, elements).term(watched).pid(to).reference(&reference);
            match has_payloads {
                true => message.send(node, line, from, Some(reason)),
                false => message.term(reason).send(node, line, from, None),
            }
        }
    }
}

/// What came of a wish that needs a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wished {
    /// It is on its way, and the process goes on.
    Done,
    /// It is on its way, and the process is suspended.
    Busy,
    /// There is no connection, and none can be made.
    NoConnection,
    /// The other node cannot do this.
    NotSupported,
    /// It is too large to be sent.
    TooLarge,
}

/// The way to a node for a process that is to hear of its end.
fn watched_way(pid: Term, own: &mut Own, name: Term) -> Option<(Arc<Node>, Line)> {
    let (node, line) = way_to(name, true)?;
    remote::watch(pid, own, name, line.connection).then_some((node, line))
}

fn done(pid: Term, own: &mut Own, node: &Node) -> Wished {
    if wait_if_busy(pid, own, node) { Wished::Busy } else { Wished::Done }
}

/// Links a process with one of another node.
pub fn link(pid: Term, own: &mut Own, other: RemotePid) -> Wished {
    let Some((node, line)) = watched_way(pid, own, other.node) else { return Wished::NoConnection };
    if own.remote().begin_link(other, line.connection) {
        Message::new(line, control::LINK, 2).term(pid).pid(other).send(&node, line, pid, None);
    }
    done(pid, own, &node)
}

/// Watches a process of another node. The process has noted the monitor itself already.
pub fn monitor(pid: Term, own: &mut Own, reference: ReferenceId, target: RemoteTarget) -> Wished {
    let Some((node, line)) = watched_way(pid, own, target.node()) else { return Wished::NoConnection };
    own.remote().add_monitor(reference, target, line.connection);
    if !can_watch(line) {
        return Wished::Done;
    }
    let message = Message::new(line, control::MONITOR_P, 3).term(pid);
    let message = match target {
        RemoteTarget::Pid(other) => message.pid(other),
        RemoteTarget::Name { name, .. } => message.term(name),
    };
    message.own_reference(reference).send(&node, line, pid, None);
    done(pid, own, &node)
}

/// `exit/2` of a process of another node. `reason` lies on the process's heap.
pub fn exit_signal(pid: Term, own: &mut Own, to: RemotePid, reason: Term) -> Wished {
    let Some((node, line)) = way_to(to.node, true) else { return Wished::NoConnection };
    let has_payloads = line.flags & flags::EXIT_PAYLOAD != 0;
    let sent = match has_payloads {
        true => {
            let message = Message::new(line, control::PAYLOAD_EXIT2, 2).term(pid).pid(to);
            message.try_send(&node, line, pid, Some(reason))
        }
        false => {
            let message = Message::new(line, control::EXIT2, 3).term(pid).pid(to).term(reason);
            message.try_send(&node, line, pid, None)
        }
    };
    if sent == Err(EncodeError::TooLarge) { Wished::TooLarge } else { done(pid, own, &node) }
}

/// Sets the group leader (any pid) of a process of another node.
pub fn group_leader(pid: Term, own: &mut Own, leader: Term, to: RemotePid) -> Wished {
    let Some((node, line)) = way_to(to.node, true) else { return Wished::NoConnection };
    Message::new(line, control::GROUP_LEADER, 2).term(leader).pid(to).send(&node, line, pid, None);
    done(pid, own, &node)
}

/// A process that is to be made on another node. Terms lie on the heap of the one that asks.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The node.
    pub node: Term,
    /// Module and function.
    pub function: (Term, Term),
    /// Arguments (a proper list), and their number.
    pub arguments: (Term, i64),
    /// Options for the other node: a list.
    pub options: Term,
    /// Whether it is to be linked.
    pub link: bool,
    /// Whether it is to be watched.
    pub monitor: bool,
    /// Whether the program gets a message about a success, and about a failure.
    pub tells: (bool, bool),
}

/// A process with a token asks for a process: as if the request and the arguments were two messages. The token that
/// goes along (on its heap), or `NONE`.
#[cold]
fn request_told(
    pid: Term,
    own: &mut Own,
    line: Line,
    request: &Request,
    (reference, leader, call): (ReferenceId, Term, Term),
) -> Term {
    let reference = reference.term(&mut own.mutator);
    let parts = [atoms::SPAWN_REQUEST, reference, pid, leader, call, request.options];
    let asked = own.mutator.tuple(&parts);
    for message in [asked, request.arguments.0] {
        sequence::sent(pid, own, request.node, message);
    }
    Some(own.token_term()).filter(|token| token::can_go(line, *token)).unwrap_or(Term::NONE)
}

/// Asks another node for a process.
pub fn request_process(pid: Term, own: &mut Own, reference: ReferenceId, request: &Request) -> Wished {
    let Some((node, line)) = watched_way(pid, own, request.node) else { return Wished::NoConnection };
    let Request { link, monitor, tells, .. } = *request;
    let connection = line.connection;
    let entry = RemoteSpawn { node: request.node, connection, link, monitor, tells, abandoned: false };
    if line.flags & flags::SPAWN == 0 {
        return Wished::NotSupported;
    }
    own.remote().spawning.insert(reference, entry);
    let leader = own.leader_term();
    let (module, function) = request.function;
    let (arguments, arity) = request.arguments;
    let call = own.mutator.tuple(&[module, function, Term::small(arity)]);
    let token = match own.token() {
        Some(_) => request_told(pid, own, line, request, (reference, leader, call)),
        None => Term::NONE,
    };
    let message = match token.is_none() {
        true => Message::new(line, control::SPAWN_REQUEST, 5),
        false => Message::new(line, control::SPAWN_REQUEST_TT, 6),
    };
    let message = message.own_reference(reference).term(pid).term(leader).term(call).term(request.options);
    let message = if token.is_none() { message } else { message.term(token) };
    message.send(&node, line, pid, Some(arguments));
    done(pid, own, &node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_c_node_gets_what_it_knows() {
        let [number, a, b, reason] = [control::PAYLOAD_EXIT2, 1, 2, 3].map(Term::small);
        let known = |parts: &[Term], payload| known_to(0, parts.to_vec(), payload);
        let exit = known(&[number, a, b], Some(reason));
        assert_eq!(exit, Some((vec![Term::small(control::EXIT2), a, b, reason], None)));
        let send = known(&[Term::small(control::SEND_SENDER), a, b], Some(reason));
        assert_eq!(send, Some((vec![Term::small(control::SEND), known_atom(""), b], Some(reason))));
        for unknown in [control::MONITOR_P, control::SPAWN_REQUEST, control::ALIAS_SEND] {
            assert_eq!(known(&[Term::small(unknown), a, b], None), None);
        }
        let link = vec![Term::small(control::LINK), a, b];
        assert_eq!(known(&link, None), Some((link, None)));
        assert!(can_watch(Line { connection: 1, flags: flags::SUPPOSED }));
        // This bit alone has a C node.
        assert!(!can_watch(Line { connection: 1, flags: 8 }));
    }
}
