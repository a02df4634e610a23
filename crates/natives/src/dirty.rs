//! Work that may take long in the operating system, away from schedulers: its process waits, a thread of a pool does
//! the work, which touches no term, and then the process calls the same native function again and finds the result.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_process::{Caller, Interrupt, Own, System};
use atoll_term::Term;
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

/// Threads where `+SDio` does not say another number.
const DEFAULT_THREADS: usize = 10;
/// Native stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

type Done = Box<dyn Any + Send>;
type Work = Box<dyn FnOnce() -> Done + Send>;

enum Job {
    /// With a number, so that the work of a process that is gone is told from that of a later one.
    Running(u64),
    Done(Done),
}

struct Pool {
    waiting: VecDeque<(Term, u64, Work)>,
    threads: usize,
    idle: usize,
    next: u64,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { waiting: VecDeque::new(), threads: 0, idle: 0, next: 0 });
static MORE: Condvar = Condvar::new();
static MOST: AtomicUsize = AtomicUsize::new(DEFAULT_THREADS);
/// What is being done, by the process that waits for it.
static JOBS: LazyLock<Mutex<HashMap<Term, Job>>> = LazyLock::new(|| {
    System::get().on_exit(forget);
    Mutex::default()
});
/// Number of these, to look without the lock.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads (`+SDio`).
pub fn set_threads(count: usize) {
    MOST.store(count.max(1), Ordering::Relaxed);
}

/// The result of the work that this process has waited for in this function; `None` if it began none.
///
/// # Errors
/// The interrupt by which the process goes on waiting, and calls again.
pub fn result<T: 'static>(caller: &Caller<'_>, arguments: &[Term]) -> Result<Option<T>, Interrupt> {
    if OPEN.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    let mut jobs = JOBS.lock();
    match jobs.get(&caller.process.pid) {
        None => return Ok(None),
        Some(Job::Running(_)) => return Err(Interrupt::Wait(arguments.to_vec())),
        Some(Job::Done(_)) => {}
    }
    let done = jobs.remove(&caller.process.pid);
    OPEN.store(jobs.len(), Ordering::Release);
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
    let mut pool = POOL.lock();
    let number = pool.next;
    pool.next += 1;
    {
        let mut jobs = JOBS.lock();
        jobs.insert(pid, Job::Running(number));
        OPEN.store(jobs.len(), Ordering::Release);
    }
    pool.waiting.push_back((pid, number, Box::new(move || Box::new(work()) as Done)));
    if pool.idle >= pool.waiting.len() {
        MORE.notify_one();
    } else if pool.threads < MOST.load(Ordering::Relaxed) {
        let thread = std::thread::Builder::new().name("dirty io".to_owned()).stack_size(STACK_BYTES).spawn(serve);
        pool.threads += usize::from(thread.is_ok());
        if thread.is_err() && pool.threads == 0 {
            // Without threads it is done here, whatever that holds up.
            let late = pool.waiting.pop_back();
            drop(pool);
            late.into_iter().for_each(carry_out);
        }
    }
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
    loop {
        let next = {
            let mut pool = POOL.lock();
            loop {
                if let Some(next) = pool.waiting.pop_front() {
                    break next;
                }
                pool.idle += 1;
                MORE.wait(&mut pool);
                pool.idle -= 1;
            }
        };
        carry_out(next);
    }
}

fn carry_out((pid, number, work): (Term, u64, Work)) {
    let done = work();
    {
        let mut jobs = JOBS.lock();
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
    let mut jobs = JOBS.lock();
    jobs.remove(&pid);
    OPEN.store(jobs.len(), Ordering::Release);
}
