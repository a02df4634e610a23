//! What every start of the machine has in common: putting the parts together, and waiting for the end.

use std::time::Duration;

use atoll_architectures as architectures;
use atoll_code::registry;
use atoll_heap::{BuildInArea, HeapOptions};
use atoll_interpreter as interpreter;
use atoll_native::SiteChecks;
use atoll_platform::ending;
use atoll_ports::poller;
use atoll_process::table::ProcessTable;
use atoll_process::{BuiltIn, Held, System};
use atoll_runtime::core::{Core, Exit};
use atoll_runtime::report::Reporter;
use atoll_scheduler::{Engine, NoEnd, Poll, Schedulers, Scheduling, Slice};
use atoll_term::{Term, atoms};
use parking_lot::{Condvar, Mutex};
use thiserror::Error;

use crate::functions::machine_functions;
use crate::machine::{Machine, part};
use crate::options::{Native, Options};
use crate::simulation;

/// Why a run cannot start.
#[derive(Debug, Error)]
pub enum BootError {
    /// There is no heap.
    #[error("{0}")]
    Heap(#[from] architectures::NotMade),
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

/// How a machine ends.
#[derive(Default)]
pub(crate) struct End {
    /// The exit status, when the end has been asked for.
    status: Mutex<Option<i32>>,
    asked: Condvar,
}

/// Ends the run with this exit status; the first call counts.
pub fn finish(status: i32) {
    let end = &part().end;
    end.status.lock().get_or_insert(status);
    atoll_runtime::story().end();
    System::get().schedule().end_is_asked();
    end.asked.notify_all();
}

/// Whether the end has been asked for.
pub fn is_finished() -> bool {
    part().end.status.lock().is_some()
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

    fn set_slice(&mut self, reductions: i64, operations: i64) {
        self.core.set_slice(reductions, operations);
    }

    fn operations(&self) -> i64 {
        self.core.operations()
    }
}

/// The file descriptors of ports, and work of natives, for schedulers.
struct Outside;

impl Poll for Outside {
    fn is_needed(&self) -> bool {
        poller::is_needed()
    }

    fn is_awaited(&self) -> bool {
        poller::is_awaited()
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

    fn is_working(&self) -> bool {
        atoll_natives::dirty::is_awaited()
    }

    fn no_end(&self, why: NoEnd) {
        simulation::no_end(why);
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
pub fn run_to_end(scheduling: &'static dyn Scheduling) -> Result<i32, BootError> {
    scheduling
        .start(|| Box::new(Interpreter { core: Core::new(atoll_runtime::slice::REDUCTIONS) }))
        .map_err(|error| BootError::Threads(scheduling.count(), error))?;
    let status = wait_for_end();
    atoll_nifs::before_end();
    atoll_ports::flush_all();
    atoll_native::save();
    scheduling.halt();
    ending::restore();
    Ok(status)
}

/// The error of a process table that is too small for the start.
pub fn too_many() -> BootError {
    BootError::Option("+P: the process limit leaves no room for the first process".to_owned())
}

fn wait_for_end() -> i32 {
    let end = &part().end;
    let mut asked = end.status.lock();
    loop {
        match *asked {
            Some(status) => return status,
            None => end.asked.wait(&mut asked),
        }
    }
}

/// Settings of heaps as the options say.
pub fn default_heap(options: &Options) -> HeapOptions {
    let maximum_words = options.maximum_heap_words;
    HeapOptions { minimum_words: options.minimum_heap_words, full_sweep_after: u16::MAX, maximum_words }
}

/// Starts the second engine, if it is wanted and this processor has one.
///
/// # Errors
/// Names for `perf` are wanted, and there is nowhere to write them.
fn start_native(
    options: &Options,
    first: &'static dyn atoll_code::Translate,
    settings: atoll_native::Settings,
    kept: Option<atoll_native::Kept>,
) -> Result<(), BootError> {
    let is_simulated = options.scheduling.is_some();
    let mode = match options.native.unwrap_or(if is_simulated { Native::Off } else { Native::On }) {
        Native::Off => return Ok(()),
        Native::On => atoll_native::Mode::Hot,
        Native::Eager => atoll_native::Mode::Eager,
    };
    let perf = if options.perf_map { Some(atoll_native::PerfMap::new().map_err(BootError::Option)?) } else { None };
    let names = atoll_native::Names { perf, debuggers: options.gdb_names };
    let lend_builds = options.area == BuildInArea::Always;
    if atoll_native::start(first, settings, lend_builds, mode, options.native_limit, names, kept) {
        atoll_nifs::tell_of_crashes_in_code(atoll_native::function_at);
    }
    Ok(())
}

/// Puts the parts together.
///
/// # Errors
/// There is no such architecture, or not enough memory.
pub fn install(options: &Options, way: Use) -> Result<&'static dyn Scheduling, BootError> {
    let scheduling = options.scheduling.unwrap_or_else(|| Schedulers::in_order(options.schedulers, options.order));
    // Before the first atom is made.
    let is_hot = options.scheduling.is_none() && options.native.unwrap_or(Native::On) == Native::On;
    let kept = options.native_cache.as_deref().filter(|_| is_hot).and_then(atoll_native::Kept::open);
    let architecture = architectures::by_name(&options.heap, &options.heap_settings())?;
    let built_ins: &'static [BuiltIn] = Vec::leak([machine_functions().as_slice(), &way.built_ins].concat());
    let hooks = atoll_runtime::trace_hooks::Hooks {
        called: atoll_bifs::called,
        returned: atoll_bifs::returned,
        raised: atoll_bifs::raised,
        caught: atoll_bifs::caught,
        scheduled: atoll_bifs::scheduled,
    };
    let runtime = atoll_runtime::Part::new(built_ins, atoll_bifs::answer_request, way.report, way.autoload, hooks);
    let table = ProcessTable::new(options.processes)?;
    let distribution = atoll_distribution::Part::new(options.busy_limit);
    let (count, clock) = (scheduling.count(), scheduling.clock());
    let machine = Machine::start(architecture, table, count, default_heap(options), runtime, distribution, clock);
    let (architecture, system) = (machine.heap.architecture(), &machine.system);
    let processor = options.dirty_processor.unwrap_or(count).min(count);
    if options.check_natives {
        atoll_nifs::check_terms();
    }
    let _ = system.dirty_threads.set([processor, options.dirty_input_output]);
    atoll_bifs::set_default_heap_limit_flags(!options.kills_at_heap_limit, !options.tells_heap_limit);
    atoll_bifs::set_default_off_heap_messages(options.off_heap_messages);
    atoll_bifs::set_clock_flags(options.clock);
    atoll_bifs::set_printable_unicode(options.printable_unicode);
    if let Some(kind) = options.warnings_as {
        atoll_bifs::set_warning_map(kind);
    }
    atoll_ports::install();
    options.ports.into_iter().for_each(atoll_ports::set_limit);
    atoll_ports::external::load_by(atoll_nifs::load_driver);
    atoll_distribution::install();
    atoll_distribution::spawning::install(atoll_bifs::spawn_options);
    atoll_bifs::install_native_modules(atoll_natives::MODULES);
    let numbered = built_ins.iter().enumerate().filter_map(|(number, row)| {
        let key = (atoms::atom(row.module).ok()?, atoms::atom(row.name).ok()?, row.arity);
        Some((key, number as u32))
    });
    registry().install(&atoll_runtime::stubs::RuntimeStubs, numbered);
    let united = atoll_runtime::core::united();
    let stress = options.stress > 0;
    // To verify what the analysis says, its sites are asked.
    let sites = architecture.allocation_sites().is_some() && (options.area != BuildInArea::Never || options.verify);
    let translator: &'static interpreter::translate::Translator =
        Box::leak(Box::new(interpreter::translate::Translator {
            united,
            stress,
            sites,
            in_place: !architecture.messages_are_roots(),
        }));
    atoll_code::set_translator(translator);
    let begins_changed = matches!(options.area, BuildInArea::Always | BuildInArea::Analysis);
    let site_checks = match sites {
        false => SiteChecks::Never,
        true if options.verify || begins_changed || options.native == Some(Native::Eager) => SiteChecks::Always,
        true => SiteChecks::Changed,
    };
    let settings = atoll_native::Settings { united, stress, site_checks, exits: options.native_exits };
    start_native(options, translator, settings, kept)?;
    if let Some(markers) = architecture.stack_markers() {
        markers.use_marker(atoll_runtime::stubs::stubs().stack_marker as u64);
    }
    let _ = system.entry_points.set(atoll_runtime::stubs::entry_points());
    atoll_runtime::trace_hooks::install_handlers();
    atoll_process::profile::install_place(atoll_runtime::trace_hooks::place_in);
    atoll_bifs::install_halt(finish);
    ending::install(ending::Hooks { restore: atoll_ports::terminal::mode::lend, dump: crate::dump::write });
    let _ = system.schedule.set(scheduling);
    atoll_ports::poller::poll_by_schedulers();
    scheduling.prepare(&Outside, way.ended);
    Ok(scheduling)
}
