//! Native code: hot functions compiled for this machine's processor, beside the interpreter.
//!
//! * [`engine`]: which functions are compiled, and how their code takes over and gives back
//! * [`flow`]: what a function's instructions do to control and registers; regions and their heads
//! * [`compile`], `emit`: regions become machine code, by Cranelift
//! * `help`: functions that native code calls
//! * [`memory`]: pages of code
//!
//! Both engines share everything: stack, frames, registers, runtime, the meaning of instructions. Where native code and
//! interpreted code meet is told in [`atoll_runtime::mark`].

mod compile;
mod emit;
mod engine;
mod flow;
mod help;
mod memory;

pub use compile::Settings;
pub use engine::{Compilations, Mode, Part, compilations, enter, start};
