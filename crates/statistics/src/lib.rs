//! What one run of a program cost.
//!
//! The machine fills a [`RunStatistics`] and writes it as JSON (`atoll run --stats FILE.json`); the comparison and
//! the reports read it back. Both sides use the types of this crate, so that a field has one name and one unit.
//! The crate depends on serde alone and allocates only when a [`Histogram`] is made, never when one records.

#![forbid(unsafe_code)]

mod histogram;
mod run;
mod utilisation;

pub use histogram::{Bucket, Histogram, HistogramError};
pub use run::{PhaseTimes, RunStatistics};
pub use utilisation::{Pause, WindowUtilisation, minimum_mutator_utilisation};
