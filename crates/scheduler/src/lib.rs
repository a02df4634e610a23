//! Schedulers: threads that take runnable processes out of run queues and run them for a time slice each.
//!
//! * [`glance`]: a sleeping scheduler helps schedulers that are inside long functions
//! * [`queue`]: one run queue for each scheduler, by priority
//! * [`world`]: safepoints, for collectors that stop the world
//! * [`Schedulers`]: the threads, work stealing, sleeping and waking, timers

mod glance;
mod queue;
mod schedulers;
mod wall_time;
mod world;

pub use schedulers::{Engine, Poll, Schedulers, Slice};
