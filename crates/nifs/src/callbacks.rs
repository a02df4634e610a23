//! Work for libraries that no process asks for: destructors, `down`, `stop`, the end of a library.
//!
//! A thread that collects a heap, ends a process, or gives up what a library had gathers the work that becomes due by
//! that, and does it afterwards, before anything else. So a program that has asked for a collection finds destructors
//! done, and none runs in the midst of a collection. What other threads find is done by a thread of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Instant;

use atoll_platform::threads;
use atoll_term::{MagicValue, Term};
use parking_lot::{Condvar, Mutex};

use crate::abi::Monitor;
use crate::env::{Env, Use, enter_thread};
use crate::here;
use crate::library::Library;
use crate::resources::{Block, block_of};

/// What is to be done.
pub enum Work {
    /// Nobody has the resource any more.
    Destroy(Block),
    /// A process that a resource monitors has ended.
    Down { resource: Arc<MagicValue>, process: Term, monitor: Monitor },
    /// A descriptor is not waited for any more.
    Stop { resource: Arc<MagicValue>, descriptor: c_int },
    /// Nobody has the library any more.
    End(Library),
}

/// Work that waits for the thread that does it.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    /// When a search for resources that nothing refers to is to begin, if there is one to come.
    search_at: Option<Instant>,
    has_thread: bool,
}

/// Starts the thread, before the first library is loaded. Without it, work waits for ever.
pub fn start() {
    let mut state = here().queue.state.lock();
    if !state.has_thread {
        let thread = threads::start(Builder::new().name("native callbacks".to_owned()), serve);
        state.has_thread = thread.is_ok();
    }
}

thread_local! {
    /// What this thread gathers, if it does.
    static GATHERED: RefCell<Gathered> = const { RefCell::new(Gathered { depth: 0, work: Vec::new() }) };
}

struct Gathered {
    depth: usize,
    work: Vec<Work>,
}

/// Has a thread do this soon: this one, if it gathers work.
pub fn later(work: Work) {
    let mut work = Some(work);
    // While a thread ends, its variables are gone.
    let _ = GATHERED.try_with(|gathered| {
        let mut gathered = gathered.borrow_mut();
        if gathered.depth > 0 {
            gathered.work.extend(work.take());
        }
    });
    if let Some(work) = work {
        let queue = &here().queue;
        queue.state.lock().waiting.push_back(work);
        queue.more.notify_one();
    }
}

/// Has the thread begin a search at that time.
pub fn search_at(time: Instant) {
    let queue = &here().queue;
    queue.state.lock().search_at = Some(time);
    queue.more.notify_one();
}

/// From here on this thread gathers work.
pub fn gather() {
    let _ = GATHERED.try_with(|gathered| gathered.borrow_mut().depth += 1);
}

/// Does what this thread has gathered, unless it has begun to gather more than once.
pub fn do_gathered() {
    let gathered = GATHERED.try_with(|gathered| {
        let mut gathered = gathered.borrow_mut();
        gathered.depth -= 1;
        if gathered.depth == 0 { std::mem::take(&mut gathered.work) } else { Vec::new() }
    });
    let work = gathered.unwrap_or_default();
    if !work.is_empty() {
        let _kind = enter_thread(1);
        work.into_iter().for_each(carry_out);
    }
}

/// Does something by which callbacks may become due, and then those.
pub fn with_callbacks<R>(give_up: impl FnOnce() -> R) -> R {
    gather();
    let result = give_up();
    do_gathered();
    result
}

fn serve() {
    let _kind = enter_thread(1);
    let queue = &here().queue;
    loop {
        let next = {
            let mut state = queue.state.lock();
            loop {
                if state.search_at.is_some_and(|time| time <= Instant::now()) {
                    state.search_at = None;
                    break None;
                }
                match (state.waiting.pop_front(), state.search_at) {
                    (Some(next), _) => break Some(next),
                    (None, Some(time)) => drop(queue.more.wait_until(&mut state, time)),
                    (None, None) => queue.more.wait(&mut state),
                }
            }
        };
        match next {
            Some(work) => carry_out(work),
            None => here().search.begin(),
        }
    }
}

fn carry_out(work: Work) {
    match work {
        // What a destructor gives up follows it; so does the end of a library whose last resource this was.
        Work::Destroy(block) => with_callbacks(|| block.destroy()),
        Work::Down { resource, process, mut monitor } => {
            let Some(block) = block_of(&resource) else { return };
            let kind = block.kind();
            let callbacks = kind.callbacks();
            if let Some(down) = callbacks.down {
                let mut env = Env::with_memory(Use::Callback, Term::NONE, callbacks.library);
                let mut pid = process;
                // SAFETY: the library's own function gets a resource of its type, which is held meanwhile.
                unsafe { down(&raw mut env, block.object(), &raw mut pid, &raw mut monitor) };
            }
        }
        Work::Stop { resource, descriptor } => {
            let Some(block) = block_of(&resource) else { return };
            let kind = block.kind();
            let callbacks = kind.callbacks();
            if let Some(stop) = callbacks.stop {
                let mut env = Env::with_memory(Use::Callback, Term::NONE, callbacks.library);
                // SAFETY: as above.
                unsafe { stop(&raw mut env, block.object(), descriptor, 0) };
            }
        }
        Work::End(library) => library.end(),
    }
}
