//! Files of modules, read again for the compiler, which comes back to the same few modules for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use atoll_code::{Linked, ModuleCode};

/// Most instructions of the files that are kept; one takes about a hundred bytes.
const MOST: usize = 100_000;

/// The files that were read last.
#[derive(Default)]
pub struct Files {
    /// The one that was asked for last stands first.
    kept: VecDeque<(Weak<ModuleCode>, Linked)>,
}

impl Files {
    /// How long files are kept when nobody asks for one.
    pub const KEPT: Duration = Duration::from_secs(1);

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The file of a module. `None` if it cannot be read again.
    pub fn of(&mut self, code: &Arc<ModuleCode>) -> Option<&Linked> {
        match self.kept.iter().position(|(kept, _)| kept.as_ptr() == Arc::as_ptr(code)) {
            Some(place) => {
                let found = self.kept.remove(place)?;
                self.kept.push_front(found);
            }
            None => {
                self.kept.push_front((Arc::downgrade(code), code.linked()?));
                let mut sum = 0;
                let mut fits = |(_, linked): &(_, Linked)| {
                    sum += linked.module.code.len();
                    sum <= MOST
                };
                let count = self.kept.iter().position(|one| !fits(one)).unwrap_or(self.kept.len());
                self.kept.truncate(count.max(1));
            }
        }
        self.kept.front().map(|(_, linked)| linked)
    }
}
