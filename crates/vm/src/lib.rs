//! The machine as a whole: options, start, the first process, the end.
#![forbid(unsafe_code)]

mod boot;
mod dump;
mod dump_limit;
mod dump_terms;
pub mod erl;
mod functions;
mod kernel;
mod machine;
mod on_load;
mod options;
mod output;
mod path;
mod program;
mod release;
mod run;
mod run_record;
pub mod simulation;

pub use atoll_heap::BuildInArea;
pub use atoll_scheduler::{Order, Scheduling, Simulated, simulated};
pub use boot::BootError;
pub use functions::{known_functions, machine_functions, missing_functions};
pub use options::{Native, Options};
pub use run::{list_native, run};

/// Names of the heap architectures, the default first.
pub fn architectures() -> &'static [&'static str] {
    &atoll_architectures::NAMES
}

pub use path::{CodePath, find_otp};
pub use program::{Program, ProgramError};
