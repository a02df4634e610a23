//! Waiting for descriptors: a library is told once for each time that it asks.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use atoll_platform::descriptor;
use atoll_ports::Event;
use atoll_ports::poller::{self, Target, Waiter};
use atoll_term::{Build, MagicValue, Term, atoms};
use parking_lot::Mutex;

use crate::callbacks::{self, Work};
use crate::copy::copy;
use crate::env::{Env, Use, enter_machine};
use crate::here;
use crate::messages::deliver;
use crate::resources::Block;

const READ: c_int = 1;
const WRITE: c_int = 2;
const STOP: c_int = 4;
const CANCEL: c_int = 8;
const CUSTOM: c_int = 16;
const ERROR: c_int = 32;

const STOP_CALLED: c_int = 1;
const STOP_SCHEDULED: c_int = 2;
const INVALID_EVENT: c_int = 4;
const FAILED: c_int = 8;
const READ_CANCELLED: c_int = 16;
const WRITE_CANCELLED: c_int = 32;
const ERROR_CANCELLED: c_int = 64;

/// What can be waited for: the flag, the name in the message, and what is told when it is cancelled.
const EVENTS: [(c_int, Event, &str, c_int); 3] = [
    (READ, Event::Input, "ready_input", READ_CANCELLED),
    (WRITE, Event::Output, "ready_output", WRITE_CANCELLED),
    (ERROR, Event::Error, "ready_error", ERROR_CANCELLED),
];

/// The process that is told, and the message.
struct Wish {
    process: Term,
    message: Box<Env>,
    term: Term,
}

#[derive(Default)]
struct Wishes {
    input: Option<Wish>,
    output: Option<Wish>,
    error: Option<Wish>,
}

/// A descriptor that is bound to a resource.
pub struct Selected {
    descriptor: c_int,
    /// Kept until the library stops.
    resource: Arc<MagicValue>,
    block: Block,
    wishes: Mutex<Wishes>,
}

/// Those of a machine.
pub type All = Mutex<HashMap<c_int, Arc<Selected>>>;

impl Waiter for Selected {
    fn ready(self: Arc<Self>, event: Event) {
        let wish = {
            let mut wishes = self.wishes.lock();
            let wish = self.wish(&mut wishes, event).take();
            self.retract(event);
            wish
        };
        if let Some(mut wish) = wish {
            let message = wish.message.message(wish.term);
            deliver(wish.process, message);
        }
    }
}

impl Selected {
    fn wish<'w>(&self, wishes: &'w mut Wishes, event: Event) -> &'w mut Option<Wish> {
        match event {
            Event::Input => &mut wishes.input,
            Event::Output => &mut wishes.output,
            Event::Error => &mut wishes.error,
        }
    }

    /// Takes all wishes back.
    fn forget(self: &Arc<Self>) {
        let mut wishes = self.wishes.lock();
        for (_, event, _, _) in EVENTS {
            if self.wish(&mut wishes, event).take().is_some() {
                self.retract(event);
            }
        }
    }

    fn retract(self: &Arc<Self>, event: Event) {
        poller::remove(&Target::Other(self.clone()), self.descriptor, event);
    }
}

/// What a library asks for, beside the descriptor, the resource and the process.
struct Asked<'a> {
    flags: c_int,
    /// The reference in the message, or the message itself.
    term: Term,
    message: Option<&'a mut Env>,
}

fn select(env: Option<&mut Env>, number: c_int, object: *mut c_void, pid: Option<&Term>, asked: Asked<'_>) -> c_int {
    enter_machine();
    let Some(block) = Block::at(object) else { return -1 };
    let flags = asked.flags;
    let known = here().selected.lock().get(&number).cloned();
    if flags & STOP != 0 {
        return stop(env, number, block, known);
    }
    if flags & CANCEL != 0 {
        return known.map_or(0, |known| cancel(&known, flags));
    }
    let Some(borrowed) = descriptor::borrow(number) else { return i32::MIN | INVALID_EVENT };
    let selected = match known {
        Some(known) if known.block == block => known,
        other => {
            // Another resource has the same descriptor: what waits for it there is forgotten.
            if let Some(other) = other {
                other.forget();
            }
            let wishes = Mutex::default();
            let made = Arc::new(Selected { descriptor: number, resource: block.hold(), block, wishes });
            here().selected.lock().insert(number, made.clone());
            made
        }
    };
    let process = match (pid, &env) {
        (Some(pid), _) => *pid,
        (None, Some(env)) => env.process,
        (None, None) => return -1,
    };
    let mut asked = asked;
    for (flag, event, name, _) in EVENTS {
        if flags & flag == 0 {
            continue;
        }
        let mut message = Box::new(Env::with_memory(Use::Independent, Term::NONE, std::ptr::null()));
        let own = copy(asked.term, &mut *message);
        let term = if flags & CUSTOM != 0 {
            own
        } else {
            let resource = block.term(&mut message);
            let names = [atoms::atom("select"), atoms::atom(name)].map(|atom| atom.unwrap_or(atoms::UNDEFINED));
            message.tuple(&[names[0], resource, own, names[1]])
        };
        let mut wishes = selected.wishes.lock();
        *selected.wish(&mut wishes, event) = Some(Wish { process, message, term });
        drop(wishes);
        if poller::add(Target::Other(selected.clone()), borrowed, event).is_err() {
            return i32::MIN | FAILED;
        }
    }
    if let Some(env) = asked.message.take() {
        env.clear();
    }
    0
}

fn cancel(selected: &Arc<Selected>, flags: c_int) -> c_int {
    let mut result = 0;
    let mut wishes = selected.wishes.lock();
    for (flag, event, _, told) in EVENTS {
        if flags & flag != 0 && selected.wish(&mut wishes, event).take().is_some() {
            selected.retract(event);
            result |= told;
        }
    }
    result
}

/// Ends the binding of a descriptor. What waits for it is forgotten before `stop` is called.
fn stop(env: Option<&mut Env>, number: c_int, block: Block, known: Option<Arc<Selected>>) -> c_int {
    if let Some(selected) = &known {
        here().selected.lock().remove(&number);
        selected.forget();
    }
    let resource = known.map_or_else(|| block.hold(), |selected| selected.resource.clone());
    let callbacks = block.kind().callbacks();
    let Some(stop) = callbacks.stop else { return i32::MIN | FAILED };
    if env.is_none() {
        callbacks::later(Work::Stop { resource, descriptor: number });
        return STOP_SCHEDULED;
    }
    let mut env = Env::with_memory(Use::Callback, Term::NONE, callbacks.library);
    // SAFETY: the library's own function gets a resource of its type, which is held meanwhile.
    unsafe { stop(&raw mut env, block.object(), number, 1) };
    STOP_CALLED
}

#[unsafe(no_mangle)]
extern "C" fn enif_select(
    env: Option<&mut Env>,
    descriptor: c_int,
    flags: c_int,
    object: *mut c_void,
    pid: Option<&Term>,
    reference: Term,
) -> c_int {
    select(env, descriptor, object, pid, Asked { flags: flags & !CUSTOM, term: reference, message: None })
}

#[unsafe(no_mangle)]
extern "C" fn enif_select_x(
    env: Option<&mut Env>,
    descriptor: c_int,
    flags: c_int,
    object: *mut c_void,
    pid: Option<&Term>,
    message: Term,
    from: Option<&mut Env>,
) -> c_int {
    select(env, descriptor, object, pid, Asked { flags, term: message, message: from })
}
