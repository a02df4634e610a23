//! What is reported of each collection.

use std::sync::atomic::Ordering;

use atoll_heap::lanes::Outcome;
use atoll_heap::{counters, settings};
use atoll_platform::clock::monotonic;

/// The time, if collections are timed: of a small heap, reading the clock would be a good part.
#[inline]
pub(crate) fn clock() -> i64 {
    let settings = settings();
    if settings.timed || settings.trace { monotonic() } else { 0 }
}

/// One collection, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Name of the architecture.
    pub(crate) architecture: &'static str,
    /// Did it collect the old generation?
    pub(crate) major: bool,
    /// [`clock`] when it began.
    pub(crate) started: i64,
    /// In use before: collected generations and fragments.
    pub(crate) before: usize,
    /// What survived.
    pub(crate) live: usize,
    /// Block of the young generation afterwards.
    pub(crate) young_block: usize,
    /// Block of the old generation afterwards.
    pub(crate) old_block: usize,
}

impl Report {
    /// Counts the collection, and prints its line if asked.
    pub(crate) fn record(&self) {
        let nanoseconds = (clock() - self.started).max(0) as u64;
        let outcome = Outcome { live: self.live as u64, reclaimed: self.before.saturating_sub(self.live) as u64 };
        counters::record_collection(self.major, nanoseconds, outcome);
        if self.major {
            counters::counters().live_words.store(self.live as u64, Ordering::Relaxed);
        }
        if settings().trace {
            trace(format_args!(
                "gc {} {}: {} words before, {} live, young block {}, old block {}, {} ns",
                self.architecture,
                if self.major { "major" } else { "minor" },
                self.before,
                self.live,
                self.young_block,
                self.old_block,
                nanoseconds
            ));
        }
    }
}

/// Prints a line about a collection, which `--trace-gc` asks for.
#[expect(clippy::print_stderr, reason = "what is asked for goes where errors go, beside the program's output")]
pub(crate) fn trace(line: std::fmt::Arguments<'_>) {
    eprintln!("{line}");
}
