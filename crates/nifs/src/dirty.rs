//! Threads for dirty calls, made when they are needed: one pool for work of the processor, one for input and output.

use std::collections::VecDeque;

use atoll_platform::threads;
use atoll_process::System;
use parking_lot::{Condvar, Mutex};

/// Native stack of a thread, in bytes. OTP's has 320 KiB; of what is not used, no memory is taken.
const STACK_BYTES: usize = 8 << 20;

/// Which threads do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// `+SDcpu`
    Processor,
    /// `+SDio`
    InputOutput,
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

struct Threads {
    state: Mutex<State>,
    more: Condvar,
    pool: Pool,
}

impl Threads {
    const fn new(pool: Pool) -> Threads {
        let state = Mutex::new(State { waiting: VecDeque::new(), threads: 0, idle: 0 });
        Threads { state, more: Condvar::new(), pool }
    }

    fn name(&self) -> &'static str {
        match self.pool {
            Pool::Processor => "dirty cpu",
            Pool::InputOutput => "dirty io",
        }
    }

    fn most(&self) -> usize {
        System::get().dirty_threads()[usize::from(self.pool == Pool::InputOutput)]
    }

    /// The work of the thread of this number.
    fn serve(&self, number: usize) {
        let microstates = &System::get().microstates;
        loop {
            let job = {
                let mut state = self.state.lock();
                loop {
                    if let Some(job) = state.waiting.pop_front() {
                        break job;
                    }
                    state.idle += 1;
                    self.more.wait(&mut state);
                    state.idle -= 1;
                }
            };
            microstates.charged_dirty(self.pool == Pool::Processor, number, job);
        }
    }
}

static PROCESSOR: Threads = Threads::new(Pool::Processor);
static INPUT_OUTPUT: Threads = Threads::new(Pool::InputOutput);

fn pool_of(pool: Pool) -> &'static Threads {
    match pool {
        Pool::Processor => &PROCESSOR,
        Pool::InputOutput => &INPUT_OUTPUT,
    }
}

/// Has a thread do this.
pub fn start(pool: Pool, job: Job) {
    if System::get().schedule().works_alone() {
        job();
        return;
    }
    let pool = pool_of(pool);
    let mut state = pool.state.lock();
    state.waiting.push_back(job);
    if state.idle >= state.waiting.len() {
        pool.more.notify_one();
    } else if state.threads < pool.most() {
        let builder = std::thread::Builder::new().name(pool.name().to_owned()).stack_size(STACK_BYTES);
        let number = state.threads;
        let started = threads::start(builder, move || pool.serve(number)).is_ok();
        state.threads += usize::from(started);
        if !started && state.threads == 0 {
            // Without threads it is done here, whatever that holds up.
            let job = state.waiting.pop_back();
            drop(state);
            job.into_iter().for_each(|job| job());
        }
    }
}
