//! Loaded code: what there is, loading, purging.
//!
//! A process can hold a literal of a purged module, or be inside its code, long after it was purged. When enough was
//! purged, a scheduler looks through the memory of all processes between two time slices, and frees what none refers
//! to: see [`atoll_code::find_unused`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_code::{
    CodeError, Holds, ModuleCode, Prepared, Resolver, delete_module, find_unused, finish_on_load, has_old_code,
    is_loaded, is_look_due, load, loaded_modules, module, prepare, purge, registry,
};
use atoll_heap::architecture;
use atoll_operations::list;
use atoll_process::references::at_rest;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, ReferenceId, badarg, chores};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use parking_lot::Mutex;

use crate::errors::system_limit;
use crate::erts_internal::is_native_module;
use crate::old_code::returns_to_old_code;
use crate::texts::text;

/// Modules of a machine whose `on_load` function failed.
#[derive(Default)]
pub struct Failed(Mutex<Vec<Term>>);

atoll_platform::part_of_machine!(Failed);

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "module_loaded", 1, module_loaded),
    BuiltIn::new("erlang", "loaded", 0, loaded),
    BuiltIn::new("erlang", "pre_loaded", 0, pre_loaded),
    BuiltIn::new("erlang", "function_exported", 3, function_exported),
    BuiltIn::new("erlang", "get_module_info", 1, get_module_info),
    BuiltIn::new("erlang", "get_module_info", 2, get_module_info_item),
    BuiltIn::new("erts_internal", "prepare_loading", 2, prepare_loading),
    BuiltIn::new("erlang", "has_prepared_code_on_load", 1, has_prepared_code_on_load),
    BuiltIn::new("erlang", "finish_loading", 1, finish_loading),
    BuiltIn::new("erlang", "call_on_load_function", 1, call_on_load_function),
    BuiltIn::new("erlang", "finish_after_on_load", 2, finish_after_on_load),
    BuiltIn::new("erlang", "delete_module", 1, delete),
    BuiltIn::new("erlang", "check_old_code", 1, check_old_code),
    BuiltIn::new("erts_internal", "purge_module", 2, purge_step),
    BuiltIn::new("erts_internal", "check_process_code", 1, check_process_code),
    BuiltIn::new("erts_internal", "beamfile_chunk", 2, beamfile_chunk),
    BuiltIn::new("erts_internal", "beamfile_module_md5", 1, beamfile_module_md5),
];

/// Modules that OTP's runtime has in it, in the order in which it loads them.
pub const PRE_LOADED: [&str; 22] = [
    "persistent_term",
    "counters",
    "atomics",
    "erts_dirty_process_signal_handler",
    "erts_literal_area_collector",
    "erl_tracer",
    "erts_internal",
    "erlang",
    "erl_prim_loader",
    "prim_zip",
    "prim_net",
    "prim_socket",
    "socket_registry",
    "zlib",
    "prim_file",
    "prim_inet",
    "prim_eval",
    "prim_buffer",
    "init",
    "erl_init",
    "erts_code_purger",
    "erts_trace_cleaner",
];

fn module_name(term: Term) -> Result<Term, Interrupt> {
    if term.is_atom() { Ok(term) } else { Err(badarg()) }
}

fn module_loaded(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(is_loaded(module_name(arguments[0])?)))
}

fn loaded(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().list(loaded_modules()))
}

fn pre_loaded(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    // Older releases do not have the last one.
    let is_there = |module: &Term| *module != known_atom("erts_trace_cleaner") || is_loaded(*module);
    Ok(caller.heap().list(PRE_LOADED.map(known_atom).into_iter().filter(is_there)))
}

/// `function_exported(Module, Name, Arity)`: built-in functions count where a module is loaded or none is needed.
fn function_exported(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[module, function, arity] = arguments else { return Err(badarg()) };
    let Some(arity) = arity.as_small() else { return Err(badarg()) };
    if !module.is_atom() || !function.is_atom() {
        return Err(badarg());
    }
    let Ok(arity) = u8::try_from(arity) else { return Ok(atoms::FALSE) };
    let exported = registry().existing_export(module, function, arity).is_some_and(|export| export.is_defined());
    let defined = exported || registry().built_in_number(module, function, arity).is_some();
    Ok(Term::boolean(defined))
}

fn current(term: Term) -> Result<Arc<ModuleCode>, Interrupt> {
    module(module_name(term)?).and_then(|module| module.current).ok_or_else(badarg)
}

fn get_module_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let code = current(arguments[0])?;
    let items = [atoms::MODULE, atoms::EXPORTS, atoms::ATTRIBUTES, atoms::COMPILE, atoms::MD5];
    let mut pairs = Vec::with_capacity(items.len());
    for item in items {
        let value = module_item(caller, &code, item).ok_or_else(badarg)?;
        pairs.push(caller.heap().tuple(&[item, value]));
    }
    Ok(caller.heap().list(pairs))
}

fn get_module_info_item(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let code = current(arguments[0])?;
    module_item(caller, &code, arguments[1]).ok_or_else(badarg)
}

fn name_and_arity(caller: &mut Caller<'_>, functions: impl Iterator<Item = (Term, u8)>) -> Term {
    let heap = caller.heap();
    let pairs: Vec<Term> = functions.map(|(name, arity)| heap.tuple(&[name, Term::small(arity.into())])).collect();
    heap.list(pairs)
}

fn module_item(caller: &mut Caller<'_>, code: &ModuleCode, item: Term) -> Option<Term> {
    let decoded = |caller: &mut Caller<'_>, bytes: &Option<Box<[u8]>>| {
        let Some(bytes) = bytes else { return Some(Term::NIL) };
        let decoded = atoll_etf::decode(bytes, atoll_etf::DecodeOptions::default(), &mut Resolver, caller.heap());
        decoded.ok().map(|(term, _)| term)
    };
    match item {
        atoms::MODULE => Some(code.module),
        atoms::EXPORTS => {
            // The last of the file first, as in OTP: EUnit runs tests in this order.
            Some(name_and_arity(caller, code.exports.iter().rev().map(|(name, arity, _)| (*name, *arity))))
        }
        atoms::FUNCTIONS => Some(name_and_arity(caller, code.functions.iter().map(|(_, name, arity)| (*name, *arity)))),
        atoms::ATTRIBUTES => decoded(caller, &code.attributes),
        atoms::COMPILE => decoded(caller, &code.compile_info),
        atoms::MD5 => Some(caller.heap().binary(&code.md5)),
        atoms::NATIVE_ADDRESSES => Some(Term::NIL),
        _ if item == known_atom("nifs") => {
            let is_own_library = is_native_module(code.module);
            let is_built_in = |name, arity| registry().built_in_number(code.module, name, arity).is_some();
            let is_native = |index: usize, name, arity| {
                is_own_library && is_built_in(name, arity)
                    || code.declared_native.contains(&index)
                    || atoll_code::has_native(code, index)
            };
            let functions = code.functions.iter().enumerate();
            let natives = functions.filter(|(index, (_, name, arity))| is_native(*index, *name, *arity));
            Some(name_and_arity(caller, natives.map(|(_, (_, name, arity))| (*name, *arity))))
        }
        _ if item == known_atom("native") => Some(atoms::FALSE),
        _ => None,
    }
}

type Slot = Mutex<Option<Prepared>>;

/// `prepare_loading(Module, Binary)`: a reference that holds the prepared code, or `{error, badfile}`.
fn prepare_loading(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let wanted = module_name(arguments[0])?;
    let bits = arguments[1].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    let prepared = prepare(&bits.to_bytes());
    match prepared {
        Ok(prepared) if prepared.module() == wanted => {
            let slot: Slot = Mutex::new(Some(prepared));
            // That was long work. Others run before the code changes, as where other threads do such work.
            Err(Interrupt::Yield(ReferenceId::of_value(caller.heap(), slot)))
        }
        _ => Ok(caller.heap().tuple(&[atoms::ERROR, atoms::BADFILE])),
    }
}

fn slot(term: &Term) -> Option<&Slot> {
    term.magic()
}

fn has_prepared_code_on_load(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let slot = slot(&arguments[0]).ok_or_else(badarg)?;
    slot.lock().as_ref().map(|prepared| Term::boolean(prepared.has_on_load())).ok_or_else(badarg)
}

/// `finish_loading([Prepared])`: all or none. `ok`, or `{not_purged | on_load | duplicated, Modules}`.
fn finish_loading(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let slots = list::elements_or_badarg(arguments[0])?;
    let slots: Vec<&Slot> = slots.iter().map(slot).collect::<Option<_>>().ok_or_else(badarg)?;
    let mut modules = Vec::with_capacity(slots.len());
    let mut with_on_load = Vec::new();
    for slot in &slots {
        let prepared = slot.try_lock().ok_or_else(badarg)?;
        let prepared = prepared.as_ref().ok_or_else(badarg)?;
        modules.push(prepared.module());
        if prepared.has_on_load() {
            with_on_load.push(prepared.module());
        }
    }
    let fail = |caller: &mut Caller<'_>, reason: &str, modules: Vec<Term>| {
        let list = caller.heap().list(modules);
        Ok(caller.heap().tuple(&[known_atom(reason), list]))
    };
    let twice: Vec<Term> =
        modules.iter().enumerate().filter(|(at, one)| modules[..*at].contains(one)).map(|(_, one)| *one).collect();
    if !twice.is_empty() {
        return fail(caller, "duplicated", twice);
    }
    if !with_on_load.is_empty() && modules.len() > 1 {
        return Err(system_limit());
    }
    let not_purged: Vec<Term> =
        modules.iter().copied().filter(|module| is_loaded(*module) && has_old_code(*module)).collect();
    if !not_purged.is_empty() {
        return fail(caller, "not_purged", not_purged);
    }
    for slot in slots {
        let Some(prepared) = slot.lock().take() else { return Err(badarg()) };
        let module = prepared.module();
        match load(prepared) {
            Err(CodeError::NotPurged) => return fail(caller, "not_purged", vec![module]),
            Ok((_, true)) => crate::trace_pattern::waits_for_on_load(caller.own, module),
            _ => crate::trace_pattern::loaded(caller.own, module),
        }
    }
    if with_on_load.is_empty() { Ok(atoms::OK) } else { fail(caller, "on_load", with_on_load) }
}

/// `call_on_load_function(Module)`: goes on there.
fn call_on_load_function(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let code = module(module_name(arguments[0])?).and_then(|module| module.pending).ok_or_else(badarg)?;
    let offset = code.on_load.ok_or_else(badarg)?;
    // An export of a name that no program can write, so that the function need not be exported.
    let export = registry().export(code.module, known_atom("-on_load-"), 0);
    export.address.store(code.address(offset), Ordering::Release);
    Err(Interrupt::Call(export, Vec::new()))
}

/// `finish_after_on_load(Module, Keep)`: without `Keep` the module goes again.
fn finish_after_on_load(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = module_name(arguments[0])?;
    if !matches!(arguments[1], atoms::TRUE | atoms::FALSE) {
        return Err(badarg());
    }
    let keep = arguments[1] == atoms::TRUE;
    let is_purged = finish_on_load(module, keep).ok_or_else(badarg)?;
    if keep {
        crate::trace_pattern::loaded(caller.own, module);
    } else if !is_purged {
        part().0.lock().push(module);
    }
    free_soon();
    Ok(atoms::TRUE)
}

/// `delete_module(Module)`: true, or `undefined` if there is no such module.
fn delete(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = module_name(arguments[0])?;
    match delete_module(module) {
        Some(true) => {
            crate::trace_pattern::deleted(caller.own, module);
            Ok(atoms::TRUE)
        }
        Some(false) => Ok(atoms::UNDEFINED),
        None => Err(badarg()),
    }
}

fn check_old_code(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(has_old_code(module_name(arguments[0])?)))
}

/// Takes the old code of a module out; whether there was any. Its memory is freed when nothing refers to it any more.
pub fn purge_now(module: Term) -> bool {
    let is_purged = purge(module);
    free_soon();
    is_purged
}

/// What was given up is looked for between two time slices, if there is enough of it.
pub(crate) fn free_soon() {
    if is_look_due() {
        chores::install(free_unused);
        chores::want();
    }
}

/// Frees code and literals that were given up, and that nothing refers to.
fn free_unused() {
    let unused = at_rest(|all| {
        find_unused(architecture().shows_all_blocks(), |visit| {
            all.each_run(&mut |code, words| visit(if code { Holds::Code } else { Holds::Terms }, words));
        })
    });
    if unused.is_none() {
        chores::want();
    }
}

/// `erts_internal:purge_module(Module, prepare | prepare_on_load | abort | complete)`
fn purge_step(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = module_name(arguments[0])?;
    if !arguments[1].is_atom() {
        return Err(badarg());
    }
    match atoms::atom_name(arguments[1]) {
        "prepare" => Ok(Term::boolean(has_old_code(module))),
        "prepare_on_load" => {
            let mut failed = part().0.lock();
            let position = failed.iter().position(|one| *one == module);
            Ok(Term::boolean(position.map(|at| failed.swap_remove(at)).is_some() && has_old_code(module)))
        }
        "abort" => Ok(atoms::FALSE),
        "complete" => Ok(Term::boolean(purge_now(module))),
        _ => Err(badarg()),
    }
}

/// `erts_internal:check_process_code(Module)`: whether the calling process returns to the old code.
fn check_process_code(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let module = module_name(arguments[0])?;
    Ok(Term::boolean(returns_to_old_code(caller.own, module)))
}

/// The chunk of this name in a `.beam` file that is whole: its chunks fill it.
fn chunk<'b>(file: &'b [u8], wanted: &[u8]) -> Option<&'b [u8]> {
    let mut rest = file.strip_prefix(b"FOR1")?.get(4..)?.strip_prefix(b"BEAM")?;
    let mut found = None;
    while !rest.is_empty() {
        let (head, body) = rest.split_at_checked(8)?;
        let length = u32::from_be_bytes(head[4..].try_into().ok()?) as usize;
        let content = body.get(..length)?;
        if &head[..4] == wanted {
            found = found.or(Some(content));
        }
        rest = body.get(length.next_multiple_of(4)..)?;
    }
    found
}

/// `beamfile_chunk(Binary, "Name")`
fn beamfile_chunk(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    let wanted = text(arguments[1]).filter(|text| text.len() == 4).ok_or_else(badarg)?;
    let bytes = bits.to_bytes();
    match chunk(&bytes, wanted.as_bytes()) {
        Some(content) => Ok(caller.heap().binary(content)),
        None => Ok(atoms::UNDEFINED),
    }
}

/// `beamfile_module_md5(Binary)`
fn beamfile_module_md5(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
    match atoll_loader::load(&bits.to_bytes()) {
        Ok(module) => Ok(caller.heap().binary(&module.md5)),
        Err(_) => Ok(atoms::UNDEFINED),
    }
}

/// Bytes of the code and literals of all loaded modules.
pub fn loaded_bytes() -> usize {
    let versions = loaded_modules().into_iter().filter_map(module).flat_map(|module| [module.current, module.old]);
    let words =
        |code: Arc<ModuleCode>| code.words.len() + code.literals.as_ref().map_or(0, |literals| literals.words());
    versions.flatten().map(words).sum::<usize>() * atoll_term::WORD_BYTES
}
