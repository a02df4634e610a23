//! Funs and the functions they name.

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, View, atoms, text};

use atoll_process::release::release_number;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "fun_info", 2, fun_info),
    BuiltIn::new("erlang", "fun_info_mfa", 1, fun_info_mfa),
    BuiltIn::new("erlang", "fun_to_list", 1, fun_to_list),
    BuiltIn::new("erlang", "make_fun", 3, make_fun),
    BuiltIn::new("erlang", "is_builtin", 3, is_builtin),
];

/// The first release in which all funs say that the first process made them.
const WITHOUT_CREATOR: u32 = 27;

/// `{Item, Value}`
fn fun_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [fun, item] = *arguments else { return Err(badarg()) };
    let heap = caller.heap();
    let value = match (fun.view(), item) {
        (View::Fun(fun), atoms::MODULE) => fun.entry.module,
        (View::Fun(fun), atoms::NAME) => fun.entry.name,
        (View::Fun(fun), atoms::ARITY) => Term::small(fun.entry.arity.into()),
        (View::Fun(fun), atoms::ENV) => heap.list(fun.free.iter().copied()),
        (View::Fun(_), atoms::TYPE) => atoms::LOCAL,
        (View::Fun(_), atoms::PID) if release_number() >= WITHOUT_CREATOR => Term::pid(0),
        (View::Fun(fun), atoms::PID) => fun.creator,
        (View::Fun(fun), atoms::INDEX | atoms::NEW_INDEX) => Term::small(fun.entry.index.into()),
        (View::Fun(fun), atoms::UNIQ) => Term::small(fun.entry.old_unique.into()),
        (View::Fun(fun), atoms::NEW_UNIQ) => heap.binary(&fun.entry.unique),
        (View::ExternalFun(export), atoms::MODULE) => export.module,
        (View::ExternalFun(export), atoms::NAME) => export.name,
        (View::ExternalFun(export), atoms::ARITY) => Term::small(export.arity.into()),
        (View::ExternalFun(_), atoms::ENV) => Term::NIL,
        (View::ExternalFun(_), atoms::TYPE) => atoms::EXTERNAL,
        (View::ExternalFun(_), atoms::PID | atoms::INDEX | atoms::NEW_INDEX | atoms::UNIQ | atoms::NEW_UNIQ) => {
            atoms::UNDEFINED
        }
        _ => return Err(badarg()),
    };
    Ok(heap.tuple(&[item, value]))
}

fn fun_info_mfa(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (module, name, arity) = match arguments[0].view() {
        View::Fun(fun) => (fun.entry.module, fun.entry.name, fun.entry.arity),
        View::ExternalFun(export) => (export.module, export.name, export.arity),
        _ => return Err(badarg()),
    };
    Ok(caller.heap().tuple(&[module, name, Term::small(arity.into())]))
}

fn fun_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_fun() {
        return Err(badarg());
    }
    Ok(caller.heap().string(&text::to_string(arguments[0])))
}

fn make_fun(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [module, name, arity] = *arguments else { return Err(badarg()) };
    let arity = arity.as_small().and_then(|arity| u8::try_from(arity).ok()).ok_or(Exception::badarg())?;
    if !module.is_atom() || !name.is_atom() {
        return Err(badarg());
    }
    Ok(caller.heap().external_fun(registry().export(module, name, arity)))
}

/// Modules with native functions that OTP loads as libraries, and which it does not call built in.
const WITH_NATIVES: &[&str] =
    &["erl_tracer", "prim_buffer", "prim_file", "prim_net", "prim_socket", "prim_tty", "zlib", "zstd"];

/// Modules that OTP does not have.
const OWN: &[&str] = &["atoll", "atoll_heap", "atoll_internal", "atoll_nif"];

/// Functions that OTP has in Erlang and that are built in here.
const IN_ERLANG: &[(&str, &str, &[u8])] = &[
    ("erlang", "alias", &[0]),
    ("erlang", "atom_to_binary", &[1]),
    ("erlang", "binary_to_atom", &[1]),
    ("erlang", "binary_to_existing_atom", &[1]),
    ("erlang", "garbage_collect", &[0]),
    ("erlang", "group_leader", &[2]),
    ("erlang", "halt", &[0, 1]),
    ("erlang", "max", &[2]),
    ("erlang", "memory", &[0, 1]),
    ("erlang", "min", &[2]),
    ("erlang", "process_display", &[2]),
    ("erlang", "process_flag", &[3]),
    ("erlang", "purge_module", &[1]),
    ("erlang", "spawn", &[1, 2, 4]),
    ("erlang", "spawn_link", &[1, 2, 4]),
    ("erlang", "spawn_monitor", &[1, 2, 3, 4]),
    ("erlang", "spawn_opt", &[2, 3, 5]),
    ("erlang", "suspend_process", &[1, 2]),
    ("erts_internal", "await_result", &[1]),
    ("os", "getenv", &[0]),
];

fn is_builtin(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [module, name, arity] = *arguments else { return Err(badarg()) };
    let arity = arity.as_small().filter(|_| module.is_atom() && name.is_atom()).ok_or(Exception::badarg())?;
    let Ok(arity) = u8::try_from(arity) else { return Ok(atoms::FALSE) };
    let is_known = registry().built_in_number(module, name, arity).is_some();
    Ok(Term::boolean(is_known && is_built_in_on_otp(module, name, arity)))
}

/// Whether OTP calls a function built in that is built in here.
pub fn is_built_in_on_otp(module: Term, name: Term, arity: u8) -> bool {
    let (module, name) = (atoms::atom_name(module), atoms::atom_name(name));
    let is_same = |row: &(&str, &str, &[u8])| row.0 == module && row.1 == name && row.2.contains(&arity);
    !WITH_NATIVES.contains(&module) && !OWN.contains(&module) && !IN_ERLANG.iter().any(is_same)
}
