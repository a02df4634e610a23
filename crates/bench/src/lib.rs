//! Runs one program on every heap architecture, and on stock `erl` beside them, and shows what each costs: the library
//! behind `atoll compare`.
//!
//! Every run is a process of its own, measured from outside (real time, processor time, largest resident set) and, for
//! atoll, from inside (the [`RunStatistics`] that `atoll run --stats` writes). Contenders take turns, so that a change
//! in the speed of the machine affects all of them. Programs are compiled once, before anything is timed, and an empty
//! program shows the cost of a start. A contender that fails or prints something else stays in the table, with a note.
//!
//! [`RunStatistics`]: atoll_statistics::RunStatistics

#![forbid(unsafe_code)]

mod child;
mod compare;
mod comparison;
mod contender;
mod error;
mod feeley;
mod format;
mod options;
mod output;
mod plot;
mod presentation;
mod program;
mod progress;
mod spread;
mod svg;
mod table;

pub use child::{End, Limits, Measured, run as measure};
pub use compare::compare;
pub use comparison::{Comparison, ContenderResult, Failure, Machine, Run, Summary};
pub use contender::ContenderKind;
pub use error::CompareError;
pub use feeley::{Claim, FeeleyOptions, FeeleyReport, feeley};
pub use options::CompareOptions;
pub use progress::{Progress, Silent, TerminalBar};
pub use spread::{Spread, ratio};
