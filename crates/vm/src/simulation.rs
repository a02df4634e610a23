//! `atoll simulate`: a program under a scheduler that decides, and what went wrong in the run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_operations::Class;
pub use atoll_process::touches::{How, Object, Turn};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Process, System};
pub use atoll_runtime::story::{Event, Stop, What};
use atoll_scheduler::simulated::{Booting, Decision, Policy};
use atoll_scheduler::{NoEnd, Simulated};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};
use parking_lot::Mutex;

use crate::boot::{BootError, finish};
use crate::machine::part;
use crate::options::Options;
use crate::output;
use crate::program::Program;
use crate::run::{is_main, run_from};

/// The assertions of programs. On a machine that runs no simulation they do nothing, as the module of the same name in
/// Erlang does on stock `erl`.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "atoll_simulate", name: "always", arity: 2, function: always },
    BuiltIn { module: "atoll_simulate", name: "sometimes", arity: 2, function: sometimes },
    BuiltIn { module: "atoll_simulate", name: "begins", arity: 0, function: program_begins },
];

/// What OTP evaluates once it has booted, before the program: see [`Beginning::Boot`].
pub const PROGRAM_BEGINS: &str = "atoll_simulate:begins().";

/// Exit status of a run that does not end by itself, or in which an assertion fails.
const FAILED: i32 = 1;

/// What can go wrong in a run, apart from its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A process ended by an error or an uncaught throw, or was about to log an error report.
    Crash(String),
    /// All processes wait for each other, and `main/1` has not returned.
    Deadlock(String),
    /// It took more decisions than it may.
    TooLong,
    /// No failure: what would have come has come in another run of the search.
    Redundant,
    /// `atoll_simulate:always(Name, false)`
    Assertion(String),
    /// A strict run asked for something that nobody can repeat.
    Refused(String),
    /// The run was to begin with the program's mark, and the program has not called `atoll_simulate:begins()`.
    Unmarked,
}

/// From where the policy decides, the schedule is recorded and the story told. What comes before runs in the same order
/// in each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// From the start of the run.
    #[default]
    Start,
    /// Once OTP has booted: what the command line has it do begins with [`PROGRAM_BEGINS`].
    Boot,
    /// Once the program calls `atoll_simulate:begins()`.
    Mark,
}

/// What a machine notes of a simulated run.
#[derive(Default)]
pub(crate) struct Findings {
    failures: Mutex<Vec<Failure>>,
    sometimes: Mutex<BTreeMap<String, bool>>,
    is_strict: AtomicBool,
    is_told: AtomicBool,
    has_begun: AtomicBool,
    scheduler: OnceLock<&'static Simulated>,
}

/// What one run did.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Exit status.
    pub status: i32,
    /// What went wrong, in order.
    pub failures: Vec<Failure>,
    /// Names in `atoll_simulate:sometimes/2`, and whether one of their values was true.
    pub sometimes: BTreeMap<String, bool>,
    /// The schedule, if that was asked for.
    pub decisions: Vec<Decision>,
    /// Operations of all turns but the last.
    pub operations: i64,
    /// What processes did to each other, if that was asked for.
    pub story: Vec<Event>,
    /// Nanoseconds by the clock of the machine.
    pub elapsed: i64,
    /// What the turns touched, if the policy wants to know.
    pub turns: Vec<Turn>,
}

/// How a program is simulated.
#[derive(Debug)]
pub struct Simulation {
    /// What decides.
    pub policy: Box<dyn Policy>,
    /// Most decisions.
    pub limit: usize,
    /// Whether the run's schedule is wanted.
    pub recorded: bool,
    /// Whether the run's story is wanted.
    pub told: bool,
    /// Whether what nobody can repeat ends the run: ports, sockets, files, native libraries, standard input.
    pub strict: bool,
    /// From where the policy decides.
    pub beginning: Beginning,
}

/// Runs `module:main(Arguments)` under a policy.
///
/// # Errors
/// What keeps the run from starting.
pub fn simulate(
    options: &Options,
    program: &Program,
    arguments: &[String],
    simulation: Simulation,
) -> Result<Run, BootError> {
    run_on(options, simulation, |options, begins| {
        let begins = || {
            begins();
            atoll_runtime::begin_strictness();
        };
        run_from(options, program, arguments, begins)
    })
}

/// Boots OTP under a policy, with the words of an `erl` command line. What processes log or fail with is the program's
/// own affair: a run fails by its exit status. A strict run is so from [`PROGRAM_BEGINS`] on.
///
/// # Errors
/// What keeps the run from starting.
pub fn simulate_otp(options: &Options, words: &[OsString], simulation: Simulation) -> Result<Run, BootError> {
    run_on(options, simulation, |options, begins| crate::erl::run_from(options.clone(), words.to_vec(), begins))
}

fn run_on(
    options: &Options,
    simulation: Simulation,
    run: impl FnOnce(&Options, &dyn Fn()) -> Result<i32, BootError>,
) -> Result<Run, BootError> {
    let is_later = simulation.beginning != Beginning::Start;
    let policy = if is_later { Box::new(Booting::new(simulation.policy)) } else { simulation.policy };
    let scheduler = Simulated::new(policy, simulation.limit, simulation.recorded);
    let options = Options { scheduling: Some(scheduler), ..options.clone() };
    let begins = || {
        let _ = findings().scheduler.set(scheduler);
        findings().is_told.store(simulation.told, Ordering::Relaxed);
        if simulation.told && !is_later {
            atoll_runtime::story().tell();
        }
        if simulation.strict {
            findings().is_strict.store(true, Ordering::Relaxed);
            atoll_runtime::be_strict(refuse);
        }
    };
    let status = run(&options, &begins)?;
    let findings = findings();
    let is_unmarked = simulation.beginning == Beginning::Mark && !findings.has_begun.load(Ordering::Relaxed);
    if is_unmarked && status == 0 && findings.failures.lock().is_empty() {
        note(Failure::Unmarked);
    }
    Ok(Run {
        status,
        failures: findings.failures.lock().clone(),
        sometimes: findings.sometimes.lock().clone(),
        decisions: scheduler.take_decisions(),
        operations: scheduler.operations(),
        elapsed: scheduler.elapsed(),
        turns: System::get().touches.turns(),
        story: atoll_runtime::story().events(),
    })
}

fn findings() -> &'static Findings {
    &part().findings
}

/// Whether this machine runs a simulation.
fn is_on() -> bool {
    System::get().schedule().works_alone()
}

/// A strict run ends because a process wants something whose result nobody can repeat.
fn refuse(pid: Term, what: &str) -> ! {
    let text = format!("process {} wants {what}, which is not repeated", output::text(pid));
    output::flush();
    eprintln!("atoll: --strict: {text}");
    note(Failure::Refused(text));
    atoll_bifs::halt(FAILED)
}

/// The server of standard input is asked for some.
pub(crate) fn note_input(pid: Term) {
    if findings().is_strict.load(Ordering::Relaxed) {
        refuse(pid, "standard input");
    }
}

/// `atoll_simulate:begins()`: OTP has booted, or the program's preparations are over.
fn program_begins(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let findings = findings();
    if findings.has_begun.swap(true, Ordering::Relaxed) {
        return Ok(atoms::TRUE);
    }
    if let Some(scheduler) = findings.scheduler.get() {
        scheduler.program_begins();
    }
    if findings.is_told.load(Ordering::Relaxed) {
        atoll_runtime::story().tell();
    }
    atoll_runtime::begin_strictness();
    // The policy chooses who goes on.
    Err(Interrupt::Yield(atoms::TRUE))
}

fn note(failure: Failure) {
    findings().failures.lock().push(failure);
}

/// A process ends by an exception.
pub(crate) fn note_uncaught(pid: Term, class: Class, reason: Term) {
    if is_on() && class != Class::Exit {
        let what = reason.tuple_elements().and_then(|parts| parts.first()).copied().unwrap_or(reason);
        let who = if is_main(pid) { "main/1".to_owned() } else { format!("process {}", output::text(pid)) };
        note(Failure::Crash(format!("{who} failed: {}", output::text(what))));
    }
}

/// Levels of log events that are error reports.
const ERRORS: [&str; 4] = ["error", "critical", "alert", "emergency"];

/// A process asks whether it may log something.
pub(crate) fn note_logged(pid: Term, level: Term, module: Term) {
    // What a supervisor reports of its children they report themselves, if it is their fault.
    let is_own = module != known_atom("supervisor");
    if is_on() && is_own && level.is_atom() && ERRORS.contains(&atoms::atom_name(level)) {
        let (pid, module) = (output::text(pid), output::text(module));
        note(Failure::Crash(format!("process {pid} reports an error in {module}")));
    }
}

/// The program does not end: ends it.
pub(crate) fn no_end(why: NoEnd) {
    output::flush();
    match why {
        NoEnd::Deadlock => {
            let places = places();
            eprint!("atoll: deadlock: all processes wait, and no message or timeout can come\n{places}");
            note(Failure::Deadlock(places));
        }
        NoEnd::InSight => {
            eprintln!("atoll: the program has not ended after as many decisions as it may take");
            note(Failure::TooLong);
        }
        NoEnd::Redundant => note(Failure::Redundant),
    }
    finish(FAILED);
}

/// Where each process of the program waits, one a line.
fn places() -> String {
    let mut text = String::new();
    System::get().table.each(|process| {
        if !output::is_server(process.pid) {
            text.push_str(&place(process));
        }
    });
    text
}

fn place(process: &Process) -> String {
    let mut place = String::new();
    process.inspect(&mut |own| {
        let frame = atoll_code::frame_of(own.address.wrapping_add(1));
        let at = frame.map_or_else(String::new, |frame| {
            let (module, name) = (output::text(frame.module), output::text(frame.name));
            let line = frame.location.map(|(file, line)| format!(" ({file}:{line})")).unwrap_or_default();
            format!(" in {module}:{name}/{}{line}", frame.arity)
        });
        place = format!("{at}, {} messages", own.mailbox.len());
    });
    let name = System::get().name_of(process).map(|name| format!(" ({})", output::text(name))).unwrap_or_default();
    let main = if is_main(process.pid) { " (main/1)" } else { "" };
    format!("  {}{name}{main} waits{place}\n", output::text(process.pid))
}

fn name_and_value(arguments: &[Term]) -> Result<(String, bool), atoll_process::Interrupt> {
    let value = arguments[1];
    if value != atoms::TRUE && value != atoms::FALSE {
        return Err(atoll_operations::Exception::badarg().into());
    }
    Ok((output::text(arguments[0]), value == atoms::TRUE))
}

/// `always(Name, Value)`: the run has failed if the value is false.
fn always(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (name, holds) = name_and_value(arguments)?;
    if !holds && is_on() {
        let pid = output::text(caller.process.pid);
        output::flush();
        eprintln!("atoll: always({name}, _) does not hold in process {pid}");
        note(Failure::Assertion(format!("always({name}, _) does not hold in process {pid}")));
        atoll_bifs::halt(FAILED);
    }
    Ok(known_atom("ok"))
}

/// `sometimes(Name, Value)`: a property of all runs together; it fails if the value is true in none of them.
fn sometimes(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (name, holds) = name_and_value(arguments)?;
    if is_on() {
        *findings().sometimes.lock().entry(name).or_insert(false) |= holds;
    }
    Ok(known_atom("ok"))
}
