//! Processes that other nodes ask for.

use atoll_code::registry;
use atoll_heap::architecture;
use atoll_operations::list::elements;
use atoll_process::remote::{Remote, RemotePid, RemoteReference, RemoteSignal};
use atoll_process::spawn::{OtherNode, Parent, SpawnOptions, spawn};
use atoll_process::{System, remote, sequence};
use atoll_term::{Build, ScratchHeap, Term, atoms, this_node};

use crate::control;
use crate::input::{Fault, Received};
use crate::node::{Line, Node};
use crate::signals::Message;
use crate::token;

/// Makes options of a list, beside `link` and `monitor`: `None` if there is one that is not known.
pub type ReadOptions = fn(&[Term]) -> Option<SpawnOptions>;

static READ_OPTIONS: std::sync::OnceLock<ReadOptions> = std::sync::OnceLock::new();

/// Sets what reads options; the first call counts.
pub fn install(read: ReadOptions) {
    let _ = READ_OPTIONS.set(read);
}

/// Acts on a request: `{_, Request, From, GroupLeader, {Module, Function, Arity}, Options, ...}`, payload: arguments.
pub(crate) fn requested(node: &Node, line: Line, received: &Received) -> Result<(), Fault> {
    let parts = received.control.tuple_elements().unwrap_or_default();
    let &[_, request, from, leader, call, options, ref token @ ..] = parts else { return Err(Fault::Malformed) };
    let token = token.first().map(|token| token::read(*token)).transpose()?;
    let (Some(reference), Some(from)) = (RemoteReference::of(request), RemotePid::of(from)) else {
        return Err(Fault::Malformed);
    };
    let Some(&[module, function, _]) = call.tuple_elements() else { return Err(Fault::Malformed) };
    let (Some(arguments), Some(options)) = (elements(received.payload), elements(options)) else {
        return Err(Fault::Malformed);
    };
    if !module.is_atom() || !function.is_atom() || !leader.is_pid() {
        return Err(Fault::Malformed);
    }
    let (asker, given) = (parts[2], parts[5]);
    let asked = |heap: &mut ScratchHeap| heap.tuple(&[atoms::SPAWN_REQUEST, request, asker, leader, call, given]);
    // `from`: the new process, or this node if there is none.
    let reply = |sender: Term, flags: i64, result: Term, from_this: Term| {
        let answer = token.as_ref().map(|token| {
            let (requested, answer) = sequence::of_answer(token, from_this);
            sequence::tell_with(sender, &requested, sequence::RECEIVE, from_this, asked);
            let kind = if result.is_atom() { atoms::ERROR } else { atoms::OK };
            let told = |heap: &mut ScratchHeap| heap.tuple(&[atoms::SPAWN_REPLY, request, kind, result]);
            sequence::tell_with(sender, &answer, sequence::SEND, asker, told);
            token::write(&answer)
        });
        let (number, elements) = match answer {
            Some(_) => (control::SPAWN_REPLY_TT, 5),
            None => (control::SPAWN_REPLY, 4),
        };
        let message = Message::new(line, number, elements).reference(&reference).pid(from).integer(flags).term(result);
        let message = match &answer {
            Some(token) => message.term(token.term()),
            None => message,
        };
        message.send(node, line, sender, None);
    };
    let wants = |name: Term| {
        let is_it =
            |option: &Term| *option == name || matches!(option.tuple_elements(), Some(&[key, _]) if key == name);
        options.iter().any(is_it)
    };
    let (link, monitor) = (wants(atoms::LINK), wants(atoms::MONITOR));
    let is_other = |option: &Term| {
        let key = option.tuple_elements().and_then(|parts| parts.first().copied()).unwrap_or(*option);
        key != atoms::LINK && key != atoms::MONITOR
    };
    let others: Vec<Term> = options.iter().copied().filter(is_other).collect();
    let Some(settings) = READ_OPTIONS.get().and_then(|read| read(&others)) else {
        reply(atoms::UNDEFINED, 0, atoms::BADOPT, this_node().0);
        return Ok(());
    };
    let mut known = Remote::default();
    known.parent = Some(from);
    match RemotePid::of(leader) {
        Some(leader) => known.leader = Some(leader),
        None => known.local_leader = Some(leader),
    }
    if link {
        known.add_link(from, line.connection);
    }
    if monitor {
        known.add_watcher(reference, from, Term::NONE, line.connection);
    }
    if link || monitor {
        known.watched.push((node.name, line.connection));
    }
    let arity = arguments.len();
    // A function that cannot exist has no export; the new process finds out.
    let initial = u8::try_from(arity).ok().map(|arity| registry().export(module, function, arity));
    let flags = if link { control::SPAWNED_LINK } else { 0 } | if monitor { control::SPAWNED_MONITOR } else { 0 };
    // The reply comes before anything that the new process sends.
    let begins = |pid: Term| {
        reply(pid, flags, pid, pid);
        if let Some(token) = &token {
            sequence::tell_with(pid, token, sequence::RECEIVE, pid, |_| received.payload);
        }
    };
    let sequence = token.clone().map(sequence::of_request);
    let other_node = OtherNode { remote: Box::new(known), begins: &begins, sequence };
    let parent = Parent::Elsewhere(architecture().send_copy(received.payload), other_node);
    let made = spawn(parent, (module, function), initial, &settings);
    match made {
        Ok(pid) if link || monitor => notice_end(node, line, pid),
        Ok(_) => {}
        Err(_) => reply(atoms::UNDEFINED, 0, atoms::SYSTEM_LIMIT, this_node().0),
    }
    Ok(())
}

/// The new process, which may run already, or have ended, is to hear of the end of the connection.
fn notice_end(node: &Node, line: Line, pid: Term) {
    if !node.watch(line.connection, pid) {
        let lost = RemoteSignal::ConnectionLost { node: node.name, connection: line.connection };
        drop(System::get().deliver_from_outside(pid, remote::bare(lost)));
    } else if !System::get().table.contains(pid) {
        node.forget(line.connection, pid);
    }
}
