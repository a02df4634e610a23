//! `process_info`, and what a process answers when another asks it for something.
//!
//! A process that is asked for something of another sends it a request and goes on in one of the `await_` functions
//! here with the request's reference. That function takes the answer `{Reference, Result}` out of the mailbox,
//! wherever it stands, or waits for a signal and looks again; nothing but the reference has to be remembered. The
//! asked process answers when it next handles signals, between two slices or in a `receive`.

use atoll_heap::architecture;
use atoll_operations::list;
use atoll_process::handle::{self, Fate, Request, receive_signals, take_matching};
use atoll_process::{
    BuiltIn, Caller, Interrupt, Outcome, Own, Process, ReferenceId, RequestKind, Signal, System, badarg, signal, state,
};
use atoll_term::{Build, Immediate, Term, View, atoms};
use smallvec::{SmallVec, smallvec};

use crate::process_items::{STANDARD_ITEMS, Subject, Watchers, carried_out, is_item};
use crate::tail_calls::{export, go_on_in};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "process_info", 1, process_info_1),
    BuiltIn::new("erlang", "process_info", 2, process_info_2),
    BuiltIn::new("erts_internal", "await_result", 1, await_result),
    BuiltIn::new("atoll_internal", "await_alive", 1, await_result),
    BuiltIn::new("atoll_internal", "await_suspended", 1, await_suspended),
    BuiltIn::new("atoll_internal", "await_info", 1, await_info),
    BuiltIn::new("atoll_internal", "await_living", 1, await_living),
    BuiltIn::new("atoll_internal", "await_none_saved", 1, await_none_saved),
    BuiltIn::new("atoll_internal", "own_info", 1, own_info),
];

/// Sends a request to another process, and goes on in the function that waits for the answer.
pub fn request(
    caller: &mut Caller<'_>,
    pid: Term,
    kind: RequestKind,
    argument: Term,
    (module, function): (&str, &str),
) -> Interrupt {
    let reference = ReferenceId::fresh();
    let from = caller.process.pid;
    let fragment = architecture().send(caller.heap(), argument);
    System::get().deliver_or_answer(pid, signal::attach(fragment, Signal::Request { from, reference, kind }));
    let reference = reference.term(caller.heap());
    Interrupt::Call(export(module, function, 1), vec![reference])
}

/// The answer to the request with this reference, if it has come.
fn answer(caller: &mut Caller<'_>, reference: Term) -> Result<Option<Term>, Interrupt> {
    let is_answer = |message: Term| matches!(message.tuple_elements(), Some([own, _]) if own.is_boxed() && atoll_term::exactly_equal(*own, reference));
    if !caller.process.inbox.is_empty() {
        take_signals(caller)?;
    }
    let message = take_matching(caller.own, is_answer);
    Ok(message.and_then(|message| message.tuple_elements().map(|elements| elements[1])))
}

/// `await_result(Reference)`
fn await_result(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    answer(caller, arguments[0])?.ok_or_else(|| Interrupt::Wait(arguments.to_vec()))
}

/// `await_suspended(Reference)`: `badarg` if the process has ended instead.
fn await_suspended(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match await_result(caller, arguments)? {
        atoms::SUSPENDED => Ok(atoms::TRUE),
        _ => Err(badarg()),
    }
}

/// `await_living(Reference)`: `badarg` if the process has ended.
fn await_living(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match await_result(caller, arguments)? {
        atoms::TRUE => Ok(atoms::TRUE),
        _ => Err(badarg()),
    }
}

/// `await_none_saved(Reference)`: `badarg` if the process has ended, else 0, as calls of others are not saved.
fn await_none_saved(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    await_living(caller, arguments).map(|_| Term::small(0))
}

/// `await_info(Reference)`: `badarg` if an item was none.
fn await_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match await_result(caller, arguments)? {
        atoms::BADARG => Err(badarg()),
        result => Ok(result),
    }
}

/// Items that do not depend on the stack, and are asked for often.
const WITHOUT_STACK: [Term; 4] = [atoms::MESSAGE_QUEUE_LEN, atoms::REGISTERED_NAME, atoms::STATUS, atoms::REDUCTIONS];

fn process_info_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let items = caller.heap().list(STANDARD_ITEMS);
    // As in a list of items, except that a name that there is not is left out, which the mark before it says.
    let items = caller.heap().cons(atoms::ALL, items);
    info(caller, arguments[0], items)
}

fn process_info_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let valid = match list::elements(arguments[1]) {
        Some(items) => items.into_iter().all(is_item),
        None => is_item(arguments[1]),
    };
    if !valid {
        return Err(badarg());
    }
    info(caller, arguments[0], arguments[1])
}

fn info(caller: &mut Caller<'_>, pid: Term, items: Term) -> Outcome {
    if !matches!(pid.view(), View::Pid(_)) {
        return Err(badarg());
    }
    if pid == caller.process.pid {
        if WITHOUT_STACK.contains(&items) {
            return own_info(caller, &[items]);
        }
        // In a function of its own, so that the place of the call is on the stack.
        return go_on_in("atoll_internal", "own_info", vec![items]);
    }
    if let Some(found) = info_at_once(caller, pid, items) {
        return Ok(found);
    }
    let Some(state) = System::get().table.with(pid, Process::state) else { return Ok(atoms::UNDEFINED) };
    let status = match state {
        state::IDLE => atoms::WAITING,
        state::QUEUED => atoms::RUNNABLE,
        state::ENDED => atoms::EXITING,
        _ => atoms::RUNNING,
    };
    let argument = caller.heap().tuple(&[items, status]);
    Err(request(caller, pid, RequestKind::ProcessInfo, argument, ("atoll_internal", "await_info")))
}

/// Items that are immediate terms, and do not depend on what the process is doing.
const AT_ONCE: [Term; 9] = [
    atoms::MESSAGE_QUEUE_LEN,
    atoms::REGISTERED_NAME,
    atoms::REDUCTIONS,
    atoms::PRIORITY,
    atoms::TRAP_EXIT,
    atoms::TOTAL_HEAP_SIZE,
    atoms::HEAP_SIZE,
    atoms::STACK_SIZE,
    atoms::MEMORY,
];

/// What a process that waits, and has acted on all of its signals, does not have to be asked for.
fn info_at_once(caller: &mut Caller<'_>, pid: Term, items: Term) -> Option<Term> {
    let wanted: SmallVec<[Term; 4]> = match items.is_list() {
        true => list::elements(items)?.into_iter().collect(),
        false => smallvec![items],
    };
    if !wanted.iter().all(|item| AT_ONCE.contains(item)) {
        return None;
    }
    let system = System::get();
    let mut values: SmallVec<[Immediate; 4]> = SmallVec::new();
    let looked = system.table.with(pid, |process| {
        process.inbox.is_empty()
            && !system.held_back.is_late(pid)
            && process.inspect(&mut |own| {
                let sizes = architecture().sizes(&own.mutator);
                let mut subject = Subject { process, own, status: atoms::WAITING, running: None, sizes };
                values.extend(wanted.iter().filter_map(|item| Immediate::of(subject.value(*item)?)));
            })
    });
    if looked != Some(true) || values.len() < wanted.len() {
        return None;
    }
    let pairs = wanted.iter().zip(&values);
    if !items.is_list() {
        let value = values[0].term();
        let unnamed = items == atoms::REGISTERED_NAME && value.is_nil();
        return Some(if unnamed { value } else { caller.heap().tuple(&[items, value]) });
    }
    let pairs: SmallVec<[Term; 4]> = pairs.map(|(item, value)| caller.heap().tuple(&[*item, value.term()])).collect();
    Some(caller.heap().list(pairs))
}

fn own_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    take_signals(caller)?;
    let reductions = caller.reductions;
    let sizes = architecture().sizes(&caller.own.mutator);
    let subject =
        Subject { process: caller.process, own: caller.own, status: atoms::RUNNING, running: Some(reductions), sizes };
    subject.items(arguments[0]).ok_or_else(badarg)
}

/// Answers what other processes ask of this one. Runs on the thread that runs the process.
pub fn answer_request(process: &Process, own: &mut Own, request: Request) {
    match request.kind {
        RequestKind::IsAlive | RequestKind::Nothing => handle::reply(own, &request, atoms::TRUE),
        RequestKind::GarbageCollect | RequestKind::Search => own.rare().collections.push(request),
        RequestKind::CheckProcessCode => {
            let module = request.argument.tuple_elements().map_or(Term::NIL, |task| task[2]);
            let result = Term::boolean(crate::old_code::runs_old_code(own, module));
            handle::reply(own, &request, result);
        }
        RequestKind::ProcessInfo => {
            let Some(&[items, status]) = request.argument.tuple_elements() else { return };
            // A resource that watches this process must not live until its next collection because of the answer.
            if items == atoms::MONITORED_BY {
                let watchers = Watchers::of(process, own);
                return handle::reply_composed(&request, |heap| {
                    let watchers = watchers.term(heap);
                    heap.tuple(&[items, watchers])
                });
            }
            let suspended = own.rare.as_ref().is_some_and(|rare| rare.suspended > 0);
            let status = match (suspended, status) {
                (true, _) => atoms::SUSPENDED,
                (false, atoms::WAITING) if carried_out(own).is_some() => atoms::RUNNING,
                _ => status,
            };
            let sizes = architecture().sizes(&own.mutator);
            let subject = Subject { process, own, status, running: None, sizes };
            let result = subject.items(items).unwrap_or(atoms::BADARG);
            handle::reply(own, &request, result);
        }
    }
}

/// Acts on the signals that have arrived at the running process, so that those it sent itself have had their effect.
pub fn take_signals(caller: &mut Caller<'_>) -> Result<(), Interrupt> {
    match receive_signals(caller.process, caller.own, &mut answer_request) {
        Fate::Lives => Ok(()),
        Fate::Dies(reason) => Err(Interrupt::Exit(reason)),
    }
}
