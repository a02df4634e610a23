//! Modules with an `on_load` function in `atoll run`, where no code server calls it. The function runs in a process of
//! its own, as under OTP, while the process that needs the module waits. The processes that OTP's start makes for
//! sockets start here too.

use std::sync::OnceLock;

use atoll_code::{Prepared, finish_on_load, module, registry};
use atoll_heap::{HeapOptions, Message};
use atoll_process::spawn::{Parent, SpawnOptions, spawn};
use atoll_process::{BuiltIn, Caller, Flags, Interrupt, Outcome, Priority, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Export, Term, atoms};
use parking_lot::Mutex;

use crate::machine::part;
use crate::output;

/// The functions of this file that processes call.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "atoll_main", name: "run_on_load", arity: 1, function: run },
    BuiltIn { module: "atoll_main", name: "configure_server", arity: 1, function: configure_server },
    BuiltIn { module: "atoll_main", name: "on_load_done", arity: 1, function: done },
    BuiltIn { module: "atoll_main", name: "await_on_load", arity: 1, function: await_module },
    BuiltIn { module: "atoll_main", name: "call_loaded", arity: 3, function: call_loaded },
];

/// What a machine knows of `on_load` functions.
#[derive(Default)]
pub(crate) struct OnLoad {
    /// Modules whose function runs, and the processes that run them.
    running: Mutex<Vec<(Term, Term)>>,
    /// Modules whose function failed, once for each call that has to end with `undef` because of it.
    failed: Mutex<Vec<Term>>,
    /// Heaps of the processes that run the functions.
    heap: OnceLock<HeapOptions>,
}

fn on_load() -> &'static OnLoad {
    &part().on_load
}

/// Sets what heaps the processes get that run `on_load` functions.
pub fn install(heap: HeapOptions) {
    let _ = on_load().heap.set(heap);
}

/// The function that waits for a module and then calls one of its functions.
pub fn waiting_call() -> &'static Export {
    registry().export(known_atom("atoll_main"), known_atom("call_loaded"), 3)
}

/// Whether a call that came here before ends with `undef` now, because the module's `on_load` function failed.
pub fn take_failure(module: Term) -> bool {
    let mut failed = on_load().failed.lock();
    let found = failed.iter().position(|one| *one == module);
    found.map(|at| failed.swap_remove(at)).is_some()
}

/// Whether this module waits for its `on_load` function, which is started if it does not run yet. For the process that
/// runs it, nothing waits: it finds the module not loaded.
pub fn is_waiting(caller: Term, wanted: Term) -> bool {
    let mut running = on_load().running.lock();
    if module(wanted).is_none_or(|versions| versions.pending.is_none()) {
        return false;
    }
    match running.iter().position(|(module, _)| *module == wanted) {
        Some(at) if running[at].1 == caller => false,
        Some(at) if System::get().table.contains(running[at].1) => true,
        Some(at) => {
            running.swap_remove(at);
            refuse(wanted, None);
            false
        }
        None => {
            let Some(heap) = on_load().heap.get() else { return false };
            let arguments = Parent::Machine(Message::compose(|heap| heap.list([wanted])));
            let options = SpawnOptions {
                request: None,
                link: false,
                monitor: None,
                priority: Priority::Normal,
                heap: *heap,
                flags: Flags::default(),
            };
            match spawn(arguments, (known_atom("atoll_main"), known_atom("run_on_load")), None, &options) {
                Ok(pid) => {
                    running.push((wanted, pid));
                    true
                }
                Err(_) => {
                    refuse(wanted, None);
                    false
                }
            }
        }
    }
}

/// Takes a module out again whose `on_load` function did not return `ok`.
fn refuse(module: Term, result: Option<Term>) {
    // Processes may run it still: its memory is freed when none does.
    finish_on_load(module, false);
    atoll_bifs::purge_now(module);
    let module = atoms::atom_name(module);
    match result {
        Some(result) => eprintln!("atoll: the on_load function of module {module} returned {}", output::text(result)),
        None => eprintln!("atoll: the on_load function of module {module} was ended by an exit signal"),
    }
}

/// Modules whose function `on_load` is none to the code server: OTP's start calls it.
const CALLED_AT_START: [&str; 1] = ["prim_socket"];
/// The module that needs the server that has the settings of sockets and of the resolver; OTP's kernel starts it.
const SOCKETS: &str = "inet";

/// Has a module wait for what OTP's start does for it.
pub fn prepare(prepared: &mut Prepared) {
    let module = atoms::atom_name(prepared.module());
    if CALLED_AT_START.contains(&module) {
        prepared.set_on_load(known_atom("on_load"));
    } else if module == SOCKETS {
        prepared.wait();
    }
}

/// Starts the server `inet_db`, unless the program has done so.
fn start_server(caller: &mut Caller<'_>) -> Interrupt {
    let server = known_atom("inet_db");
    let heap = caller.heap();
    let registered = heap.tuple(&[known_atom("local"), server]);
    let start = registry().export(known_atom("gen_server"), known_atom("start"), 4);
    let then = registry().export(known_atom("atoll_main"), known_atom("configure_server"), 1);
    Interrupt::CallCatching(start, vec![registered, server, Term::NIL, Term::NIL], then)
}

/// Names of hosts are looked up in the system's list, then by the system's name servers: no program beside the machine
/// is asked.
fn configure_server(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].tuple_elements().and_then(<[Term]>::first) != Some(&atoms::OK) {
        return done(caller, arguments);
    }
    let heap = caller.heap();
    let order = heap.list([atoms::FILE, known_atom("dns")]);
    let lookup = heap.tuple(&[known_atom("lookup"), order]);
    let [hosts, servers] = [("hosts_file", "/etc/hosts"), ("resolv_conf", "/etc/resolv.conf")].map(|(key, file)| {
        let file = heap.string(file);
        heap.tuple(&[known_atom(key), file])
    });
    let settings = heap.list([lookup, hosts, servers]);
    let call = registry().export(known_atom("inet_db"), known_atom("add_rc_list"), 1);
    let then = registry().export(known_atom("atoll_main"), known_atom("on_load_done"), 1);
    Err(Interrupt::CallCatching(call, vec![settings], then))
}

/// The first function of a process for an `on_load` function.
fn run(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if atoms::atom_name(arguments[0]) == SOCKETS {
        return Err(start_server(caller));
    }
    let call = registry().export(known_atom("erlang"), known_atom("call_on_load_function"), 1);
    let then = registry().export(known_atom("atoll_main"), known_atom("on_load_done"), 1);
    Err(Interrupt::CallCatching(call, vec![arguments[0]], then))
}

fn done(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut running = on_load().running.lock();
    let Some(at) = running.iter().position(|(_, pid)| *pid == caller.process.pid) else { return Ok(atoms::OK) };
    let (module, _) = running.swap_remove(at);
    if arguments[0] == atoms::OK {
        finish_on_load(module, true);
    } else {
        refuse(module, Some(arguments[0]));
    }
    Ok(atoms::OK)
}

/// Waits for a module: `{module, Module}` or `{error, on_load_failure}`.
fn await_module(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = arguments[0];
    if is_waiting(caller.process.pid, module) {
        return Err(Interrupt::Again(vec![module]));
    }
    let heap = caller.heap();
    Ok(if atoll_code::is_loaded(module) {
        heap.tuple(&[atoms::MODULE, module])
    } else {
        heap.tuple(&[atoms::ERROR, known_atom("on_load_failure")])
    })
}

/// Waits for a module, then calls: module, name, list of arguments.
fn call_loaded(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [module, function, list] = *arguments else { return Err(atoll_operations::Exception::badarg().into()) };
    if is_waiting(caller.process.pid, module) {
        return Err(Interrupt::Again(arguments.to_vec()));
    }
    if !atoll_code::is_loaded(module) {
        on_load().failed.lock().push(module);
    }
    let mut values = Vec::new();
    let mut rest = list;
    while rest.is_cons() {
        values.push(rest.head());
        rest = rest.tail();
    }
    let export = registry().export(module, function, values.len() as u8);
    Err(Interrupt::Call(export, values))
}
