//! `atoll erl`: OTP's own start, with the modules that its runtime brings along and the processes that it starts.

mod break_menu;
mod command_line;
mod flags;
mod report;
mod screens;
mod signals;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use atoll_bifs::PRE_LOADED;
use atoll_heap::Message;
use atoll_operations::Class;
use atoll_platform::{clock, environment};
use atoll_process::spawn::{Parent, spawn};
use atoll_process::{Priority, System};
use atoll_term::{Build, Term, atoms};

use crate::boot::{BootError, Use, finish, install, is_finished, run_to_end, too_many};
use crate::options::Options;
use crate::path::find_otp;

/// Those that are there only with natives for sockets.
const SOCKETS: [&str; 3] = ["prim_net", "prim_socket", "socket_registry"];

/// Those that older releases do not have.
const SINCE_27: [&str; 1] = ["erts_trace_cleaner"];

/// Processes that the machine starts beside the first one: module, priority.
const SYSTEM_PROCESSES: [(&str, Priority); 6] = [
    ("erts_code_purger", Priority::High),
    ("erts_literal_area_collector", Priority::High),
    ("erts_dirty_process_signal_handler", Priority::Normal),
    ("erts_dirty_process_signal_handler", Priority::High),
    ("erts_dirty_process_signal_handler", Priority::Max),
    ("erts_trace_cleaner", Priority::Normal),
];

/// Folder below OTP's root with the modules that its runtime has in it.
fn preloaded_folder(root: &Path) -> Option<PathBuf> {
    let folders = [root.join("lib"), root.to_owned()];
    let erts = folders.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = erts
        .filter(|folder| folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"erts-")))
        .map(|folder| folder.join("ebin"))
        .filter(|folder| folder.join("erl_init.beam").is_file())
        .collect();
    found.sort();
    found.pop()
}

fn load_preloaded(root: &Path) -> Result<(), BootError> {
    let folder = preloaded_folder(root).ok_or(BootError::NoOtp)?;
    // As a runtime that was built without them.
    let sockets = atoll_natives::MODULES.contains(&"prim_socket");
    for module in PRE_LOADED.into_iter().filter(|module| sockets || !SOCKETS.contains(module)) {
        let file = folder.join(module).with_extension("beam");
        if SINCE_27.contains(&module) && !file.is_file() {
            continue;
        }
        let failed = |error: &dyn std::fmt::Display| BootError::Module(format!("{}: {error}", file.display()));
        let bytes = std::fs::read(&file).map_err(|error| failed(&error))?;
        // OTP's runtime has them without lines.
        let prepared = atoll_code::prepare_without_lines(&bytes).map_err(|error| failed(&error))?;
        atoll_code::load(prepared).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn atom(text: &str) -> Result<Term, BootError> {
    atoms::atom(text).map_err(|error| BootError::Module(error.to_string()))
}

/// Folder of the runtime's programs, as OTP's libraries expect to find it.
fn program_folder(root: &Path) -> PathBuf {
    let erts = preloaded_folder(root).and_then(|ebin| Some(root.join(ebin.parent()?.file_name()?)));
    erts.unwrap_or_else(|| root.to_owned()).join("bin")
}

/// `PATH` with the runtime's programs, such as `heart`, behind all others: an `erl` that is this machine stays the
/// first.
fn with_programs(root: &Path) -> Option<OsString> {
    let path = std::env::var_os("PATH").filter(|path| !path.is_empty());
    let folders = path.iter().flat_map(std::env::split_paths).chain([program_folder(root)]);
    std::env::join_paths(folders).ok()
}

/// What `init` gets: where OTP is, then what the user said.
fn init_arguments(root: &Path, told: &Path, program: &OsString, line: Vec<OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-root".into(), told.into()];
    arguments.extend(["-bindir".into(), program_folder(root).into()]);
    arguments.extend(["-progname".into(), program.clone(), "--".into()]);
    if let Some(home) = std::env::var_os("HOME") {
        arguments.extend(["-home".into(), home]);
    }
    if let Some(port) = std::env::var_os("ERL_EPMD_PORT") {
        arguments.extend(["-epmd_port".into(), port]);
    }
    arguments.push("--".into());
    arguments.extend(line);
    arguments
}

/// Starts the daemon that keeps the names of nodes, unless it runs already, as `erl` does; whether it runs shows when
/// `net_kernel` asks it.
fn start_epmd(root: &Path) {
    let quiet = std::process::Stdio::null;
    let mut command = std::process::Command::new(program_folder(root).join("epmd"));
    let started = command.arg("-daemon").stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
    if let Err(error) = started {
        eprintln!("atoll: epmd: {error}");
    }
}

/// Runs OTP with the words of an `erl` command line; returns the exit status.
///
/// # Errors
/// What keeps the machine from starting.
pub fn run(options: Options, words: Vec<OsString>) -> Result<i32, BootError> {
    run_from(options, words, || {})
}

/// As [`run`]; calls `begins` when the machine is there and nothing has run on it.
pub(crate) fn run_from(mut options: Options, words: Vec<OsString>, begins: impl FnOnce()) -> Result<i32, BootError> {
    let started = clock::monotonic();
    let line = command_line::parse(words, |name| std::env::var_os(name)).map_err(BootError::Option)?;
    let root = find_otp(options.otp.as_deref()).ok_or(BootError::NoOtp)?;
    atoll_natives::set_encoding(atoll_natives::Encoding::of_environment());
    let mut boot_module = "init".to_owned();
    for (flag, value) in &line.machine {
        flags::apply(&mut options, flag, value.as_deref()).map_err(BootError::Option)?;
        if flag == "i" {
            boot_module = value.clone().unwrap_or(boot_module);
        }
    }
    let told = options.root.clone().unwrap_or_else(|| root.clone());
    let program = options.program.clone().map_or_else(|| "erl".into(), OsString::from);
    let arguments = init_arguments(&root, &told, &program, line.init);
    if line.show_arguments {
        for argument in &arguments {
            println!("{}", argument.to_string_lossy());
        }
        return Ok(0);
    }
    if line.version {
        println!("Atoll {} for the libraries of {}", env!("CARGO_PKG_VERSION"), root.display());
        return Ok(0);
    }
    if let Some(limit) = options.atoms {
        atoms::set_atom_limit(limit);
    }
    let is_simulated = options.scheduling.is_some();
    let built_ins = if is_simulated { crate::simulation::BUILT_INS.to_vec() } else { Vec::new() };
    let way = Use { built_ins, report: report_uncaught, ended: process_ended, autoload: None };
    let scheduling = install(&options, way)?;
    crate::release::install(&root);
    atoll_process::watch::report_limits(report::heap_limit);
    atoll_bifs::report_too_many(report::too_many);
    atoll_ports::report_by(report::driver);
    atoll_distribution::report::install(report::connection);
    for (name, value) in [("ROOTDIR", told), ("BINDIR", program_folder(&root))] {
        environment::set(name.into(), value.into());
    }
    if let Some(path) = with_programs(&root) {
        environment::set("PATH".into(), path);
    }
    environment::set("EMU".into(), "beam".into());
    environment::set("PROGNAME".into(), program);
    for (name, value) in std::mem::take(&mut options.handed_on) {
        environment::set(name, value);
    }
    for (name, value) in line.environment {
        environment::set(name, value);
    }
    if line.wants_epmd {
        start_epmd(&root);
    }
    signals::start().map_err(|error| BootError::Option(format!("signals: {error}")))?;
    load_preloaded(&root)?;
    begins();
    start_processes(&boot_module, &arguments)?;
    let status = run_to_end(scheduling)?;
    // When OTP is up and calls the program, the machine does not know.
    crate::run_record::write(&options, scheduling, started, 0).map_err(BootError::Option)?;
    Ok(status)
}

fn start_processes(boot_module: &str, arguments: &[OsString]) -> Result<(), BootError> {
    let options = atoll_bifs::default_options();
    let boot_module = atom(boot_module)?;
    let start = Message::compose(|heap| {
        let binaries: Vec<Term> = arguments.iter().map(|argument| heap.binary(argument.as_bytes())).collect();
        let list = heap.list(binaries);
        heap.list([boot_module, list])
    });
    let first = (atom("erl_init")?, atom("start")?);
    let call = atoll_code::registry().export(first.0, first.1, 2);
    let init = spawn(Parent::Machine(start), first, Some(call), &options).map_err(|_| too_many())?;
    for (module, priority) in SYSTEM_PROCESSES {
        let mut flags = options.flags;
        flags.set_system(true);
        flags.set_off_heap_messages(true);
        let process = (atom(module)?, atom("start")?);
        let call = atoll_code::registry().export(process.0, process.1, 0);
        if !atoll_code::is_loaded(process.0) {
            continue;
        }
        let system = atoll_process::spawn::SpawnOptions { priority, flags, ..options };
        let nothing = Parent::Machine(Message::compose(|_| Term::NIL));
        let pid = spawn(nothing, process, Some(call), &system).map_err(|_| too_many())?;
        System::get().table.with(pid, |process| crate::output::adopt(process, init));
    }
    Ok(())
}

fn report_uncaught(pid: Term, leader: Term, class: Class, reason: Term) {
    report::uncaught(pid, leader, class, reason);
}

/// Number of the first process.
const FIRST: u64 = 0;

fn process_ended(pid: Term, reason: Term) {
    if pid == Term::pid(FIRST) && !is_finished() {
        eprintln!("atoll: the process init ended: {}", atoll_term::text::to_string(reason));
        finish(1);
    }
}
