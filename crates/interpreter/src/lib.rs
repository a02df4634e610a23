//! The interpreter: an engine that runs code words.
//!
//! * [`translate`]: from the loader's typed form to code words
//! * [`handlers`]: what each instruction does with registers, stack and heap; what it means stands in `operations`
//! * [`operand`]: operands in code words, and how handlers read and write them
//! * `pick`: the choice of the handler that is specialised for its operands
//! * `sites`: allocation sites, which feedback switches

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![expect(clippy::missing_safety_doc, reason = "handlers share the contract that `handlers` states once")]
#![allow(clippy::too_many_arguments, reason = "the registers that handlers pass on, and what they need besides")]

pub mod handlers;
pub mod operand;
mod pick;
mod sites;
pub mod translate;

pub use sites::{Part, enter};
