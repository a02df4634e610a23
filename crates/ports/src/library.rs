//! Drivers that OTP keeps in files of their own, and loads when they are asked for (`erl_ddll`). Those that the machine
//! has are built in, and count as loaded from when a process asks for them until all such processes have given them
//! back.

use std::sync::{Arc, OnceLock};

use atoll_process::{ReferenceId, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term};
use parking_lot::Mutex;

use crate::external::{self, External};
use crate::part::part;
use crate::table;
use crate::{trace_file, trace_ip};

/// Names of the drivers that can be loaded.
const NAMES: [&str; 2] = [trace_file::NAME, trace_ip::NAME];

/// Names of the drivers that are always there, as OTP lists them.
pub const STATIC: [&str; 5] = ["tcp_inet", "udp_inet", "sctp_inet", "ram_file_drv", "tty_sl"];

/// What a monitor on a driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// That it is loaded.
    Loaded,
    /// That it is not there any more, or stays after all.
    Unloaded,
    /// That it is not there any more.
    UnloadedOnly,
}

/// Who watches a driver.
#[derive(Clone, Copy, Debug)]
pub struct Watcher {
    /// Local pid.
    pub pid: Term,
    /// The monitor.
    pub reference: ReferenceId,
    /// What for.
    pub awaited: Awaited,
}

/// What happens when the last port of a driver is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Stay,
    /// It is given back.
    Unload,
    /// It is loaded again.
    Reload,
}

/// A driver that is loaded.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its name.
    pub name: &'static str,
    /// The folder that was named when it was loaded.
    pub folder: String,
    /// Whether its ports are closed when it is given back.
    pub kills_ports: bool,
    /// The processes that have asked for it, and how often.
    pub users: Vec<(Term, usize)>,
    /// The processes that monitor it.
    pub watchers: Vec<Watcher>,
    /// What happens when its last port is closed.
    pub then: Then,
    /// Whether it has said that it stays for good.
    pub is_locked: bool,
    /// What was loaded, if it is not built in.
    pub external: Option<Arc<dyn External>>,
}

/// The drivers that a machine has loaded.
#[derive(Default)]
pub(crate) struct Libraries(OnceLock<Mutex<Vec<Library>>>);

fn libraries() -> &'static Mutex<Vec<Library>> {
    part().libraries.0.get_or_init(|| {
        System::get().on_exit(|pid, _| process_ended(pid));
        Mutex::default()
    })
}

/// The name of a driver that could be loaded.
pub fn known(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// The driver of this name that was loaded from a file, if ports of it can be opened now.
pub fn loaded(name: &str) -> Option<Arc<dyn External>> {
    let found = with(|all| {
        let library = all.iter().find(|library| library.name == name && library.then == Then::Stay)?;
        library.external.clone()
    });
    found.or_else(|| external::added(name))
}

/// Keeps a driver for good; whether it is loaded. Who waits for its end learns that it does not come.
pub fn lock(name: &str) -> bool {
    let told = with(|all| {
        let library = all.iter_mut().find(|library| library.name == name)?;
        library.is_locked = true;
        Some(cancel_unloading(library))
    });
    told.iter().flatten().for_each(|watcher| tell(watcher, true, name, "permanent"));
    told.is_some()
}

/// Whether ports of a driver can be opened now.
pub fn is_usable(name: &str) -> bool {
    known(name).is_none() || with(|all| all.iter().any(|library| library.name == name && library.then == Then::Stay))
}

/// Looks at all that are loaded, in the order of loading. Nothing of ports is to be called meanwhile.
pub fn with<R>(work: impl FnOnce(&mut Vec<Library>) -> R) -> R {
    work(&mut libraries().lock())
}

/// Terms of the open ports of a driver.
pub fn ports(name: &str) -> Vec<Term> {
    table::of_library(name)
}

/// Tells who watches a driver: `{'UP' | 'DOWN', Reference, driver, Name, Status}`.
pub fn tell(watcher: &Watcher, is_up: bool, driver: &str, status: &str) {
    tell_term(watcher, is_up, driver, |_| known_atom(status));
}

fn tell_term(watcher: &Watcher, is_up: bool, driver: &str, status: impl Fn(&mut ScratchHeap) -> Term) {
    let head = known_atom(if is_up { "UP" } else { "DOWN" });
    crate::port::send(watcher.pid, |heap| {
        let (reference, status) = (watcher.reference.term(heap), status(heap));
        heap.tuple(&[head, reference, known_atom("driver"), known_atom(driver), status])
    });
}

/// Why a driver cannot be loaded, by the number of the failure: an atom, or `{open_error, Number}`.
pub fn failure(heap: &mut impl Build, number: i64) -> Term {
    match NAMED_ERRORS.iter().find(|(named, _)| *named == number) {
        Some((_, name)) => known_atom(name),
        None => heap.tuple(&[known_atom("open_error"), Term::small(number)]),
    }
}

/// Begins to give a driver back, or to load it again: its ports are closed if that is wished; it is done with the last
/// of them.
pub fn begin(driver: &'static str, then: Then, kill_ports: bool) {
    let (kills, cancelled) = with(|all| {
        let Some(library) = all.iter_mut().find(|library| library.name == driver) else { return (false, Vec::new()) };
        library.then = then;
        // Who waits for it to be loaded waits in vain now.
        let (cancelled, left) =
            library.watchers.drain(..).partition(|watcher| then == Then::Unload && watcher.awaited == Awaited::Loaded);
        library.watchers = left;
        (kill_ports || library.kills_ports, cancelled)
    });
    cancelled.iter().for_each(|watcher| tell(watcher, false, driver, "load_cancelled"));
    if kills {
        for port in ports(driver).into_iter().filter_map(table::find) {
            port.end_now(known_atom("driver_unloaded"));
        }
    }
    port_ended(driver);
}

/// A port of a driver has ended: if it was the last, what waits for that is done.
pub fn port_ended(driver: &str) {
    if !ports(driver).is_empty() {
        return;
    }
    let ended = with(|all| {
        let place = all.iter().position(|library| library.name == driver)?;
        match all[place].then {
            Then::Stay => None,
            Then::Unload => Some(all.remove(place)),
            Then::Reload => {
                let library = &mut all[place];
                let ended = library.clone();
                library.then = Then::Stay;
                library.external = None;
                library.watchers.clear();
                Some(ended)
            }
        }
    });
    let Some(Library { name, folder, watchers, then, external, .. }) = ended else { return };
    let is_external = external.is_some();
    // Its own end is called here, without a lock.
    drop(external);
    let (for_load, for_end): (Vec<Watcher>, Vec<Watcher>) =
        watchers.into_iter().partition(|watcher| watcher.awaited == Awaited::Loaded);
    for_end.iter().for_each(|watcher| tell(watcher, false, name, "unloaded"));
    if then != Then::Reload {
        return;
    }
    let again = if is_external { external::load(&folder, name).map(Some) } else { Ok(None) };
    with(|all| match &again {
        Ok(again) => {
            let library = all.iter_mut().find(|library| library.name == name);
            library.into_iter().for_each(|library| library.external = again.clone());
        }
        Err(_) => all.retain(|library| library.name != name),
    });
    for watcher in &for_load {
        match &again {
            Ok(_) => tell(watcher, true, name, "loaded"),
            Err(number) => tell_term(watcher, false, name, |heap| {
                let reason = failure(heap, *number);
                heap.tuple(&[known_atom("load_failure"), reason])
            }),
        }
    }
}

/// A process that was to be given back is asked for again.
pub fn cancel_unloading(library: &mut Library) -> Vec<Watcher> {
    library.then = Then::Stay;
    let (told, left) = library.watchers.drain(..).partition(|watcher| watcher.awaited == Awaited::Unloaded);
    library.watchers = left;
    told
}

/// Gives back what a process that has ended had asked for.
fn process_ended(pid: Term) {
    let unused: Vec<&'static str> = with(|all| {
        all.iter_mut().for_each(|library| library.watchers.retain(|watcher| watcher.pid != pid));
        let mut unused = Vec::new();
        for library in all.iter_mut().filter(|library| library.users.iter().any(|(user, _)| *user == pid)) {
            library.users.retain(|(user, _)| *user != pid);
            if library.users.is_empty() && library.then == Then::Stay && !library.is_locked {
                unused.push(library.name);
            }
        }
        unused
    });
    unused.into_iter().for_each(|driver| begin(driver, Then::Unload, false));
}

/// Failures to load that have a name.
pub const NAMED_ERRORS: [(i64, &str); 5] = [
    (-1, "no_driver_init"),
    (-2, "driver_init_failed"),
    (-3, "bad_driver_name"),
    (-4, "driver_name_to_long"),
    (-5, "driver_incorrect_version"),
];

/// What a failure to load is called, by its number.
pub fn load_error(number: i64) -> String {
    if let Some(text) = external::said(number) {
        return text;
    }
    let text = match number {
        0 => "No error",
        -1 => "No driver init in dynamic library",
        -2 => "Driver init failed",
        -3 => "Bad driver name",
        -4 => "Driver name to long",
        -5 => "Driver compiled with incorrect version of erl_driver.h",
        -6 => "DDLL functionality not available on this platform",
        -7 => "Unspecified dynamic library error",
        -8 => "Symbol not found in dynamic library",
        NOT_OPENED => "cannot open shared object file: No such file or directory",
        number if number < NOT_OPENED => "Unknown dlload error",
        _ => "Unspecified error",
    };
    text.to_owned()
}

/// A driver's file cannot be opened.
pub const NOT_OPENED: i64 = -10;
