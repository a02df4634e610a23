//! Native code: hot functions compiled for this machine's processor, beside the interpreter.
//!
//! * [`engine`]: which functions are compiled, and how their code takes over and gives back; `engine/generate`: a
//!   function and those that it calls in place
//! * `files`: the files of modules, read again
//! * `ways`, `exits`: how each instruction is carried out; how often code leaves to the first engine, and why
//! * [`flow`]: what a function's instructions do to control and registers; regions and their heads
//! * [`compile`], `emit`, `processor`: regions become machine code, by Cranelift
//! * `kept`: machine code of earlier runs
//! * `help`: functions that native code calls; `leave`: the ways from native code to handlers
//! * [`listing()`]: what code looks like; `names`: names for debuggers and, in `perf_map`, for `perf`
//!
//! Both engines share everything: stack, frames, registers, runtime, the meaning of instructions. Where native code and
//! interpreted code meet is told in [`atoll_runtime::mark`].

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod compile;
mod emit;
mod engine;
mod exits;
mod files;
mod flow;
mod help;
mod kept;
mod leave;
mod listing;
mod names;
mod perf_map;
mod processor;
mod ways;

pub use compile::{Settings, SiteChecks};
pub use engine::{Compilations, Mode, Part, compilations, enter, function_at, save, start};
pub use exits::ExitCounts;
pub use kept::Kept;
pub use listing::listing;
pub use names::Names;
pub use perf_map::PerfMap;
