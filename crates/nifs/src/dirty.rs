//! Threads for dirty calls, made when they are needed: one pool for work of the processor, one for input and output.

use atoll_platform::jobs::Jobs;
use atoll_platform::threads;
use atoll_process::System;

use crate::here;

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

/// The threads of both pools.
pub struct Pools {
    processor: Threads,
    input_output: Threads,
}

impl Default for Pools {
    fn default() -> Pools {
        Pools { processor: Threads::new(Pool::Processor), input_output: Threads::new(Pool::InputOutput) }
    }
}

struct Threads {
    jobs: Jobs<Job>,
    pool: Pool,
}

impl Threads {
    fn new(pool: Pool) -> Threads {
        Threads { jobs: Jobs::new(), pool }
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
        let (microstates, rounds) = (&System::get().microstates, &System::get().rounds);
        rounds.wakes(call_all);
        rounds.take_part();
        let mut calls = 0;
        loop {
            match self.jobs.next_or_call(&mut calls) {
                Some(job) => microstates.charged_dirty(self.pool == Pool::Processor, number, job),
                None => rounds.run(),
            }
        }
    }
}

/// Has all threads look whether there is something for each of them.
fn call_all() {
    for pool in [Pool::Processor, Pool::InputOutput] {
        pool_of(pool).jobs.call_all();
    }
}

fn pool_of(pool: Pool) -> &'static Threads {
    let pools = &here().pools;
    match pool {
        Pool::Processor => &pools.processor,
        Pool::InputOutput => &pools.input_output,
    }
}

/// Has a thread do this.
pub fn start(pool: Pool, job: Job) {
    if System::get().schedule().works_alone() {
        job();
        return;
    }
    let pool = pool_of(pool);
    let refused = pool.jobs.add(job, pool.most(), |number| {
        let builder = std::thread::Builder::new().name(pool.name().to_owned()).stack_size(STACK_BYTES);
        threads::start(builder, move || pool.serve(number)).is_ok()
    });
    // Without threads it is done here.
    if let Some(job) = refused {
        job();
    }
}
