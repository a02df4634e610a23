//! The machine as a whole: options, start, the first process, the end.
#![forbid(unsafe_code)]

mod boot;
mod functions;
mod kernel;
mod options;
mod output;
mod path;
mod program;
mod statistics;

pub use boot::{BootError, run};
pub use functions::{known_functions, machine_functions, missing_functions};
pub use options::Options;

/// Names of the heap architectures, the default first.
pub fn architectures() -> &'static [&'static str] {
    &atoll_architectures::NAMES
}

pub use path::{CodePath, find_otp};
pub use program::{Program, ProgramError};
