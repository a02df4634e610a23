//! Which native code is made anew because it left to the first engine too often.

use std::sync::Arc;

use atoll_code::ModuleCode;

use super::{Engine, State};

impl Engine {
    /// Functions of which native code has to be made anew, because it left often at places that were taken to be seldom
    /// met.
    pub(super) fn review(&self) -> Vec<(Arc<ModuleCode>, usize)> {
        let mut state = self.state.lock();
        let State { units, general, counted, .. } = &mut *state;
        let mut found = Vec::new();
        for unit in units.values().filter(|unit| unit.is_active) {
            let in_place = unit.in_place.iter().map(|called| (called.entry, called.start, &called.exits));
            let mut is_new = false;
            for (entry, start, exits) in in_place.chain([(unit.entry, unit.start, &unit.exits)]) {
                let often = exits.often();
                if !often.is_empty() {
                    let known = general.entry(entry).or_default();
                    let before = known.len();
                    known.extend(often.iter().map(|index| start + index));
                    is_new |= known.len() > before;
                }
            }
            // What is known already and still leaves, fails: it is left alone, or it would have this done ever again.
            if is_new && let Some(code) = unit.code.upgrade() {
                unit.all_exits().for_each(|exits| exits.take(&mut counted.exits));
                found.push((code, unit.function));
            }
        }
        found
    }

    /// Has the engine's thread look at where native code has left.
    pub(super) fn have_reviewed(&self) {
        self.state.lock().is_review_due = true;
        self.wake.notify_one();
    }
}
