//! One time slice of one process.

use atoll_heap::{Collection, build_window};
use atoll_platform::clock;
use atoll_process::handle::{Fate, collect_for_others, receive_signals};
use atoll_process::{Held, Own, Process, begin_part, watch};
use atoll_term::{Build, Term, Word, atoms};

use crate::core::{Core, Exit, run_from};
use crate::mark;
use crate::requests;
use crate::story::{self, Stop, What};

/// Reductions of a time slice.
pub const REDUCTIONS: i64 = 4000;

/// Runs a process until it yields, waits or ends. The reason of its end is in X0.
pub fn run(core: &mut Core, held: &mut Held<'_>) -> Exit {
    let system = core.system;
    system.table.note_active(held.process());
    // SAFETY: this thread is about to run the process, and holds no term of it.
    unsafe { core.architecture.schedule_in(&mut held.mutator) };
    let wants_roots = core.collector.is_some_and(|collector| collector.wants_roots(&held.mutator));
    if held.flags.traced() {
        let (process, own) = held.split();
        crate::trace_hooks::scheduled(process, own, "in");
    }
    let before = held.reductions;
    if let Some(told) = core.story {
        // SAFETY: the process stands there.
        let place = unsafe { mark::instruction(held.address) };
        told.add(held.process().pid, What::Runs, Some(place));
    }
    let exit =
        if system.watching.is_on() { run_timed(core, held, wants_roots) } else { run_slice(core, held, wants_roots) };
    system.reductions.add(system.schedule().own_thread_of(), (held.reductions - before) as u64);
    if let Some(told) = core.story {
        let what = match exit {
            Exit::Wait => What::Stops(Stop::Waits),
            Exit::Ended => What::Ends(story::show(core.x[0])),
            Exit::Yield | Exit::Resume => What::Stops(Stop::Interrupted),
        };
        // SAFETY: the process stands there, or did before it ended.
        let place = unsafe { mark::instruction(held.address) };
        told.add(held.process().pid, what, Some(place));
    }
    if exit != Exit::Ended {
        if held.flags.traced() {
            let (process, own) = held.split();
            crate::trace_hooks::scheduled(process, own, "out");
        }
        // SAFETY: the process has run, and its registers are saved.
        unsafe { core.architecture.schedule_out(&mut held.mutator) };
    }
    exit
}

/// As [`run_slice`]; reports a long slice to the system monitor.
fn run_timed(core: &mut Core, held: &mut Held<'_>, wants_roots: bool) -> Exit {
    let (before, started) = (held.address, clock::monotonic());
    let exit = run_slice(core, held, wants_roots);
    let after = held.address;
    watch::slice_ended(held.process().pid, started, |scratch, is_after| {
        match atoll_code::frame_of((if is_after { after } else { before }).wrapping_add(1)) {
            Some(frame) => scratch.tuple(&[frame.module, frame.name, Term::small(frame.arity.into())]),
            None => atoms::UNDEFINED,
        }
    });
    exit
}

fn run_slice(core: &mut Core, held: &mut Held<'_>, wants_roots: bool) -> Exit {
    let (process, own) = held.split();
    if !process.inbox.is_empty()
        && let Fate::Dies(reason) = receive_signals(process, own, &mut requests::answer)
    {
        core.x[0] = reason;
        return Exit::Ended;
    }
    if core.story.is_some() && core.system.touches.has_answered() {
        // Others can notice the answer before what the process does next.
        return Exit::Yield;
    }
    if wants_roots && let Some(collector) = core.collector {
        // After the inbox was emptied, because its messages are not visited in portions.
        // SAFETY: the roots are those of this process, which has not begun to run.
        held.visit(&mut |mutator, roots| unsafe { collector.visit_roots(mutator, roots) });
    }
    let (process, own) = held.split();
    // SAFETY: no register holds a term before the time slice begins.
    if unsafe { collect_for_others(process.pid, own) }.is_err() {
        core.x[0] = atoms::KILLED;
        return Exit::Ended;
    }
    if is_suspended(own) {
        return suspended(own);
    }
    if own.flags.hibernating() {
        if own.mailbox.is_empty() {
            return Exit::Wait;
        }
        own.flags.set_hibernating(false);
    }
    let mut left = core.slice;
    loop {
        let before = own.reductions;
        let part = left.min(core.until_sample);
        begin_part(left - part);
        let exit = run_part(core, process, own, part);
        let used = own.reductions - before;
        // A built-in function may have used more than the part had.
        left -= part.max(used);
        core.until_sample -= used;
        if core.until_sample <= 0 {
            core.until_sample = i64::MAX;
            if let Some(engine) = atoll_code::second_engine() {
                core.until_sample = until_next_sample(&mut core.samples);
                if exit == Exit::Yield {
                    // Where slices end at one place again and again, because a call before it fills the heap, the
                    // callers of the functions there would never be met.
                    // SAFETY: the process has a stack, whose top is the address to return to, or a term in a `receive`.
                    let caller = unsafe { *own.mutator.stack } as *const Word;
                    engine.met([own.address, caller]);
                }
            }
        }
        // Where the part was one of several, and all of it was used, the slice goes on, but not in a process that has
        // been suspended (it may have copied so much that it used up the part as well), or whose operations are up.
        if exit != Exit::Yield || left <= 0 || used < part || core.operations <= 0 || is_suspended(own) {
            return exit;
        }
    }
}

/// Reductions after which a scheduler looks at where its process is: a slice in the mean, and never as many twice in a
/// row. A loop whose rounds take a number that divides a slice would be met at one place ever again.
fn until_next_sample(samples: &mut u64) -> i64 {
    // The multiples of the golden ratio, modulo one, are spread evenly.
    *samples = samples.wrapping_add(0x9e37_79b9_7f4a_7c15);
    REDUCTIONS - SPREAD / 2 + (*samples >> (u64::BITS - SPREAD.ilog2())) as i64
}

/// How much the numbers of reductions between two samples differ at most. A power of two.
const SPREAD: i64 = 2048;

/// Runs a process for so many reductions at most.
fn run_part(core: &mut Core, process: &Process, own: &mut Own, reductions: i64) -> Exit {
    if !own.mutator.is_calm() && core.architecture.wants_collection(&own.mutator) {
        let request = Collection { stack_words: 1, ..Collection::default() };
        // SAFETY: no register holds a term before the time slice begins.
        if unsafe { watch::collect(process.pid, own, request, &mut []) }.is_err() {
            core.x[0] = atoms::KILLED;
            return Exit::Ended;
        }
    }
    core.process = process;
    core.window = build_window(std::ptr::from_ref);
    let live = own.saved.len();
    core.x[..live].copy_from_slice(&own.saved);
    own.saved.clear();
    let address = own.address;
    // Counted as the end of a whole slice, so that what is left tells how much has been used.
    let before = own.reductions;
    let shifted = before + reductions - REDUCTIONS;
    own.reductions = shifted;
    let full = std::mem::replace(&mut core.slice, REDUCTIONS);
    // From here on what belongs to the process is reached through these pointers alone.
    core.own = own;
    // SAFETY: the pointer is that of a reference. The process was left in this state by `yield_at`, `sleep` or `spawn`.
    let exit = unsafe {
        core.mutator = &raw mut (*core.own).mutator;
        let (hp, e) = core.swap_in();
        run_from(address, hp, e, reductions, core)
    };
    core.slice = full;
    // SAFETY: the process has stopped running, and nothing else uses what belongs to it.
    let own = unsafe { &mut *core.own };
    // What leaves without counting has used nothing.
    if own.reductions == shifted {
        own.reductions = before;
    }
    exit
}

fn is_suspended(own: &Own) -> bool {
    own.rare.as_ref().is_some_and(|rare| rare.suspended > 0)
}

/// A suspended process only acts on signals. It answers the processes that suspended it.
fn suspended(own: &mut Own) -> Exit {
    let waiting = own.rare.as_mut().map(|rare| std::mem::take(&mut rare.suspenders)).unwrap_or_default();
    for suspender in waiting {
        suspender.tell(&mut own.mutator, true);
    }
    Exit::Wait
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop whose rounds take so many reductions is met at each of its places.
    #[test]
    fn samples_do_not_keep_step_with_loops() {
        for round in 2..=100 {
            let (mut samples, mut at) = (0, 0);
            let mut met = vec![false; round as usize];
            for _ in 0..20 * round {
                at += until_next_sample(&mut samples);
                met[(at % round) as usize] = true;
            }
            assert!(met.iter().all(|met| *met), "of {round}: {met:?}");
        }
    }

    #[test]
    fn samples_are_a_slice_apart_in_the_mean() {
        let mut samples = 0;
        let all: i64 = (0..1000).map(|_| until_next_sample(&mut samples)).sum();
        assert!((all - 1000 * REDUCTIONS).abs() < 10 * REDUCTIONS, "{all}");
    }
}
