//! The heap of one machine: its architecture with the settings, its figures, and what the other parts of the machine
//! have made known to it. Code finds it through the thread that it runs on.

use std::cell::Cell;
use std::sync::OnceLock;

use atoll_platform::threads::{Machine, outside};
use atoll_term::Term;
use atoll_term::known::Known;

use crate::architecture::Architecture;
use crate::base::Base;
use crate::capabilities;
use crate::counters::Statistics;
use crate::mutator::Mutator;
use crate::roots::World;
use crate::settings::Settings;
use crate::sites::Sites;

/// The heap's part of a machine.
pub struct Part {
    architecture: Box<dyn Architecture>,
    base: Base,
    world: OnceLock<&'static dyn World>,
    sites: OnceLock<&'static dyn Sites>,
    known: Known,
}

atoll_platform::part_of_machine!(Part);

thread_local! {
    /// The architecture of this thread's machine: asked for so often that it is found without its part.
    static ARCHITECTURE: Cell<Option<&'static dyn Architecture>> = const { Cell::new(None) };
    /// Its figures, for the same reason.
    static STATISTICS: Cell<Option<&'static Statistics>> = const { Cell::new(None) };
}

impl Machine for Part {
    fn enter_parts(&'static self) {
        enter(self);
        ARCHITECTURE.set(Some(&*self.architecture));
        capabilities::enter(&*self.architecture);
        STATISTICS.set(Some(&self.base.statistics));
    }
}

impl Part {
    /// A heap of this architecture, without a process.
    pub fn new(architecture: Box<dyn Architecture>) -> Part {
        let base = architecture.base().clone();
        Part { architecture, base, world: OnceLock::new(), sites: OnceLock::new(), known: Known::default() }
    }

    /// The architecture.
    pub fn architecture(&self) -> &dyn Architecture {
        &*self.architecture
    }

    /// Tells the architecture where the processes are; the first call counts.
    pub fn set_world(&self, world: &'static dyn World) {
        let _ = self.world.set(world);
    }

    /// Makes the engine's allocation sites known; the first call counts.
    pub fn set_sites(&self, sites: &'static dyn Sites) {
        let _ = self.sites.set(sites);
    }
}

/// The architecture of this thread's machine.
#[inline(always)]
pub fn architecture() -> &'static dyn Architecture {
    match ARCHITECTURE.get() {
        Some(architecture) => architecture,
        None => outside(),
    }
}

/// The settings of this thread's machine.
#[inline(always)]
pub fn settings() -> &'static Settings {
    &part().base.settings
}

/// The figures of this thread's machine.
#[inline(always)]
pub fn statistics() -> &'static Statistics {
    match STATISTICS.get() {
        Some(statistics) => statistics,
        None => outside(),
    }
}

/// The processes of this thread's machine.
pub fn world() -> &'static dyn World {
    *part().world.get().expect("the machine registers its processes before the first collection")
}

/// See [`World::pid_of`]; `None` also where no processes are known.
pub fn pid_of(mutator: *const Mutator) -> Option<Term> {
    part().world.get()?.pid_of(mutator)
}

/// The values of this thread's machine that references stand for.
pub fn known() -> &'static Known {
    &part().known
}

/// The engine's sites, if it knows any.
pub fn sites() -> Option<&'static dyn Sites> {
    part().sites.get().copied()
}
