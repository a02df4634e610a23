//! The code of one machine.

use atoll_platform::steady::HashMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

use atoll_term::{Export, Term};
use parking_lot::RwLock;

use crate::breakpoints::Breakpoints;
use crate::built_in_points::BuiltInPoints;
use crate::ranges::{self, ModuleCode};
use crate::registry::Registry;
use crate::retired::Retirement;
use crate::server::{LoadedModule, TakesOver, Translate};

/// What a machine knows of code.
pub struct Part {
    pub(crate) registry: Registry,
    pub(crate) translator: OnceLock<&'static dyn Translate>,
    pub(crate) second: OnceLock<&'static dyn TakesOver>,
    pub(crate) modules: RwLock<HashMap<Term, LoadedModule>>,
    /// All code, by its first address.
    pub(crate) ranges: RwLock<BTreeMap<usize, Arc<ModuleCode>>>,
    /// How often code was added to them or removed.
    pub(crate) changes: AtomicU64,
    /// Built-in functions by the addresses where they go on.
    pub(crate) built_in_places: RwLock<BTreeMap<usize, &'static Export>>,
    /// Versions of modules that were loaded so far.
    pub(crate) loaded: AtomicU64,
    /// Entries of a stack trace (`backtrace_depth`).
    pub(crate) backtrace_depth: AtomicUsize,
    pub(crate) breakpoints: Breakpoints,
    pub(crate) built_in_points: BuiltInPoints,
    pub(crate) retirement: Retirement,
}

atoll_platform::part_of_machine!(Part);

impl Default for Part {
    fn default() -> Part {
        Part {
            registry: Registry::default(),
            translator: OnceLock::new(),
            second: OnceLock::new(),
            modules: RwLock::default(),
            ranges: RwLock::default(),
            changes: AtomicU64::new(0),
            built_in_places: RwLock::default(),
            loaded: AtomicU64::new(0),
            backtrace_depth: AtomicUsize::new(ranges::USUAL_BACKTRACE),
            breakpoints: Breakpoints::default(),
            built_in_points: BuiltInPoints::default(),
            retirement: Retirement::default(),
        }
    }
}
