//! Reports of processes that end by an uncaught error.

use atoll_operations::Class;
use atoll_term::{ScratchHeap, Term};

use crate::core::Core;
use crate::part::part;

/// Told of an uncaught exception: the process's pid and group leader, the class, the exit reason.
pub type Reporter = fn(Term, Term, Class, Term);

/// Tells of the exception that ends the running process; its exit reason is in X0.
///
/// # Safety
/// A process runs on this core.
pub unsafe fn uncaught(core: &Core, class: Class) {
    let mut scratch = ScratchHeap::new();
    // SAFETY: the caller's obligation.
    let (pid, own) = unsafe { ((*core.process).pid, &*core.own) };
    let leader = own.remote_leader().map_or(own.group_leader, |leader| leader.term(&mut scratch));
    (part().reporter)(pid, leader, class, core.x[0]);
}
