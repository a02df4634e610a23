//! Sends the system profiler (`erlang:system_profile`) messages about processes, ports and schedulers that become
//! active or inactive. While there is no profiler, each place that could send one checks one switch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term};
use parking_lot::Mutex;

use crate::held::Held;
use crate::process::{Own, Process};
use crate::system::System;
use crate::tracing;

/// The profiler, and the events that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Local pid or port of the profiler. Its own events are not reported.
    pub pid: Term,
    /// Processes that become runnable, and that are no more.
    pub processes: bool,
    /// Ports that begin to work for a signal or an event, and that have done so.
    pub ports: bool,
    /// Schedulers that find something to run, and those that find nothing.
    pub schedulers: bool,
    /// A process that calls a port does not count as runnable meanwhile. Accepted without effect: here the process does
    /// the port's work itself.
    pub exclusive: bool,
    /// The form of timestamps: one of the flags of [`tracing`].
    pub time: u32,
}

/// What a machine knows of its profiler.
#[derive(Default)]
pub struct Profiling {
    on: AtomicBool,
    profile: Mutex<Option<Profile>>,
    place: OnceLock<Place>,
}

impl Profiling {
    /// Whether there is a profiler.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }
}

fn profiling() -> &'static Profiling {
    &System::get().profiling
}

/// The function in which a process is, as a term in this heap; 0 if it is in none.
pub type Place = fn(&Own, &mut ScratchHeap) -> Term;

/// Installs the function that finds the function in which a process is; only the first call counts.
pub fn install_place(place: Place) {
    let _ = profiling().place.set(place);
}

/// The profiler and its events; `None` if there is none, or it has ended.
pub fn profile() -> Option<Profile> {
    if !is_on() {
        return None;
    }
    let mut kept = profiling().profile.lock();
    if kept.is_some_and(|profile| !tracing::is_there(profile.pid)) {
        *kept = None;
        profiling().on.store(false, Ordering::Relaxed);
    }
    *kept
}

/// Sets the profiler and its events, and returns the old ones.
pub fn set_profile(new: Option<Profile>) -> Option<Profile> {
    let old = profile();
    *profiling().profile.lock() = new;
    profiling().on.store(new.is_some(), Ordering::Relaxed);
    old
}

/// Whether there is a profiler.
#[inline]
pub fn is_on() -> bool {
    profiling().is_on()
}

/// A process has become runnable, or is no more.
#[cold]
#[inline(never)]
pub fn runnable(held: &mut Held<'_>, active: bool) {
    let (process, own) = held.split();
    process.runnable_untold.store(false, Ordering::Relaxed);
    place_told(process, active, |scratch| profiling().place.get().map_or(Term::small(0), |place| place(own, scratch)));
}

/// Tells of a process that starts running if the thread that made it runnable could not.
pub fn starts(held: &mut Held<'_>) {
    if held.process().runnable_untold.load(Ordering::Relaxed) {
        runnable(held, true);
    }
}

/// A process has ended.
#[cold]
#[inline(never)]
pub fn ended(process: &Process) {
    place_told(process, false, |_| Term::small(0));
}

fn place_told(process: &Process, active: bool, place: impl Fn(&mut ScratchHeap) -> Term) {
    let Some(profile) = profile().filter(|profile| profile.processes && profile.pid != process.pid) else { return };
    tell(profile, |heap| [process.pid, state(active), place(heap)]);
}

/// A port begins to work, or has done so.
#[cold]
#[inline(never)]
pub fn port(id: Term, active: bool) {
    if let Some(profile) = profile().filter(|profile| profile.ports && profile.pid != id) {
        tell(profile, |_| [id, state(active), Term::small(0)]);
    }
}

/// The scheduler with this index finds something to run, or nothing; so many are active now. Whether it was told.
#[cold]
#[inline(never)]
pub fn scheduler(index: usize, active: bool, count: usize) -> bool {
    let Some(profile) = profile().filter(|profile| profile.schedulers) else { return false };
    let number = Term::small(index as i64 + 1);
    tell(profile, |_| [known_atom("scheduler"), number, state(active), Term::small(count as i64)]);
    true
}

/// Whether this process is the profiler.
pub fn is_profiler(pid: Term) -> bool {
    profiling().profile.lock().is_some_and(|profile| profile.pid == pid)
}

fn state(active: bool) -> Term {
    known_atom(if active { "active" } else { "inactive" })
}

fn tell<const N: usize>(profile: Profile, parts: impl Fn(&mut ScratchHeap) -> [Term; N]) {
    tracing::post_composed(profile.pid, |heap| {
        let mut elements = vec![known_atom("profile")];
        elements.extend(parts(heap));
        elements.extend(tracing::time(heap, profile.time));
        heap.tuple(&elements)
    });
}
