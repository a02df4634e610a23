//! `atoll simulate` as a library: a program under many schedules, each chosen by a seed.
//!
//! * [`Order`]: which policy decides, and its seed; [`Schedule`]: decisions that can be written down and given again
//! * [`run`]: one run, in a copy of this process
//! * [`batch`]: many seeds, until one fails
//! * [`outcome`]: what a run did, and whether that is a failure
//! * [`shrink`]: a schedule with fewer switches that fails as well; [`story`], [`diagram`]: what happened in it
#![forbid(unsafe_code)]

pub mod batch;
pub mod diagram;
mod exhaustive;
mod order;
pub mod outcome;
mod recorded;
mod reduced;
pub mod run;
mod schedule;
pub mod shrink;
pub mod story;
mod touching;

pub use exhaustive::Exhaustive;
pub use order::{Faults, Order, PolicyKind};
pub use outcome::{Failure, Outcome};
pub use reduced::Reduced;
pub use run::{Error, Plan, Subject};
pub use schedule::Schedule;
