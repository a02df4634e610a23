//! Work that may take long in the operating system, away from schedulers: its process waits, a thread of a pool does
//! the work, which touches no term, and then the process calls the same native function again and finds the result.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;

use atoll_platform::jobs::Jobs;
use atoll_platform::threads;
use atoll_process::{Caller, Interrupt, Own, System};
use atoll_term::Term;
use parking_lot::MutexGuard;
use rustix::io::Errno;

use crate::at_exit::AtExit;

/// Threads where `+SDio` does not say another number.
const DEFAULT_THREADS: usize = 10;
/// Native stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

type Done = Box<dyn Any + Send>;
type Work = Box<dyn FnOnce() -> Done + Send>;

enum Job {
    /// With a number that tells the work of a process that is gone from that of a later one.
    Running(u64),
    Done(Done),
}

/// Of this process, with its number.
type Waiting = (Term, u64, Work);

/// The threads of a machine, and their work.
#[derive(Default)]
pub struct Pool {
    waiting: Jobs<Waiting>,
    /// Jobs so far.
    begun: AtomicU64,
    /// What is being done, by the process that waits for it.
    jobs: AtExit<HashMap<Term, Job>>,
    /// Number of these, to look without the lock.
    open: AtomicUsize,
}

/// Most threads of a machine (`+SDio`), chosen before it starts.
static MOST: AtomicUsize = AtomicUsize::new(DEFAULT_THREADS);

atoll_platform::part_of_machine!(Pool);

fn jobs() -> MutexGuard<'static, HashMap<Term, Job>> {
    part().jobs.get(forget).lock()
}

/// Sets the number of threads (`+SDio`).
pub fn set_threads(count: usize) {
    MOST.store(count.max(1), Ordering::Relaxed);
}

/// Whether a process waits for work, or has not fetched its result yet.
pub fn is_awaited() -> bool {
    part().open.load(Ordering::Acquire) > 0
}

/// The result of the work that this process has waited for in this function; `None` if it began none.
///
/// # Errors
/// The interrupt by which the process goes on waiting, and calls again.
pub fn result<T: 'static>(caller: &Caller<'_>, arguments: &[Term]) -> Result<Option<T>, Interrupt> {
    if part().open.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    let mut jobs = self::jobs();
    match jobs.get(&caller.process.pid) {
        None => return Ok(None),
        Some(Job::Running(_)) => return Err(Interrupt::Wait(arguments.to_vec())),
        Some(Job::Done(_)) => {}
    }
    let done = jobs.remove(&caller.process.pid);
    part().open.store(jobs.len(), Ordering::Release);
    match done {
        Some(Job::Done(done)) => Ok(done.downcast::<T>().ok().map(|done| *done)),
        _ => Ok(None),
    }
}

/// Has a thread do this work; the function is called again with these arguments, and then asks for its [`result`].
pub fn start<T: Send + 'static>(
    caller: &Caller<'_>,
    arguments: &[Term],
    work: impl FnOnce() -> T + Send + 'static,
) -> Interrupt {
    let pid = caller.process.pid;
    caller.process.at_end.note_work();
    if System::get().schedule().works_alone() {
        let mut jobs = self::jobs();
        jobs.insert(pid, Job::Done(Box::new(work())));
        part().open.store(jobs.len(), Ordering::Release);
        return Interrupt::Again(arguments.to_vec());
    }
    let number = part().begun.fetch_add(1, Ordering::Relaxed);
    {
        let mut jobs = self::jobs();
        jobs.insert(pid, Job::Running(number));
        part().open.store(jobs.len(), Ordering::Release);
    }
    let job: Waiting = (pid, number, Box::new(move || Box::new(work()) as Done));
    let refused = part().waiting.add(job, MOST.load(Ordering::Relaxed), |_| {
        let thread = Builder::new().name("dirty io".to_owned()).stack_size(STACK_BYTES);
        threads::start(thread, serve).is_ok()
    });
    // Without threads it is done here.
    refused.into_iter().for_each(carry_out);
    Interrupt::Wait(arguments.to_vec())
}

/// Has a thread do what `prepare` makes of the arguments, unless that is an error already; its result when it is done.
///
/// # Errors
/// The interrupt by which the process waits, and calls again.
pub fn away<T: Send + 'static, W: FnOnce() -> Result<T, Errno> + Send + 'static>(
    caller: &Caller<'_>,
    arguments: &[Term],
    prepare: impl FnOnce() -> Result<W, Errno>,
) -> Result<Result<T, Errno>, Interrupt> {
    if let Some(result) = result(caller, arguments)? {
        return Ok(result);
    }
    match prepare() {
        Ok(work) => Err(start(caller, arguments, work)),
        Err(error) => Ok(Err(error)),
    }
}

fn serve() {
    let waiting = &part().waiting;
    loop {
        carry_out(waiting.next());
    }
}

fn carry_out((pid, number, work): Waiting) {
    let done = work();
    {
        let mut jobs = self::jobs();
        let Some(job) = jobs.get_mut(&pid) else { return };
        if !matches!(*job, Job::Running(one) if one == number) {
            return;
        }
        *job = Job::Done(done);
    }
    let system = System::get();
    system.table.with(pid, |process| {
        if let Some(queued) = process.wake() {
            system.make_runnable(queued);
        }
    });
}

/// A process has ended: nobody will ask for its result.
fn forget(pid: Term, _: &mut Own) {
    let mut jobs = self::jobs();
    jobs.remove(&pid);
    part().open.store(jobs.len(), Ordering::Release);
}
