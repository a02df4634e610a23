//! `erlang:load_nif/2`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_code::{ModuleCode, registry, set_native, version_at};
use atoll_process::{BuiltIn, Caller, NativeFunction, Outcome};
use atoll_term::{Build, Term, atoms};

use crate::abi::{LoadFn, MAJOR, UpgradeFn};
use crate::env::{Env, Use, enter_thread};
use crate::library::{Described, Function, Image, Library, Offered, file_of, library_of};
use crate::resource_types::Opening;
use crate::{MINOR, callbacks, crash, machine, resource_types};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[BuiltIn::new("erlang", "load_nif", 2, load_nif)];

/// What a library has to be made for.
const VARIANT: &str = "beam.vanilla";

/// Why a library was not loaded: the reason's name, and its text.
struct Refused(&'static str, String);

fn bad<T>(text: String) -> Result<T, Refused> {
    Err(Refused("bad_lib", text))
}

fn load_nif(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[path, info] = arguments else { return Err(atoll_operations::Exception::badarg().into()) };
    let bytes = if path.is_atom() { None } else { atoll_natives::native_bytes(path) };
    let Some(bytes) = bytes else { return Err(atoll_operations::Exception::badarg().into()) };
    // What is part of the machine is there already.
    if std::str::from_utf8(&bytes).is_ok_and(|path| atoll_natives::MODULES.contains(&path)) {
        return Ok(atoms::OK);
    }
    match load(caller, &bytes, info) {
        Ok(()) => Ok(atoms::OK),
        Err(Refused(name, text)) => {
            let heap = caller.heap();
            let text = heap.string(&text);
            let reason = heap.tuple(&[atoms::atom(name).unwrap_or(atoms::ERROR), text]);
            Ok(heap.tuple(&[atoms::ERROR, reason]))
        }
    }
}

/// The library that is upgraded from.
type Before = Option<Arc<dyn atoll_code::Library>>;

/// The module's code that calls, and the library of the latest version before it that has one.
fn versions(caller: &Caller<'_>) -> Result<(Arc<ModuleCode>, Before), Refused> {
    let Some(code) = version_at(caller.at) else {
        return bad("load_nif/2 was not called by a function of a module".to_owned());
    };
    let name = atoms::atom_name(code.module);
    let versions = atoll_code::module(code.module).unwrap_or_default();
    // The code of a single function that was compiled later has the number of its module's version.
    let is = |one: &Option<Arc<ModuleCode>>| one.as_ref().is_some_and(|one| one.serial == code.serial);
    if is(&versions.old) {
        return Err(Refused("old_code", format!("Calling load_nif from old module '{name}' not allowed")));
    }
    let (code, before) = match versions.pending {
        // The current version may have been deleted, and so be old.
        Some(pending) if pending.serial == code.serial => (pending, [versions.current, versions.old]),
        _ => (versions.current.unwrap_or(code), [versions.old, None]),
    };
    if code.library.lock().is_some() {
        let text = "NIF library already loaded (reload disallowed since OTP 20).";
        return Err(Refused("reload", text.to_owned()));
    }
    let library = before.into_iter().flatten().find_map(|version| version.library.lock().clone());
    Ok((code, library))
}

fn load(caller: &mut Caller<'_>, path: &[u8], info: Term) -> Result<(), Refused> {
    let (code, before) = versions(caller)?;
    callbacks::start();
    machine::install();
    crash::install();
    let failed = |text: String| Refused("load_failed", format!("Failed to load NIF library: '{text}'"));
    let file = file_of(path).ok_or_else(|| failed("a path with a zero".to_owned()))?;
    let image = Image::open(&file).map_err(failed)?;
    let described = Described::of(&image).or_else(bad)?;
    check(&described, &code)?;
    let offered = described.functions();
    let places = places(&offered, &code)?;
    let (first, upgrade, unload) = described.callbacks();
    let path = file.to_string_lossy().into_owned();
    let library = Arc::new(Library::new(code.module, path, unload, image));
    let opened = match begin(caller, &library, before.as_deref().and_then(library_of), first, upgrade, info) {
        Ok(opened) => opened,
        Err(refused) => {
            // Before the next attempt, which is to find the file as it was.
            Arc::into_inner(library).into_iter().for_each(Library::end);
            return Err(refused);
        }
    };
    resource_types::commit(opened, &library);
    install(&library, offered, &places, &code);
    machine::note_wishes(&library);
    *code.library.lock() = Some(library);
    machine::loaded(code.module);
    Ok(())
}

/// Calls `load` or `upgrade`; the types of resources that this opens.
fn begin(
    caller: &mut Caller<'_>,
    library: &Arc<Library>,
    before: Option<&Library>,
    first: Option<LoadFn>,
    upgrade: Option<UpgradeFn>,
    info: Term,
) -> Result<Vec<Opening>, Refused> {
    let mut env = Env::of_call(caller, Use::Load, Arc::as_ptr(library));
    let mut private: *mut c_void = null_mut();
    env.rare().private = &raw mut private;
    let _kind = enter_thread(1);
    let address = &raw mut env;
    match before {
        Some(before) => {
            let Some(upgrade) = upgrade else {
                return Err(Refused("upgrade", "Upgrade not supported by this NIF library.".to_owned()));
            };
            let mut old = before.private.load(Ordering::Acquire);
            // SAFETY: the library's own function gets what it expects.
            let status = unsafe { upgrade(address, &raw mut private, &raw mut old, info) };
            before.private.store(old, Ordering::Release);
            if status != 0 {
                return Err(Refused("upgrade", format!("Library upgrade-call unsuccessful ({status}).")));
            }
        }
        None => {
            // SAFETY: as above.
            let status = first.map_or(0, |load| unsafe { load(address, &raw mut private, info) });
            if status != 0 {
                return Err(Refused("load", format!("Library load-call unsuccessful ({status}).")));
            }
        }
    }
    let opened = std::mem::take(&mut env.rare().opening);
    library.private.store(private, Ordering::Release);
    library.is_loaded.store(true, Ordering::Release);
    Ok(opened)
}

fn check(described: &Described, code: &ModuleCode) -> Result<(), Refused> {
    let (major, minor) = described.version();
    if major < MAJOR {
        return bad(format!(
            "That old NIF library ({major}.{minor}) is not compatible with this erts runtime ({MAJOR}.{MINOR}). Try \
             recompile the NIF lib."
        ));
    }
    if major > MAJOR || minor > MINOR {
        let (name, least) = (described.module(), described.least_runtime().unwrap_or_default());
        return bad(format!(
            "That '{name}' NIF library needs {least} or newer. Either try to recompile the NIF lib or use a newer erts \
             runtime."
        ));
    }
    let variant = described.variant();
    if minor >= 1 && variant.as_deref() != Some(VARIANT) {
        let variant = variant.unwrap_or_default();
        return bad(format!("Library ({variant}) not compiled for this vm variant ({VARIANT})."));
    }
    let (name, module) = (described.module(), atoms::atom_name(code.module));
    if name != module {
        return bad(format!("Library module name '{name}' does not match calling module '{module}'"));
    }
    Ok(())
}

/// Where the functions stand in the module, by their indices there.
fn places(offered: &[Offered], code: &ModuleCode) -> Result<Vec<usize>, Refused> {
    let declared = &code.declared_native;
    let module = atoms::atom_name(code.module);
    let mut found = Vec::with_capacity(offered.len());
    for Offered { name, arity, flags, .. } in offered {
        let function = atoms::existing_atom(name);
        let is = |(_, other, count): &(u32, Term, u8)| Some(*other) == function && u32::from(*count) == *arity;
        let Some(place) = code.functions.iter().position(is) else {
            return bad(format!("Function not found {module}:{name}/{arity}"));
        };
        if !declared.is_empty() && !declared.contains(&place) {
            return bad(format!("Function not declared as nif {module}:{name}/{arity}"));
        }
        if *flags > 2 {
            return bad(format!("Illegal flags field value {flags} for NIF {module}:{name}/{arity}"));
        }
        if found.contains(&place) {
            return bad(format!("Duplicate NIF entry for {module}:{name}/{arity}"));
        }
        found.push(place);
    }
    Ok(found)
}

/// Has calls of the module's functions go to the library.
fn install(library: &Arc<Library>, offered: Vec<Offered>, places: &[usize], code: &ModuleCode) {
    let mut functions = library.functions.lock();
    for (offered, place) in offered.into_iter().zip(places) {
        let (_, name, arity) = code.functions[*place];
        let function: &'static Function = Box::leak(Box::new(Function {
            native: NativeFunction { export: registry().export(code.module, name, arity), call: crate::call::call },
            code: offered.code,
            kind: offered.flags,
            library: Arc::as_ptr(library),
            is_direct: AtomicBool::new(offered.flags == 0 && !library.at_halt.is_delaying()),
            is_gone: AtomicBool::new(false),
        }));
        functions.push(function);
        let handler = atoll_runtime::core::handler(atoll_runtime::built_in::native_body);
        set_native(code, *place, handler, std::ptr::from_ref(&function.native) as u64);
    }
}
