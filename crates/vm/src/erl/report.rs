//! Reports errors that end processes to OTP's logger, as OTP's runtime does: by a message to the process `logger`.

use atoll_heap::architecture;
use atoll_operations::Class;
use atoll_platform::clock;
use atoll_process::{Own, System, signal};
use atoll_term::{Build, ScratchHeap, Term, atoms, map};

fn name(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// What an uncaught exception is reported as. Exits of their own accord are not worth a report.
pub fn uncaught(pid: Term, leader: Term, class: Class, reason: Term) {
    if class == Class::Exit {
        return;
    }
    let scratch = ScratchHeap::new();
    log(scratch, pid, leader, "Error in process ~p with exit value:~n~p~n", &[pid, reason]);
}

/// That a process has reached its `max_heap_size`; `info` lies in the heap given.
pub fn heap_limit(pid: Term, own: &Own, info: Term, scratch: ScratchHeap) {
    let limit = architecture().options(&own.mutator).maximum_words;
    let sizes = architecture().sizes(&own.mutator);
    let total = sizes.young_block + sizes.old_block + sizes.fragments;
    let number = |number: usize| Term::small(number as i64);
    let kill = Term::boolean(!own.flags.heap_limit_spares);
    let queue = number(own.mailbox.len());
    let arguments = [pid, number(limit), number(total), kill, atoms::TRUE, queue, info];
    log(scratch, pid, own.group_leader, HEAP_LIMIT, &arguments);
}

/// That there are too many processes for one more.
pub fn too_many(pid: Term, leader: Term) {
    let mut scratch = ScratchHeap::new();
    let text = scratch.string("Too many processes\n");
    log(scratch, pid, leader, "~s~n", &[text]);
}

/// What OTP's users know of this report.
const HEAP_LIMIT: &str = "     Process:            ~p ~n     Context:            maximum heap size reached~n     \
     Max Heap Size:      ~p~n     Total Heap Size:    ~p~n     Kill:               ~p~n     \
     Error Logger:       ~p~n     Message Queue Len:  ~p~n     GC Info:            ~p~n";

/// An error for the log, about a process.
fn log(mut scratch: ScratchHeap, pid: Term, leader: Term, format: &str, arguments: &[Term]) {
    let format = scratch.string(format);
    let arguments = scratch.list(arguments.iter().copied());
    let emulator = map::from_pairs(&mut scratch, &[(name("emulator"), atoms::TRUE), (name("tag"), atoms::ERROR)]);
    let microseconds = scratch.integer(clock::system() / 1000);
    let pairs =
        [(name("error_logger"), emulator), (name("pid"), pid), (name("gl"), leader), (name("time"), microseconds)];
    let metadata = map::from_pairs(&mut scratch, &pairs);
    let message = scratch.tuple(&[name("log"), atoms::ERROR, format, arguments, metadata]);
    let system = System::get();
    let Some(logger) = system.whereis(atoms::LOGGER) else { return };
    if let Err(fragment) = system.deliver(logger, architecture().send(None, message)) {
        signal::discard(fragment);
    }
}
