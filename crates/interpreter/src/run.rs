//! One time slice of one process.

use atoll_heap::{Collection, architecture, build_window};
use atoll_platform::clock;
use atoll_process::handle::{Fate, collect_for_others, receive_signals};
use atoll_process::{Own, Process, System, watch};
use atoll_term::{Build, Term, atoms};

use crate::core::{Core, Exit, run_from};
use crate::requests;

/// Reductions of a time slice.
pub const REDUCTIONS: i64 = 4000;

/// Runs a process that this thread has taken out of a run queue, until it yields, waits or ends. The reason of
/// its end is in X0.
pub fn run(core: &mut Core, process: &Process) -> Exit {
    // SAFETY: this thread took the process out of the run queue, so it is the one that runs it.
    let own = unsafe { process.own_mut() };
    let system = System::get();
    system.table.note_active(process);
    let wants_roots = architecture().schedule_in(&mut own.mutator);
    if own.flags.traced {
        crate::tracing::scheduled(process, own, "in");
    }
    let before = own.reductions;
    let exit = if watch::is_timing_slices() {
        run_timed(core, process, own, wants_roots)
    } else {
        run_slice(core, process, own, wants_roots)
    };
    system.reductions.add(system.schedule().current(), own.reductions - before);
    if exit != Exit::Ended {
        if own.flags.traced {
            crate::tracing::scheduled(process, own, "out");
        }
        architecture().schedule_out(&mut own.mutator);
    }
    exit
}

/// As [`run_slice`]; whoever watches the system is told if it takes long.
fn run_timed(core: &mut Core, process: &Process, own: &mut Own, wants_roots: bool) -> Exit {
    let (before, started) = (own.address, clock::monotonic());
    let exit = run_slice(core, process, own, wants_roots);
    let after = own.address;
    watch::slice_ended(process.pid, started, |scratch, is_after| {
        match atoll_code::frame_of((if is_after { after } else { before }).wrapping_add(1)) {
            Some(frame) => scratch.tuple(&[frame.module, frame.name, Term::small(frame.arity.into())]),
            None => atoms::UNDEFINED,
        }
    });
    exit
}

fn run_slice(core: &mut Core, process: &Process, own: &mut Own, wants_roots: bool) -> Exit {
    if !process.inbox.is_empty()
        && let Fate::Dies(reason) = receive_signals(process, own, &mut requests::answer)
    {
        core.x[0] = reason;
        return Exit::Ended;
    }
    if wants_roots {
        // After the inbox was emptied, because its messages are not visited in portions.
        // SAFETY: this thread runs the process.
        unsafe { process.visit_held(&mut |mutator, roots| architecture().visit_roots(mutator, roots)) };
    }
    if collect_for_others(process.pid, own).is_err() {
        core.x[0] = atoms::KILLED;
        return Exit::Ended;
    }
    if own.rare.as_ref().is_some_and(|rare| rare.suspended > 0) {
        return suspended(own);
    }
    if own.flags.hibernating {
        if own.mailbox.is_empty() {
            return Exit::Wait;
        }
        own.flags.hibernating = false;
    }
    if !own.mutator.is_calm() && architecture().wants_collection(&own.mutator) {
        let request = Collection { stack_words: 1, ..Collection::default() };
        if watch::collect(process.pid, own, request, &mut []).is_err() {
            core.x[0] = atoms::KILLED;
            return Exit::Ended;
        }
    }
    core.own = own;
    core.process = process;
    core.mutator = &raw mut own.mutator;
    core.window = build_window(std::ptr::from_ref);
    let live = own.saved.len();
    core.x[..live].copy_from_slice(&own.saved);
    own.saved.clear();
    // SAFETY: the process was left in this state by `yield_at`, `sleep` or `spawn`.
    unsafe {
        let (hp, e) = core.swap_in();
        run_from(own.address, hp, e, core.slice, core)
    }
}

/// A suspended process takes part in signals only; whoever suspended it is told.
fn suspended(own: &mut Own) -> Exit {
    let waiting = own.rare.as_mut().map(|rare| std::mem::take(&mut rare.suspenders)).unwrap_or_default();
    for (from, reference) in waiting {
        let request = atoll_process::handle::Request {
            from,
            reference,
            kind: atoll_process::RequestKind::ProcessInfo,
            argument: Term::NIL,
        };
        atoll_process::handle::reply(own, &request, atoms::SUSPENDED);
    }
    Exit::Wait
}
