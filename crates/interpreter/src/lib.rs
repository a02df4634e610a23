//! The interpreter: an engine that runs code words.
//!
//! * [`core`]: the state of one interpreter, dispatch
//! * [`translate`]: from the loader's typed form to code words
//! * [`handlers`]: what each instruction does with registers, stack and heap; what it means stands in `operations`
//! * [`raise`], [`trace`]: exceptions
//! * [`run`]: one time slice of one process
#![expect(clippy::missing_safety_doc, reason = "handlers share the contract that `handlers` states once")]
#![allow(clippy::too_many_arguments, reason = "the registers that handlers pass on, and what they need besides")]

pub mod handlers;
pub mod operand;
mod pick;
mod sites;
pub mod translate;
