//! Reports of processes that end by an uncaught error.

use std::sync::OnceLock;

use atoll_operations::Class;
use atoll_term::Term;

use crate::core::Core;

/// Told of an uncaught exception: the process's pid and group leader, the class, the exit reason.
pub type Reporter = fn(Term, Term, Class, Term);

static REPORTER: OnceLock<Reporter> = OnceLock::new();

/// Installs the function that gets the reports; only the first call counts.
pub fn install(reporter: Reporter) {
    let _ = REPORTER.set(reporter);
}

/// Tells of the exception that ends the running process; its exit reason is in X0.
///
/// # Safety
/// A process runs on this core.
pub unsafe fn uncaught(core: &Core, class: Class) {
    if let Some(reporter) = REPORTER.get() {
        // SAFETY: the caller's obligation.
        let (pid, leader) = unsafe { ((*core.process).pid, (*core.own).group_leader) };
        reporter(pid, leader, class, core.x[0]);
    }
}
