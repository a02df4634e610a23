//! Stand-ins for OTP's kernel in `atoll run`, where it is not running: they load code and take log events. They replace
//! functions of `code` and `logger`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use atoll_code::registry;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, System, handle};
use atoll_runtime::autoload::Loading;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, View, atoms};

use crate::run::{autoload, find_module};

/// The functions that stand in.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "code", name: "ensure_loaded", arity: 1, function: ensure_loaded },
    BuiltIn { module: "code", name: "load_file", arity: 1, function: ensure_loaded },
    BuiltIn { module: "code", name: "ensure_modules_loaded", arity: 1, function: ensure_modules_loaded },
    BuiltIn { module: "code", name: "load_binary", arity: 3, function: load_binary },
    BuiltIn { module: "code", name: "is_loaded", arity: 1, function: is_loaded },
    BuiltIn { module: "code", name: "which", arity: 1, function: which },
    BuiltIn { module: "code", name: "delete", arity: 1, function: delete },
    BuiltIn { module: "code", name: "purge", arity: 1, function: purge },
    BuiltIn { module: "code", name: "soft_purge", arity: 1, function: soft_purge },
    BuiltIn { module: "erlang", name: "purge_module", arity: 1, function: purge_module },
    BuiltIn { module: "init", name: "get_arguments", arity: 0, function: nothing },
    BuiltIn { module: "init", name: "get_plain_arguments", arity: 0, function: nothing },
    BuiltIn { module: "init", name: "get_argument", arity: 1, function: no_argument },
    BuiltIn { module: "application_controller", name: "get_env", arity: 2, function: no_setting },
    BuiltIn { module: "erl_prim_loader", name: "read_file_info", arity: 1, function: file_info },
    BuiltIn { module: "erl_prim_loader", name: "get_file", arity: 1, function: get_file },
    BuiltIn { module: "supervisor", name: "start_child", arity: 2, function: start_child },
    BuiltIn { module: "init", name: "get_status", arity: 0, function: status },
    BuiltIn { module: "init", name: "stop", arity: 0, function: stop },
    BuiltIn { module: "init", name: "stop", arity: 1, function: stop },
    BuiltIn { module: "logger", name: "allow", arity: 2, function: allow },
    BuiltIn { module: "logger", name: "set_primary_config", arity: 2, function: accept },
    BuiltIn { module: "logger", name: "set_primary_config", arity: 1, function: accept },
    BuiltIn { module: "logger", name: "set_handler_config", arity: 3, function: accept },
];

fn nothing(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::NIL)
}

fn no_argument(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::ERROR)
}

/// No application is loaded that could have any.
fn no_setting(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::UNDEFINED)
}

/// `erl_prim_loader:read_file_info(Name)`, without its process.
fn file_info(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let export = registry().export(known_atom("prim_file"), known_atom("read_file_info"), 1);
    Err(Interrupt::Call(export, arguments.to_vec()))
}

/// `erl_prim_loader:get_file(Name)`: `{ok, Binary, Name}` or `error`.
fn get_file(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(bytes) = atoll_natives::native_bytes(arguments[0]) else { return Ok(atoms::ERROR) };
    let Ok(content) = std::fs::read(OsString::from_vec(bytes)) else { return Ok(atoms::ERROR) };
    let binary = caller.heap().binary(&content);
    Ok(caller.heap().tuple(&[atoms::OK, binary, arguments[0]]))
}

/// As OTP says of a program that `-eval` runs.
fn status(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let (starting, started) = (known_atom("starting"), known_atom("started"));
    Ok(caller.heap().tuple(&[starting, started]))
}

/// As OTP's own; the server of `timer` starts without kernel's supervisor, which is not there.
fn start_child(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[supervisor, child] = arguments else { return badarg() };
    let server = known_atom("timer_server");
    let is_timer = match child.tuple_elements() {
        Some(parts) => parts.first() == Some(&server),
        None => child.is_map() && atoll_term::map::get(child, known_atom("id")) == Some(server),
    };
    let of_kernel = supervisor == known_atom("kernel_sup") || supervisor == known_atom("kernel_safe_sup");
    let heap = caller.heap();
    let (function, values) = if of_kernel && is_timer {
        let registered = heap.tuple(&[known_atom("local"), server]);
        ("start", vec![registered, known_atom("timer"), Term::NIL, Term::NIL])
    } else {
        let request = heap.tuple(&[known_atom("start_child"), child]);
        ("call", vec![supervisor, request, known_atom("infinity")])
    };
    Err(Interrupt::Call(registry().export(known_atom("gen_server"), known_atom(function), values.len() as u8), values))
}

fn stop(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let status = arguments.first().and_then(|status| status.as_small()).unwrap_or(0);
    atoll_bifs::halt(status as i32)
}

/// Nothing is logged; that it would have been may matter.
fn allow(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    crate::simulation::note_logged(caller.process.pid, arguments[0], arguments[1]);
    Ok(atoms::FALSE)
}

fn accept(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::OK)
}

fn badarg() -> Outcome {
    Err(atoll_operations::Exception::badarg().into())
}

fn ensure_loaded(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = arguments[0];
    if !module.is_atom() {
        return badarg();
    }
    let heap = caller.heap();
    match autoload(module) {
        Loading::Done => Ok(heap.tuple(&[atoms::MODULE, module])),
        Loading::Failed => Ok(heap.tuple(&[atoms::ERROR, known_atom("nofile")])),
        Loading::Waits(_) => Err(await_on_load(module)),
    }
}

fn await_on_load(module: Term) -> Interrupt {
    Interrupt::Call(registry().export(known_atom("atoll_main"), known_atom("await_on_load"), 1), vec![module])
}

fn ensure_modules_loaded(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut list = arguments[0];
    while list.is_cons() {
        if list.head().is_atom() {
            autoload(list.head());
        }
        list = list.tail();
    }
    Ok(atoms::OK)
}

fn load_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [module, _, binary] = *arguments else { return badarg() };
    let View::Bits(bits) = binary.view() else { return badarg() };
    let result = atoll_code::prepare(&bits.to_bytes()).map_err(|_| "badfile").and_then(|prepared| {
        if prepared.module() != module {
            return Err("badfile");
        }
        purge_old(caller, module, true);
        atoll_code::load(prepared).map_err(|_| "not_purged")
    });
    let heap = caller.heap();
    if let Ok((module, true)) = result {
        return Err(await_on_load(module));
    }
    Ok(match result {
        Ok(_) => heap.tuple(&[atoms::MODULE, module]),
        Err(reason) => heap.tuple(&[atoms::ERROR, known_atom(reason)]),
    })
}

fn is_loaded(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !atoll_code::is_loaded(arguments[0]) {
        return Ok(atoms::FALSE);
    }
    let file = file_of(caller, arguments[0]);
    Ok(caller.heap().tuple(&[atoms::FILE, file]))
}

fn which(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(match find_module(atoms::atom_name(arguments[0])) {
        Some(_) => file_of(caller, arguments[0]),
        None => known_atom("non_existing"),
    })
}

fn file_of(caller: &mut Caller<'_>, module: Term) -> Term {
    let file: PathBuf = find_module(atoms::atom_name(module)).unwrap_or_default();
    caller.heap().string(&file.to_string_lossy())
}

fn delete(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(atoll_code::delete_module(arguments[0]) == Some(true)))
}

fn purge(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(purge_old(caller, arguments[0], true) == Purged::Killed))
}

/// Of old code only.
fn purge_module(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match atoll_code::module(arguments[0]).and_then(|versions| versions.old) {
        Some(_) => {
            purge_old(caller, arguments[0], true);
            Ok(atoms::TRUE)
        }
        None => badarg(),
    }
}

fn soft_purge(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(purge_old(caller, arguments[0], false) != Purged::InUse))
}

#[derive(PartialEq)]
enum Purged {
    Clean,
    Killed,
    InUse,
}

/// Takes a module's old code out. Processes that still run it are ended, or keep it if `kill` is false.
fn purge_old(caller: &mut Caller<'_>, module: Term, kill: bool) -> Purged {
    let Some(old) = atoll_code::module(module).and_then(|versions| versions.old) else { return Purged::Clean };
    let users = handle::processes_inside(Some(caller.own), |address| old.contains(address));
    if !users.is_empty() && !kill {
        return Purged::InUse;
    }
    let killed = !users.is_empty();
    for pid in users {
        System::get().deliver_or_answer(pid, handle::kill_signal(pid));
    }
    atoll_bifs::purge_now(module);
    if killed { Purged::Killed } else { Purged::Clean }
}
