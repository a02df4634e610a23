//! Funs and the functions they name.

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::{Build, Term, View, atoms, text};

use crate::support::{badarg, row};
use crate::system_info::release_number;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    row("erlang", "fun_info", 2, fun_info),
    row("erlang", "fun_info_mfa", 1, fun_info_mfa),
    row("erlang", "fun_to_list", 1, fun_to_list),
    row("erlang", "make_fun", 3, make_fun),
    row("erlang", "is_builtin", 3, is_builtin),
];

/// `{Item, Value}`
/// The first release in which all funs say that the first process made them.
const WITHOUT_CREATOR: u32 = 27;

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

fn is_builtin(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [module, name, arity] = *arguments else { return Err(badarg()) };
    let arity = arity.as_small().filter(|_| module.is_atom() && name.is_atom()).ok_or(Exception::badarg())?;
    let number = u8::try_from(arity).ok().and_then(|arity| registry().built_in_number(module, name, arity));
    Ok(Term::boolean(number.is_some()))
}
