//! What runs the processes of a machine, as the machine sees it.
//!
//! [`Scheduling`] decides which process runs next, for how long, when a thread that has nothing to run sleeps and
//! wakes, and what time it is. [`crate::Schedulers`] is the one that machines have unless their user gives another;
//! [`crate::Simulated`] does what a policy decides, by a seed for example.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use atoll_platform::clock::Virtual;
use atoll_process::{Held, Schedule};
use atoll_term::Term;

/// How a time slice ended.
#[derive(Clone, Copy, Debug)]
pub enum Slice {
    /// The process wants to go on.
    Yielded,
    /// It waits for a signal.
    Waits,
    /// It has ended with this reason.
    Ended(Term),
}

/// What runs processes: one for each thread of a scheduler.
pub trait Engine {
    /// Runs a process for a time slice.
    fn run(&mut self, held: &mut Held<'_>) -> Slice;
    /// Sets how many reductions the next time slices have, and after how many operations that other processes can
    /// notice they end; both at least one. From now on nothing else makes a slice shorter. If this is not called, a
    /// slice has 4,000 reductions.
    fn set_slice(&mut self, reductions: i64, operations: i64);
    /// How many such operations there have been since then.
    fn operations(&self) -> i64;
}

/// What goes on outside of the processes, and makes them go on: file descriptors, and work on other threads.
pub trait Poll: Sync {
    /// Whether there is anything to wait for, or was before.
    fn is_needed(&self) -> bool;
    /// Whether there is anything to wait for now.
    fn is_awaited(&self) -> bool;
    /// Waits until a descriptor is ready, [`Poll::interrupt`] is called, or `limit` has passed. Returns whether
    /// [`Poll::tell`] has something to report. Touches no term.
    fn wait(&self, limit: Duration) -> bool;
    /// Notifies the ports and other waiters whose descriptors are ready.
    fn tell(&self);
    /// Ends the present or the next [`Poll::wait`].
    fn interrupt(&self);
    /// Whether a process waits for work that another thread does for it.
    fn is_working(&self) -> bool;
    /// The program does not end. Told by schedulers that can know it, between two slices.
    fn no_end(&self, why: NoEnd);
}

/// Why a program does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEnd {
    /// All processes wait, and nothing that they could wait for can happen.
    Deadlock,
    /// It has run for as long as it may.
    InSight,
    /// What would come now has come in another run.
    Redundant,
}

/// What runs the processes of one machine. Other threads reach it by way of [`Schedule`].
pub trait Scheduling: Schedule + Debug {
    /// How many schedulers programs see.
    fn count(&self) -> usize;

    /// The clock of the machine, if that is not the system's.
    fn clock(&'static self) -> Option<&'static Virtual> {
        None
    }

    /// Gives what there is outside of the processes, and a function that is told of each process's end (pid and reason)
    /// while its heap still exists. Called once, before [`Scheduling::start`].
    fn prepare(&self, outside: &'static dyn Poll, ended: fn(Term, Term));

    /// Starts to run processes, on threads of its own, each with an engine.
    ///
    /// # Errors
    /// The system gives no more threads.
    fn start(&'static self, engine: fn() -> Box<dyn Engine>) -> io::Result<()>;

    /// No process starts another slice from now on.
    fn halt(&self);
}
