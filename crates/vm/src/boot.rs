//! What every start of the machine has in common: putting the parts together, and waiting for the end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use atoll_architectures as architectures;
use atoll_code::registry;
use atoll_heap::{HeapOptions, statistics};
use atoll_interpreter as interpreter;
use atoll_platform::ending;
use atoll_ports::poller;
use atoll_process::table::ProcessTable;
use atoll_process::{BuiltIn, Held, System};
use atoll_runtime::core::{Core, Exit};
use atoll_runtime::report::Reporter;
use atoll_scheduler::{Engine, Poll, Schedulers, Slice};
use atoll_term::{Term, atoms};
use parking_lot::{Condvar, Mutex};
use thiserror::Error;

use crate::functions::machine_functions;
use crate::options::Options;

/// Why a run cannot start.
#[derive(Debug, Error)]
pub enum BootError {
    /// `--heap` names no architecture.
    #[error("--heap {0}: there is no such heap architecture; choose one of {1}")]
    Heap(String, String),
    /// Not enough memory.
    #[error("{0} (process table: lower +P)")]
    Memory(#[from] atoll_platform::OutOfMemory),
    /// The system gives no more threads.
    #[error("cannot start {0} schedulers (+S): {1}")]
    Threads(usize, std::io::Error),
    /// The program's module cannot be found or loaded.
    #[error("{0}")]
    Module(String),
    /// OTP's libraries are not there.
    #[error(
        "cannot find OTP's libraries; install Erlang (Debian: apt-get install erlang), or name the folder that holds \
         `lib` with --otp DIR or ATOLL_OTP"
    )]
    NoOtp,
    /// An option's value is not possible.
    #[error("{0}")]
    Option(String),
}

static END: (Mutex<Option<i32>>, Condvar) = (Mutex::new(None), Condvar::new());

/// Ends the run with this exit status; the first call counts.
pub fn finish(status: i32) {
    let mut end = END.0.lock();
    end.get_or_insert(status);
    END.1.notify_all();
}

/// Whether the end has been asked for.
pub fn is_finished() -> bool {
    END.0.lock().is_some()
}

struct Interpreter {
    core: Box<Core>,
}

impl Engine for Interpreter {
    fn run(&mut self, held: &mut Held<'_>) -> Slice {
        match atoll_runtime::slice::run(&mut self.core, held) {
            Exit::Yield | Exit::Resume => Slice::Yielded,
            Exit::Wait => Slice::Waits,
            Exit::Ended => Slice::Ended(self.core.x[0]),
        }
    }
}

/// The file descriptors of ports, for schedulers.
struct Descriptors;

impl Poll for Descriptors {
    fn is_needed(&self) -> bool {
        poller::is_needed()
    }

    fn wait(&self, limit: Duration) -> bool {
        poller::wait(limit)
    }

    fn tell(&self) {
        poller::tell();
    }

    fn interrupt(&self) {
        poller::interrupt();
    }
}

/// What differs between ways to use the machine.
pub struct Use {
    /// Built-in functions beside those that every use has.
    pub built_ins: Vec<BuiltIn>,
    /// Told of exceptions that end a process.
    pub report: Reporter,
    /// Told of the end of each process.
    pub ended: fn(Term, Term),
    /// Loads modules when they are first called, where no code server does.
    pub autoload: Option<atoll_runtime::autoload::Load>,
}

/// Starts the schedulers, waits for the end, and returns the exit status.
///
/// # Errors
/// The system gives no more threads.
pub fn run_to_end(options: &Options, schedulers: &'static Schedulers) -> Result<i32, BootError> {
    schedulers
        .start(|| Box::new(Interpreter { core: Core::new(atoll_runtime::slice::REDUCTIONS) }))
        .map_err(|error| BootError::Threads(options.schedulers, error))?;
    let status = wait_for_end();
    atoll_ports::flush_all();
    schedulers.halt();
    ending::restore();
    Ok(status)
}

/// The error of a process table that is too small for the start.
pub fn too_many() -> BootError {
    BootError::Option("+P: the process limit leaves no room for the first process".to_owned())
}

fn wait_for_end() -> i32 {
    let mut end = END.0.lock();
    loop {
        match *end {
            Some(status) => return status,
            None => END.1.wait(&mut end),
        }
    }
}

/// Settings of heaps as the options say.
pub fn default_heap(options: &Options) -> HeapOptions {
    HeapOptions { minimum_words: options.minimum_heap_words, full_sweep_after: u16::MAX, maximum_words: 0 }
}

/// Puts the parts together.
///
/// # Errors
/// There is no such architecture, or not enough memory.
pub fn install(options: &Options, way: Use) -> Result<&'static Schedulers, BootError> {
    atoll_bifs::start_time();
    // Settings first: an architecture may be made by them.
    statistics::STRESS.store(options.stress, Ordering::Relaxed);
    statistics::VERIFY.store(options.verify, Ordering::Relaxed);
    statistics::TRACE.store(options.trace, Ordering::Relaxed);
    statistics::TIMED.store(options.statistics.is_some(), Ordering::Relaxed);
    statistics::MARK_SWEEP.store(options.mark_sweep, Ordering::Relaxed);
    statistics::BUILD_IN_AREA.store(options.build_in_area, Ordering::Relaxed);
    statistics::AREA_LIMIT.store(options.area_limit.unwrap_or(0), Ordering::Relaxed);
    statistics::MAX_PAUSE.store(options.longest_pause.as_nanos() as u64, Ordering::Relaxed);
    let architecture = architectures::by_name(&options.heap)
        .ok_or_else(|| BootError::Heap(options.heap.clone(), architectures::NAMES.join(", ")))?;
    atoll_heap::install(architecture);
    let table = ProcessTable::new(options.processes)?;
    let system = System::install(table, options.schedulers);
    atoll_heap::set_world(system);
    atoll_ports::install();
    let built_ins: &'static [BuiltIn] = Vec::leak([machine_functions().as_slice(), &way.built_ins].concat());
    atoll_bifs::install_native_modules(atoll_natives::MODULES);
    atoll_runtime::stubs::install_built_ins(built_ins);
    let numbered = built_ins.iter().enumerate().filter_map(|(number, row)| {
        let key = (atoms::atom(row.module).ok()?, atoms::atom(row.name).ok()?, row.arity);
        Some((key, number as u32))
    });
    registry().install(&atoll_runtime::stubs::RuntimeStubs, numbered);
    let united = atoll_runtime::core::united();
    let translator =
        interpreter::translate::Translator { united, stress: options.stress > 0, sites: architecture.wants_sites() };
    atoll_code::set_translator(Box::leak(Box::new(translator)));
    architecture.use_stack_marker(atoll_runtime::stubs::stubs().stack_marker as u64);
    let _ = system.entry_points.set(atoll_runtime::stubs::entry_points());
    atoll_runtime::report::install(way.report);
    if let Some(load) = way.autoload {
        atoll_runtime::autoload::install(load);
    }
    atoll_runtime::requests::install(atoll_bifs::answer_request);
    atoll_runtime::tracing::install(atoll_runtime::tracing::Hooks {
        called: atoll_bifs::called,
        returned: atoll_bifs::returned,
        raised: atoll_bifs::raised,
        caught: atoll_bifs::caught,
        scheduled: atoll_bifs::scheduled,
    });
    atoll_process::profile::install_place(atoll_runtime::tracing::place_in);
    atoll_bifs::install_halt(finish);
    ending::install(ending::Hooks { restore: atoll_ports::terminal::mode::lend, dump: crate::dump::write });
    atoll_bifs::install_default_heap(default_heap(options));
    let schedulers = Schedulers::new(options.schedulers, way.ended);
    let _ = system.schedule.set(schedulers);
    atoll_ports::poller::poll_by_schedulers();
    schedulers.set_poll(&Descriptors);
    Ok(schedulers)
}
