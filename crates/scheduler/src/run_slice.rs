//! One process on one thread: its time slices until it yields, sleeps or has ended.

use atoll_process::{Queued, Running, System, profile};
use atoll_term::Term;

use crate::contract::{Engine, Slice};

/// Runs a process until it has used a time slice, and comes back to be queued again, or sleeps or has ended. `ended` is
/// told of its end.
#[inline]
pub(crate) fn run_slice(
    system: &System,
    mut running: Running,
    engine: &mut dyn Engine,
    ended: impl Fn(Term, Term),
) -> Option<Queued> {
    loop {
        match system.microstates.charged_slice(|| engine.run(&mut running.held())) {
            Slice::Yielded => return Some(running.requeue()),
            Slice::Waits => {
                let is_profiled = system.profiling.is_on();
                if is_profiled {
                    profile::runnable(&mut running.held(), false);
                }
                running = running.try_sleep()?;
                if is_profiled {
                    profile::runnable(&mut running.held(), true);
                }
            }
            Slice::Ended(reason) => {
                let process = running.process();
                if system.profiling.is_on() {
                    profile::ended(process);
                }
                ended(process.pid, reason);
                running.terminate(reason);
                return None;
            }
        }
    }
}
