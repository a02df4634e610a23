//! Native code and allocation sites. Most functions have none that ever changes, so their native code does not look at
//! the handlers there. It is made anew where a site is to build in the message area.
//!
//! Sites of such functions are sampled nevertheless: native code leaves to the interpreter when the heap is full, in
//! front of the sites that fill it.

use atoll_code::{entry_of, find_code};
use atoll_term::Word;

use super::{Engine, State, Unit, Waiting, function_around};
use crate::compile::SiteChecks;

impl Unit {
    /// Whether it has a function, or a copy of it, with sites that it does not look at.
    fn leaves_out(&self, function: usize) -> bool {
        let copies = self.in_place.iter().map(|one| (one.entry, one.checks_sites));
        copies.chain([(self.entry, self.checks_sites)]).any(|one| one == (function, false))
    }
}

impl Engine {
    /// Whether native code of a function looks at its sites.
    pub(super) fn checks_sites(&self, entry: usize) -> bool {
        match self.site_checks {
            SiteChecks::Never => false,
            SiteChecks::Changed => self.state.lock().changed_sites.contains(&entry),
            SiteChecks::Always => true,
        }
    }

    /// Native code of the function that this site is in looks at its sites from now on.
    pub(super) fn check_sites_at(&self, site: *const Word) {
        if self.site_checks != SiteChecks::Changed {
            return;
        }
        let Some(code) = find_code(site) else { return };
        let Some(entry) = function_around(&code, site).and_then(|function| entry_of(&code, function)) else { return };
        let entry = entry as usize;
        let mut state = self.state.lock();
        let State { units, waiting, changed_sites, .. } = &mut *state;
        if !changed_sites.insert(entry) {
            return;
        }
        for unit in units.values_mut().filter(|unit| unit.is_active && unit.leaves_out(entry)) {
            unit.is_active = false;
            self.switch(unit, false);
            if let Some(code) = unit.code.upgrade() {
                waiting.insert(unit.entry, Waiting { code, function: unit.function, met: 0 });
            }
        }
        self.wake.notify_one();
    }
}
