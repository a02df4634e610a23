//! What engines share while a process runs. An engine translates code and runs its instructions; everything that is not
//! the meaning of one instruction is here, once for all engines.
//!
//! A code address is the address of a word that holds a [`core::Handler`]: the function that goes on there. Operands
//! may follow it. Return addresses, catch marks, the addresses of exports and funs and where a waiting process goes on
//! are all of this kind, so the code of one engine calls, returns to and raises into that of another without knowing
//! it.
//!
//! * [`core`]: registers and links of a running process, how code is entered
//! * [`slice`]: one time slice of one process
//! * [`pause`]: where a slice ends, and where a collection moves what registers refer to
//! * [`target`], [`entry`], [`stubs`]: funs and `apply`, code of the machine's own, what stands for functions without
//!   code
//! * [`mark`]: where interpreted and native code go over into each other
//! * [`built_in`]: calls of built-in functions, and their interrupts
//! * [`operations`]: where a simulated scheduler may interrupt a process
//! * [`story`]: what processes did to each other in a simulated run
//! * [`receive`]: signals, messages, timeouts
//! * [`raise`], [`trace`], [`report`]: exceptions, stack traces, processes that end by them
//! * [`breakpoint`], [`traced_built_in`], [`tracing`]: traced calls and returns
//! * [`requests`], [`autoload`]: functions that the machine installs for work that needs more than this crate knows

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![expect(
    clippy::missing_safety_doc,
    reason = "code that is entered by its address shares the contract of `core::Handler`"
)]
#![allow(clippy::too_many_arguments, reason = "the registers that handlers pass on, and what they need besides")]

pub mod autoload;
pub mod breakpoint;
pub mod built_in;
pub mod core;
pub mod entry;
pub mod mark;
mod operations;
mod part;
pub mod pause;
pub mod raise;
pub mod receive;
mod refusals;
pub mod report;
pub mod requests;
pub mod slice;
pub mod stack_trace;
pub mod story;
pub mod stubs;
pub mod target;
mod touched;
pub mod trace_hooks;
pub mod traced_built_in;

pub use part::{Part, enter, story};
pub use refusals::{Refuse, be_strict, begin_strictness};
