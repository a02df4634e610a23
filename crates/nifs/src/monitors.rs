//! Monitors of processes: an end is told to the `down` of a resource's library, or to a port of a driver.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};

use atoll_process::{Own, ReferenceId, System};
use atoll_term::{Build, MagicValue, Term};
use parking_lot::{Mutex, MutexGuard};

use crate::abi::Monitor;
use crate::callbacks::{self, Work};
use crate::env::{Env, enter_machine};
use crate::here;
use crate::resources::Block;

/// Whom a monitor tells.
enum Watcher {
    /// A resource, and who counts it.
    Resource(Block, Weak<MagicValue>),
    /// A port of a driver.
    Port(Term),
}

struct Watch {
    monitor: Monitor,
    watcher: Watcher,
}

/// What a port is told: this monitor's process has ended.
pub struct Ended(pub Monitor);

/// Monitors by the process that they watch.
type Watches = HashMap<Term, Vec<Watch>>;

/// All monitors of a machine.
#[derive(Default)]
pub struct Watched(OnceLock<Mutex<Watches>>);

fn watched() -> MutexGuard<'static, Watches> {
    let all = here().watched.0.get_or_init(|| {
        System::get().on_exit(ended);
        Mutex::default()
    });
    all.lock()
}

static NEXT: AtomicU64 = AtomicU64::new(1);

fn new_monitor(process: Term) -> Monitor {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes[8..16].copy_from_slice(&process.word().to_be_bytes());
    Monitor(bytes)
}

/// The word of the process that a monitor watches.
fn process_of(monitor: &Monitor) -> u64 {
    monitor.0[8..16].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A process has ended; nobody who monitors it knows of that yet.
fn ended(pid: Term, _: &mut Own) {
    let mut all = watched();
    let watches = all.remove(&pid).unwrap_or_default();
    let (mut held, mut ports) = (Vec::new(), Vec::new());
    for Watch { monitor, watcher } in watches {
        match watcher {
            // Counted before a library can find that the monitor is gone: then `down` comes in front of the destructor.
            Watcher::Resource(_, value) => held.extend(value.upgrade().map(|value| (value, monitor))),
            Watcher::Port(port) => ports.push((port, monitor)),
        }
    }
    drop(all);
    for (port, monitor) in ports {
        if let Some(port) = atoll_ports::find(port) {
            port.with(|port, state, driver| driver.told(port, state, Box::new(Ended(monitor))));
        }
    }
    callbacks::with_callbacks(|| {
        for (resource, monitor) in held {
            callbacks::later(Work::Down { resource, process: pid, monitor });
        }
    });
}

/// The resources that monitor a process.
pub fn of(pid: Term) -> Vec<(ReferenceId, Arc<MagicValue>)> {
    let all = watched();
    let watches = all.get(&pid).into_iter().flatten();
    let resource = |watch: &Watch| match &watch.watcher {
        Watcher::Resource(block, value) => Some((block.numbers(), value.upgrade()?)),
        Watcher::Port(_) => None,
    };
    watches.filter_map(resource).collect()
}

/// A resource is about to be destroyed.
pub fn forget(resource: Block) {
    forget_those(|watcher| matches!(watcher, Watcher::Resource(block, _) if *block == resource));
}

/// A port is closed.
pub fn forget_port(port: Term) {
    forget_those(|watcher| matches!(watcher, Watcher::Port(other) if *other == port));
}

fn forget_those(unwanted: impl Fn(&Watcher) -> bool) {
    watched().retain(|_, watches| {
        watches.retain(|watch| !unwanted(&watch.watcher));
        !watches.is_empty()
    });
}

/// Ends a monitor; whether it was there.
pub fn remove(monitor: &Monitor) -> bool {
    let process = process_of(monitor);
    let mut all = watched();
    let Some((pid, watches)) = all.iter_mut().find(|(pid, _)| pid.word() == process) else { return false };
    let before = watches.len();
    watches.retain(|watch| watch.monitor != *monitor);
    let (found, pid, is_empty) = (watches.len() < before, *pid, watches.is_empty());
    if is_empty {
        all.remove(&pid);
    }
    found
}

#[unsafe(no_mangle)]
extern "C" fn enif_monitor_process(
    _: *mut Env,
    object: *mut c_void,
    pid: &Term,
    monitor: Option<&mut Monitor>,
) -> c_int {
    enter_machine();
    let Some(resource) = Block::at(object) else { return -1 };
    if resource.kind().callbacks().down.is_none() {
        return -1;
    }
    resource.note_monitors();
    match watch(*pid, Watcher::Resource(resource, Arc::downgrade(&resource.hold()))) {
        Some(made) => {
            if let Some(monitor) = monitor {
                *monitor = made;
            }
            0
        }
        None => 1,
    }
}

/// The process that a monitor watches, while it does.
pub fn watched_by(monitor: &Monitor) -> Option<Term> {
    let all = watched();
    let of = all.iter().find(|(_, watches)| watches.iter().any(|watch| watch.monitor == *monitor));
    of.map(|(pid, _)| *pid)
}

/// The ports that monitor a process.
pub fn ports_of(pid: Term) -> Vec<Term> {
    let all = watched();
    let watches = all.get(&pid).into_iter().flatten();
    watches.filter_map(|watch| if let Watcher::Port(port) = watch.watcher { Some(port) } else { None }).collect()
}

/// The processes that a port monitors, once for each monitor.
pub fn by_port(port: Term) -> Vec<Term> {
    let all = watched();
    let is_own = |watch: &&Watch| matches!(watch.watcher, Watcher::Port(other) if other == port);
    all.iter().flat_map(|(pid, watches)| watches.iter().filter(is_own).map(|_| *pid)).collect()
}

/// Lets a port of a driver monitor a process. `None`: that has ended.
pub fn of_port(port: Term, pid: Term) -> Option<Monitor> {
    watch(pid, Watcher::Port(port))
}

fn watch(pid: Term, watcher: Watcher) -> Option<Monitor> {
    let system = System::get();
    if !pid.is_local_pid() || !system.table.contains(pid) {
        return None;
    }
    let monitor = new_monitor(pid);
    watched().entry(pid).or_default().push(Watch { monitor, watcher });
    // Either the process's end, which looks at its work after it has left the table, finds the monitor, or this sees
    // that it has left.
    system.table.with(pid, |process| process.at_end.note_work());
    fence(Ordering::SeqCst);
    (system.table.contains(pid) || !remove(&monitor)).then_some(monitor)
}

#[unsafe(no_mangle)]
extern "C" fn enif_demonitor_process(_: *mut Env, object: *mut c_void, monitor: &Monitor) -> c_int {
    enter_machine();
    let is_there = Block::at(object).is_some() && remove(monitor);
    (!is_there).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_compare_monitors(one: &Monitor, other: &Monitor) -> c_int {
    one.cmp(other) as c_int
}

/// A reference that stands for a monitor where one is shown.
#[unsafe(no_mangle)]
extern "C" fn enif_make_monitor_term(env: &mut Env, monitor: &Monitor) -> Term {
    let number = monitor.0[..8].iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    env.reference([(number & 0x3_ffff) as u32, (number >> 18) as u32, u32::MAX], None)
}
