//! What built-in functions ask of the machine that they are part of.

use std::sync::OnceLock;

use atoll_heap::HeapOptions;
use atoll_process::handle::{Request, reply};
use atoll_process::{Own, Process};
use atoll_term::atoms;

static HALT: OnceLock<fn(i32)> = OnceLock::new();
static HEAP: OnceLock<HeapOptions> = OnceLock::new();

/// Sets what ends the machine with an exit status; the first call counts.
pub fn install_halt(halt: fn(i32)) {
    let _ = HALT.set(halt);
}

/// Ends the machine.
pub fn halt(status: i32) {
    match HALT.get() {
        Some(halt) => halt(status),
        None => std::process::exit(status),
    }
}

/// Sets the heap options of new processes; the first call counts.
pub fn install_default_heap(options: HeapOptions) {
    let _ = HEAP.set(options);
}

/// Heap options of new processes.
pub fn default_heap() -> HeapOptions {
    *HEAP.get_or_init(|| HeapOptions { minimum_words: 233, full_sweep_after: u16::MAX, maximum_words: 0 })
}

/// Answers what a process is asked on its own behalf.
pub fn answer_request(_: &Process, own: &mut Own, request: Request) {
    reply(own, &request, atoms::UNDEFINED);
}
