//! Reports errors that end processes to OTP's logger, as OTP's runtime does: by a message to the process that
//! `system_flag(system_logger, _)` names, which regulates how many there may be.

use atoll_heap::{Message, architecture};
use atoll_operations::Class;
use atoll_platform::clock;
use atoll_process::{Own, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms, map};

/// What an uncaught exception is reported as. Exits of their own accord are not worth a report.
pub fn uncaught(pid: Term, leader: Term, class: Class, reason: Term) {
    if class == Class::Exit {
        return;
    }
    log(pid, |_| leader, "Error in process ~p with exit value:~n~p~n", |_| [pid, reason]);
}

/// That a process has reached its `max_heap_size`; `info` makes the figures.
pub fn heap_limit(pid: Term, own: &Own, info: &dyn Fn(&mut ScratchHeap) -> Term) {
    let limit = architecture().options(&own.mutator).maximum_words;
    let sizes = architecture().sizes(&own.mutator);
    let total = sizes.young_block + sizes.old_block + sizes.fragments;
    let number = |number: usize| Term::small(number as i64);
    let kill = Term::boolean(!own.flags.heap_limit_spares());
    let queue = number(own.mailbox.len());
    let (local, remote) = (own.group_leader, own.remote_leader());
    let leader = |heap: &mut ScratchHeap| remote.map_or(local, |leader| leader.term(heap));
    log(pid, leader, HEAP_LIMIT, |heap| [pid, number(limit), number(total), kill, atoms::TRUE, queue, info(heap)]);
}

/// That there are too many processes for one more.
pub fn too_many(pid: Term, leader: Term) {
    log(pid, |_| leader, "~s~n", |heap| [heap.string("Too many processes\n")]);
}

/// What has happened to a connection with another node.
pub fn connection(text: &str) {
    let Some(kernel) = System::get().whereis(atoms::NET_KERNEL) else { return };
    log(kernel, |_| kernel, "~ts", |heap| [heap.string(text)]);
}

/// What a driver has done that others should know.
pub fn driver(text: &str) {
    let Some(logger) = System::get().whereis(atoms::LOGGER) else { return };
    log(logger, |_| logger, "~s~n", |heap| [heap.string(text)]);
}

/// What OTP's users know of this report.
const HEAP_LIMIT: &str = "     Process:            ~p ~n     Context:            maximum heap size reached~n     \
     Max Heap Size:      ~p~n     Total Heap Size:    ~p~n     Kill:               ~p~n     \
     Error Logger:       ~p~n     Message Queue Len:  ~p~n     GC Info:            ~p~n";

/// An error for the log, about a process.
fn log<const N: usize>(
    pid: Term,
    leader: impl Fn(&mut ScratchHeap) -> Term,
    format: &str,
    arguments: impl Fn(&mut ScratchHeap) -> [Term; N],
) {
    let system = System::get();
    let Some(logger) = atoll_bifs::system_logger() else { return };
    let message = Message::compose(|heap| {
        let format = heap.string(format);
        let arguments = arguments(heap);
        let arguments = heap.list(arguments);
        let emulator = [(known_atom("emulator"), atoms::TRUE), (known_atom("tag"), atoms::ERROR)];
        let emulator = map::from_pairs(heap, &emulator);
        let microseconds = heap.integer(clock::now_since_1970() / 1000);
        let pairs = [
            (known_atom("error_logger"), emulator),
            (known_atom("pid"), pid),
            (known_atom("gl"), leader(heap)),
            (known_atom("time"), microseconds),
        ];
        let metadata = map::from_pairs(heap, &pairs);
        heap.tuple(&[known_atom("log"), atoms::ERROR, format, arguments, metadata])
    });
    drop(system.deliver(logger, message));
}
