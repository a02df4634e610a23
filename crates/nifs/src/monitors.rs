//! Monitors of resources: a process's end is told to the library's `down`.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, LazyLock, Weak};

use atoll_process::{Own, ReferenceId, System};
use atoll_term::{Build, MagicValue, Term};
use parking_lot::Mutex;

use crate::abi::Monitor;
use crate::callbacks::{self, Work};
use crate::env::{Env, enter_machine};
use crate::resources::Block;

/// A monitor's number, its resource and who counts that.
struct Watch {
    monitor: Monitor,
    resource: Block,
    value: Weak<MagicValue>,
}

/// Monitors by the process that they watch.
static WATCHED: LazyLock<Mutex<HashMap<Term, Vec<Watch>>>> = LazyLock::new(|| {
    System::get().on_exit(ended);
    Mutex::default()
});

static NEXT: AtomicU64 = AtomicU64::new(1);

fn new_monitor(process: Term) -> Monitor {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes[8..16].copy_from_slice(&process.word().to_be_bytes());
    Monitor(bytes)
}

/// The process that a monitor watches.
fn process_of(monitor: &Monitor) -> u64 {
    monitor.0[8..16].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A process has ended; nobody who monitors it knows of that yet.
fn ended(pid: Term, _: &mut Own) {
    let mut watched = WATCHED.lock();
    let watches = watched.remove(&pid).unwrap_or_default().into_iter();
    // Counted before a library can find that the monitor is gone: then `down` comes in front of the destructor.
    let held: Vec<_> = watches.filter_map(|watch| Some((watch.value.upgrade()?, watch.monitor))).collect();
    drop(watched);
    callbacks::with_callbacks(|| {
        for (resource, monitor) in held {
            callbacks::later(Work::Down { resource, process: pid, monitor });
        }
    });
}

/// The resources that monitor a process.
pub fn of(pid: Term) -> Vec<(ReferenceId, Arc<MagicValue>)> {
    let watched = WATCHED.lock();
    let watches = watched.get(&pid).into_iter().flatten();
    watches.filter_map(|watch| Some((watch.resource.numbers(), watch.value.upgrade()?))).collect()
}

/// A resource is about to be destroyed.
pub fn forget(resource: Block) {
    WATCHED.lock().retain(|_, watches| {
        watches.retain(|watch| watch.resource != resource);
        !watches.is_empty()
    });
}

/// Ends a monitor; whether it was there.
fn remove(monitor: &Monitor) -> bool {
    let process = process_of(monitor);
    let mut watched = WATCHED.lock();
    let Some((pid, watches)) = watched.iter_mut().find(|(pid, _)| pid.word() == process) else { return false };
    let before = watches.len();
    watches.retain(|watch| watch.monitor != *monitor);
    let (found, pid, is_empty) = (watches.len() < before, *pid, watches.is_empty());
    if is_empty {
        watched.remove(&pid);
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
    let pid = *pid;
    let system = System::get();
    if !pid.is_local_pid() || !system.table.contains(pid) {
        return 1;
    }
    let made = new_monitor(pid);
    resource.note_monitors();
    let watch = Watch { monitor: made, resource, value: Arc::downgrade(&resource.hold()) };
    WATCHED.lock().entry(pid).or_default().push(watch);
    // Either the process's end, which looks at its work after it has left the table, finds the monitor, or this sees
    // that it has left.
    system.table.with(pid, |process| process.at_end.note_work());
    fence(Ordering::SeqCst);
    if !system.table.contains(pid) && remove(&made) {
        return 1;
    }
    if let Some(monitor) = monitor {
        *monitor = made;
    }
    0
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
