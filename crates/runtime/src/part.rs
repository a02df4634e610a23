//! What running code needs of one machine.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use atoll_process::BuiltIn;
use parking_lot::Mutex;

use crate::autoload::Load;
use crate::refusals::Refusals;
use crate::report::Reporter;
use crate::requests::Answer;
use crate::story::Story;
use crate::trace_hooks::Hooks;

/// Functions and tables that a machine is made with, and code that was made for its exports.
pub struct Part {
    pub(crate) built_ins: &'static [BuiltIn],
    pub(crate) answer: Answer,
    pub(crate) reporter: Reporter,
    pub(crate) loader: Option<Load>,
    pub(crate) hooks: Hooks,
    pub(crate) made: Made,
    /// See [`crate::operations`].
    pub(crate) silent: OnceLock<HashSet<usize>>,
    pub(crate) story: Story,
    pub(crate) refusals: Refusals,
}

/// Code of the machine's own, by the addresses of the exports that it was made for.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) catching: Mutex<BTreeMap<usize, usize>>,
    pub(crate) untraced_bodies: Mutex<BTreeMap<usize, usize>>,
    pub(crate) traced_exports: Mutex<BTreeMap<usize, usize>>,
}

atoll_platform::part_of_machine!(Part);

impl Part {
    /// A machine with these built-in functions. `answer` carries out requests to processes, `reporter` is told of
    /// uncaught exceptions, `loader` loads modules when they are first called, where no code server does, and `hooks`
    /// are told of traced calls.
    pub fn new(
        built_ins: &'static [BuiltIn],
        answer: Answer,
        reporter: Reporter,
        loader: Option<Load>,
        hooks: Hooks,
    ) -> Part {
        Part {
            built_ins,
            answer,
            reporter,
            loader,
            hooks,
            made: Made::default(),
            silent: OnceLock::new(),
            story: Story::default(),
            refusals: Refusals::default(),
        }
    }
}

/// What this thread's machine tells of its run.
pub fn story() -> &'static Story {
    &part().story
}
