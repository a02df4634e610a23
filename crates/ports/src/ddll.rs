//! `erl_ddll`: loading drivers, from their files ([`external`]) unless they are built in ([`library`]).

use atoll_operations::iolist::iolist_bytes;
use atoll_operations::list::elements;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::external;
use crate::library::{self, Awaited, Library, Then, Watcher};
use crate::part::part;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erl_ddll", "try_load", 3, try_load),
    BuiltIn::new("erl_ddll", "try_unload", 2, try_unload),
    BuiltIn::new("erl_ddll", "loaded_drivers", 0, loaded_drivers),
    BuiltIn::new("erl_ddll", "info", 2, info),
    BuiltIn::new("erl_ddll", "monitor", 2, monitor),
    BuiltIn::new("erl_ddll", "demonitor", 1, demonitor),
    BuiltIn::new("erl_ddll", "format_error_int", 1, format_error_int),
];

/// A driver's name or a folder: an atom or an I/O list.
fn text(term: Term) -> Option<String> {
    if term.is_atom() {
        return Some(atoms::atom_name(term).to_owned());
    }
    let bytes = iolist_bytes(term).ok().filter(|_| term.is_list())?;
    Some(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|byte| *byte as char).collect()))
}

/// When the caller wants to be told.
#[derive(Clone, Copy, PartialEq)]
enum Tell {
    Never,
    /// If something of the driver is awaited.
    Driver,
    /// If anything is.
    Anything,
}

fn read_tell(term: Term) -> Option<Tell> {
    match atoms::name_if_atom(term) {
        "pending_driver" => Some(Tell::Driver),
        "pending" => Some(Tell::Anything),
        _ => None,
    }
}

/// Options of loading: whether to kill ports, when to be told, and whether to load again even if others have asked for
/// it.
fn load_options(list: Term) -> Option<(bool, Tell, Option<Tell>)> {
    let (mut kills_ports, mut tell, mut reload) = (false, Tell::Never, None);
    for option in elements(list)? {
        let &[key, value] = option.tuple_elements()? else { return None };
        match atoms::name_if_atom(key) {
            "driver_options" => {
                let options = elements(value)?;
                kills_ports = !options.is_empty();
                options.into_iter().all(|option| atoms::name_if_atom(option) == "kill_ports").then_some(())?;
            }
            "monitor" => tell = read_tell(value)?,
            "reload" => reload = Some(read_tell(value)?),
            _ => return None,
        }
    }
    Some((kills_ports, tell, reload))
}

fn error(caller: &mut Caller<'_>, reason: Term) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

fn done(caller: &mut Caller<'_>, status: &str) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::OK, known_atom(status)]))
}

/// Something is awaited: `{ok, Status}`, or with a monitor `{ok, Status, Reference}`.
fn pending(caller: &mut Caller<'_>, status: &str, reference: Option<ReferenceId>) -> Outcome {
    let Some(reference) = reference else { return done(caller, status) };
    let heap = caller.heap();
    let reference = reference.term(heap);
    Ok(heap.tuple(&[atoms::OK, known_atom(status), reference]))
}

fn is_static(driver: &str) -> bool {
    library::STATIC.contains(&driver) || external::added(driver).is_some()
}

/// Whether a driver has said that it stays for good.
fn is_locked(driver: &str) -> bool {
    library::with(|all| all.iter().any(|library| library.name == driver && library.is_locked))
}

/// One more reason for a driver to stay.
fn use_once(library: &mut Library, pid: Term) {
    match library.users.iter_mut().find(|(user, _)| *user == pid) {
        Some((_, count)) => *count += 1,
        None => library.users.push((pid, 1)),
    }
}

/// A monitor of the caller's.
fn watcher(caller: &Caller<'_>, awaited: Awaited) -> Watcher {
    caller.process.at_end.note_work();
    Watcher { pid: caller.process.pid, reference: ReferenceId::fresh(), awaited }
}

/// `try_load(Folder, Name, Options)`
fn try_load(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let folder = text(arguments[0]).filter(|_| arguments[0].is_atom() || elements(arguments[0]).is_some());
    let (Some(folder), Some(driver)) = (folder, text(arguments[1])) else { return Err(badarg()) };
    let (kills_ports, tell, reload) = load_options(arguments[2]).ok_or_else(badarg)?;
    if is_static(&driver) {
        return error(caller, known_atom("linked_in_driver"));
    }
    if is_locked(&driver) {
        return error(caller, known_atom("permanent"));
    }
    let loaded = library::with(|all| all.iter().find(|library| library.name == driver).map(|library| library.name));
    let me = caller.process.pid;
    if let Some(reload) = reload {
        let Some(driver) = loaded else { return error(caller, known_atom("not_loaded")) };
        return load_again(caller, driver, (folder, kills_ports), tell, reload);
    }
    let (driver, external) = match loaded.or_else(|| library::known(&driver)) {
        Some(driver) => (driver, None),
        None => {
            // The name of a driver lasts, as its functions may.
            let driver: &'static str = Box::leak(driver.into_boxed_str());
            match external::load(&folder, driver) {
                Ok(external) => (driver, Some(external)),
                Err(number) => {
                    let reason = library::failure(caller.heap(), number);
                    return error(caller, reason);
                }
            }
        }
    };
    caller.process.at_end.note_work();
    let (answer, told) = library::with(|all| match all.iter_mut().find(|library| library.name == driver) {
        None => {
            let users = vec![(me, 1)];
            let (watchers, then) = (Vec::new(), Then::Stay);
            let is_locked = false;
            all.push(Library { name: driver, folder, kills_ports, users, watchers, then, is_locked, external });
            (Ok("loaded"), Vec::new())
        }
        Some(library) if library.kills_ports != kills_ports || library.folder != folder => {
            (Err("inconsistent"), Vec::new())
        }
        Some(library) => {
            use_once(library, me);
            let told = if library.then == Then::Unload { library::cancel_unloading(library) } else { Vec::new() };
            (Ok("already_loaded"), told)
        }
    });
    told.iter().for_each(|watcher| library::tell(watcher, true, driver, "unload_cancelled"));
    match answer {
        Ok(status) => done(caller, status),
        Err(reason) => error(caller, known_atom(reason)),
    }
}

/// Loads a driver again, from this folder and with this option, when all its ports are closed.
fn load_again(
    caller: &mut Caller<'_>,
    driver: &'static str,
    from: (String, bool),
    tell: Tell,
    reload: Tell,
) -> Outcome {
    let me = caller.process.pid;
    let watcher = (tell != Tell::Never).then(|| watcher(caller, Awaited::Loaded));
    let begun = library::with(|all| {
        let library = all.iter_mut().find(|library| library.name == driver).ok_or("not_loaded")?;
        if library.then != Then::Stay {
            return Err("pending_reload");
        }
        if !library.users.iter().any(|(user, _)| *user == me) {
            return Err("not_loaded_by_this_process");
        }
        let has_others = library.users.len() > 1;
        if reload == Tell::Driver && has_others {
            return Err("pending_process");
        }
        (library.folder, library.kills_ports) = from;
        library.watchers.extend(watcher);
        Ok(if has_others { "pending_process" } else { "pending_driver" })
    });
    match begun {
        Err(reason) => error(caller, known_atom(reason)),
        Ok(status) => {
            library::begin(driver, Then::Reload, false);
            pending(caller, status, watcher.map(|watcher| watcher.reference))
        }
    }
}

/// `try_unload(Name, Options)`
fn try_unload(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let driver = text(arguments[0]).ok_or_else(badarg)?;
    let (mut tell, mut kill_ports) = (Tell::Never, false);
    for option in elements(arguments[1]).ok_or_else(badarg)? {
        match option.tuple_elements() {
            Some(&[key, value]) if atoms::name_if_atom(key) == "monitor" => {
                tell = read_tell(value).ok_or_else(badarg)?
            }
            None if atoms::name_if_atom(option) == "kill_ports" => kill_ports = true,
            _ => return Err(badarg()),
        }
    }
    if is_static(&driver) {
        return error(caller, known_atom("linked_in_driver"));
    }
    if is_locked(&driver) {
        return error(caller, known_atom("permanent"));
    }
    let me = caller.process.pid;
    let watcher = watcher(caller, Awaited::Unloaded);
    // Whether nobody has asked for it any more.
    let unused = library::with(|all| {
        let Some(library) = all.iter_mut().find(|library| library.name == driver) else { return Err("not_loaded") };
        match library.users.iter_mut().find(|(user, _)| *user == me) {
            Some((_, count)) => *count -= 1,
            None if library.then == Then::Stay => return Err("not_loaded_by_this_process"),
            None => {}
        }
        library.users.retain(|(_, count)| *count > 0);
        let unused = library.users.is_empty();
        if tell == Tell::Anything || tell == Tell::Driver && unused {
            library.watchers.push(watcher);
        }
        Ok((library.name, unused))
    });
    match unused {
        Err(reason) => error(caller, known_atom(reason)),
        Ok((_, false)) => pending(caller, "pending_process", (tell == Tell::Anything).then_some(watcher.reference)),
        Ok((driver, true)) => {
            library::begin(driver, Then::Unload, kill_ports);
            pending(caller, "pending_driver", (tell != Tell::Never).then_some(watcher.reference))
        }
    }
}

/// `loaded_drivers()`
fn loaded_drivers(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let mut loaded: Vec<&str> = library::with(|all| all.iter().map(|library| library.name).collect());
    loaded.extend(part().added.lock().iter().map(|(name, _)| *name));
    let heap = caller.heap();
    let names: Vec<Term> = library::STATIC.into_iter().chain(loaded).map(|driver| heap.string(driver)).collect();
    let names = heap.list(names);
    Ok(heap.tuple(&[atoms::OK, names]))
}

/// Pids and how often each stands there.
fn counted(caller: &mut Caller<'_>, pids: &[(Term, usize)]) -> Term {
    let mut counts: Vec<(Term, usize)> = Vec::new();
    for (pid, count) in pids {
        match counts.iter_mut().find(|(known, _)| known == pid) {
            Some((_, sum)) => *sum += count,
            None => counts.push((*pid, *count)),
        }
    }
    let heap = caller.heap();
    let rows: Vec<Term> =
        counts.into_iter().map(|(pid, count)| heap.tuple(&[pid, Term::small(count as i64)])).collect();
    heap.list(rows)
}

/// `info(Name, Item)`
fn info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let driver = text(arguments[0]).ok_or_else(badarg)?;
    let found = library::with(|all| all.iter().find(|library| library.name == driver).cloned());
    if found.is_none() && !is_static(&driver) {
        return Err(badarg());
    }
    let awaiting = |loading: bool| {
        let watchers = found.iter().flat_map(|library| &library.watchers);
        let meant = watchers.filter(|watcher| (watcher.awaited == Awaited::Loaded) == loading);
        Some(meant.map(|watcher| (watcher.pid, 1)).collect())
    };
    let pids: Option<Vec<(Term, usize)>> = match (atoms::name_if_atom(arguments[1]), &found) {
        ("linked_in_driver", _) => return Ok(Term::boolean(found.is_none())),
        ("permanent", found) => return Ok(Term::boolean(found.as_ref().is_some_and(|library| library.is_locked))),
        ("processes", Some(library)) if library.is_locked => return Ok(known_atom("permanent")),
        ("processes" | "driver_options" | "port_count" | "awaiting_load" | "awaiting_unload", None) => {
            return Ok(known_atom("linked_in_driver"));
        }
        ("driver_options", Some(library)) => {
            let options = library.kills_ports.then(|| known_atom("kill_ports"));
            return Ok(caller.heap().list(options));
        }
        ("port_count", Some(library)) => return Ok(Term::small(library::ports(library.name).len() as i64)),
        ("processes", Some(library)) => Some(library.users.clone()),
        ("awaiting_load", _) => awaiting(true),
        ("awaiting_unload", _) => awaiting(false),
        _ => None,
    };
    Ok(counted(caller, &pids.ok_or_else(badarg)?))
}

/// `monitor(driver, {Name, loaded | unloaded | unloaded_only})`
fn monitor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[key, item] = arguments else { return Err(badarg()) };
    let Some(&[driver, when]) = item.tuple_elements().filter(|_| atoms::name_if_atom(key) == "driver") else {
        return Err(badarg());
    };
    let awaited = match atoms::name_if_atom(when) {
        "loaded" => Awaited::Loaded,
        "unloaded" => Awaited::Unloaded,
        "unloaded_only" => Awaited::UnloadedOnly,
        _ => return Err(badarg()),
    };
    let driver = text(driver).ok_or_else(badarg)?;
    let watcher = watcher(caller, awaited);
    let known = library::with(|all| {
        let library = all.iter_mut().find(|library| library.name == driver)?;
        let state = (awaited == Awaited::Loaded).then_some(library.then).filter(|then| *then != Then::Reload);
        if state.is_none() {
            library.watchers.push(watcher);
        }
        Some(state)
    });
    match known {
        Some(Some(Then::Stay)) => library::tell(&watcher, true, &driver, "loaded"),
        Some(Some(_)) => library::tell(&watcher, false, &driver, "load_cancelled"),
        Some(None) => {}
        None if is_static(&driver) => library::tell(&watcher, true, &driver, "permanent"),
        None => library::tell(&watcher, false, &driver, "unloaded"),
    }
    Ok(watcher.reference.term(caller.heap()))
}

/// `demonitor(Reference)`
fn demonitor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let reference = ReferenceId::of(arguments[0]).ok_or_else(badarg)?;
    let me = caller.process.pid;
    library::with(|all| {
        let is_meant = |watcher: &Watcher| watcher.pid == me && watcher.reference == reference;
        all.iter_mut().for_each(|library| library.watchers.retain(|watcher| !is_meant(watcher)));
    });
    Ok(atoms::TRUE)
}

/// `format_error_int(Error)`
fn format_error_int(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let text = match arguments[0].tuple_elements() {
        Some(&[key, number]) if atoms::name_if_atom(key) == "open_error" => {
            library::load_error(number.as_small().ok_or_else(badarg)?)
        }
        _ => match atoms::name_if_atom(arguments[0]) {
            "inconsistent" => "Driver name and/or driver options are inconsistent with currently loaded driver",
            "linked_in_driver" => "Driver is statically linked and cannot be loaded/unloaded",
            "permanent" => "DDLL driver is permanent an cannot be unloaded/loaded",
            "not_loaded" => "DDLL driver is not loaded",
            "not_loaded_by_this_process" => "DDLL driver was not loaded by this process",
            "pending_reload" => "Driver reloading is already pending",
            "pending_process" => "Driver is loaded by others when attempting option {reload, pending_driver}",
            name => match library::NAMED_ERRORS.iter().find(|(_, named)| *named == name) {
                Some((number, _)) => return Ok(caller.heap().string(&library::load_error(*number))),
                None => return Err(badarg()),
            },
        }
        .to_owned(),
    };
    Ok(caller.heap().string(&text))
}
