//! Runs the same programs on stock `erl` and on Atoll and compares what they print and how they end.
//!
//! * `program`: the programs in a folder, their directives, and the list of known differences;
//! * `compile`: one `erlc` for many files;
//! * `libraries`: native libraries, made of C;
//! * `stock`: what stock `erl` does, remembered between runs;
//! * `configuration`: the ways in which Atoll runs each program;
//! * `check`: one program in one configuration, and the report when it differs;
//! * `generate`: random programs from a seed;
//! * `names`: a daemon for the names of nodes;
//! * `conformance`: OTP's own test suites.
#![forbid(unsafe_code)]

mod check;
mod compile;
mod configuration;
pub mod conformance;
pub mod generate;
mod libraries;
mod names;
mod program;
mod run;
mod stock;

pub use check::{Atoll, difference};
pub use compile::{CompileError, compile, is_newer};
pub use configuration::{Configuration, EXITS, matrix, not_moved, quick_matrix};
pub use libraries::{compile_library, compile_with_library, headers};
pub use names::Names;
pub use program::{KnownDifferences, Program, programs};
pub use run::{End, Finished, run};
pub use stock::Stock;
