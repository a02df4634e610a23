//! Schedulers: threads that take runnable processes out of run queues and run them for a time slice each.
//!
//! * [`queue`]: one run queue for each scheduler, by priority, or by urgency
//! * [`world`]: safepoints, for collectors that stop the world
//! * [`Scheduling`]: what a machine wants of whatever runs its processes
//! * [`Schedulers`]: the threads, work stealing, sleeping and waking, timers; threads that stand in for schedulers that
//!   are inside long functions
//! * [`simulated`]: one thread, on which a policy decides what runs next

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod contract;
mod queue;
mod run_slice;
mod schedulers;
#[cfg(not(loom))]
pub mod simulated;
mod wall_time;
mod world;

pub use contract::{Engine, NoEnd, Poll, Scheduling, Slice};
pub use queue::Order;
pub use schedulers::Schedulers;
#[cfg(not(loom))]
pub use simulated::Simulated;
