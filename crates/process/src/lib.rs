//! Processes and what passes between them.
//!
//! A process is known to others by its [`Process`]: pid, inbox, state. What is its own, [`Own`], belongs to the
//! scheduler that runs it. Every signal, messages included, goes through the inbox; nothing here takes a lock that
//! another process's message would wait for.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod activity;
mod at_end;
pub mod chain;
pub mod chores;
pub mod dictionary;
pub mod exit;
mod flags;
pub mod handle;
mod held;
pub mod held_back;
mod inbox;
pub mod inspect;
mod libraries;
mod links;
mod mailbox;
pub mod microstates;
pub mod names;
mod native;
mod ports;
pub mod process;
pub mod profile;
mod reference;
pub mod references;
pub mod release;
pub mod remote;
pub mod rounds;
mod run_state;
pub mod send;
pub mod sequence;
pub mod signal;
mod slab;
pub mod spawn;
pub mod suspension;
pub mod system;
pub mod table;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod timers;
pub mod touches;
pub mod tracers;
pub mod tracing;
pub mod unique;
mod urgency;
pub mod watch;

pub use at_end::{AtEnd, TimerSets};
pub use flags::Flags;
pub use held::{Entry, Held, Lent, Presence, Queued, Running, Stopped};
pub use inbox::Inbox;
pub use libraries::{Answer, Event, Libraries, TracerNumber};
pub use links::Links;
pub use mailbox::Mailbox;
pub use names::{Names, NotRegistered};
pub use native::{BuiltIn, Caller, Interrupt, Native, NativeFunction, Outcome, badarg, begin_part};
pub use ports::Ports;
pub use process::{AliasKind, IncomingMonitor, OutgoingMonitor, Own, Priority, Process, Rare, WaitState};
pub use reference::ReferenceId;
pub use run_state::{RunState, state};
pub use signal::{RequestKind, Signal};
pub use system::{EntryPoints, ExitWork, Failing, GlobalRoots, Reductions, Schedule, System, enter};
pub use urgency::{Urgencies, Urgency};
