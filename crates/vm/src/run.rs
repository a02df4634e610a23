//! `atoll run`: a program without OTP's kernel.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use atoll_code::registry;
use atoll_heap::Message;
use atoll_operations::Class;
use atoll_platform::clock;
use atoll_process::spawn::{Parent, SpawnOptions, spawn};
use atoll_process::{BuiltIn, Caller, Flags, Interrupt, Outcome, Priority, System};
use atoll_runtime::autoload::Loading;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use parking_lot::Mutex;

use crate::boot::{BootError, Use, default_heap, finish, install, is_finished, run_to_end, too_many};
use crate::kernel;
use crate::machine::part;
use crate::on_load;
use crate::options::Options;
use crate::output;
use crate::path::{CodePath, find_otp};
use crate::program::Program;
use crate::simulation;

/// What a machine knows of its program.
#[derive(Default)]
pub(crate) struct Running {
    path: OnceLock<CodePath>,
    /// The process that runs `main/1`.
    main: AtomicU64,
    /// When `main/1` was called, by the monotonic clock; 0 before.
    booted: AtomicI64,
    /// Held while a module is loaded because one of its functions was called.
    loading: Mutex<()>,
}

fn running() -> &'static Running {
    &part().running
}

/// What the first process runs.
const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "atoll_main", name: "start", arity: 3, function: start_main },
    BuiltIn { module: "atoll_main", name: "finished", arity: 1, function: main_finished },
    BuiltIn { module: "atoll_main", name: "tested", arity: 1, function: tests_finished },
];

/// The first release whose kernel leaves settings in persistent terms.
const SETTINGS_SINCE: u32 = 27;

/// What the kernel and the loader of newer releases would have left for `os:cmd/1` and for reading configuration files.
fn leave_settings(caller: &mut Caller<'_>) -> Result<(), Interrupt> {
    if atoll_process::release::release_number() < SETTINGS_SINCE {
        return Ok(());
    }
    let shell = caller.heap().string("/bin/sh");
    let loader = caller.heap().tuple(&[known_atom("efile"), atoms::UNDEFINED]);
    for (key, value) in [("kernel_os_cmd_shell", shell), ("erl_prim_loader", loader)] {
        atoll_bifs::put_persistent_term(caller, &[known_atom(key), value])?;
    }
    Ok(())
}

fn start_main(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    leave_settings(caller)?;
    if on_load::is_waiting(caller.process.pid, arguments[0]) {
        return Err(Interrupt::Again(arguments.to_vec()));
    }
    if !atoll_code::is_loaded(arguments[0]) {
        finish(1);
        return Ok(atoms::OK);
    }
    running().booted.store(clock::monotonic(), Ordering::Release);
    let main = registry().export(arguments[0], arguments[1], 1);
    let starter = atoms::atom("atoll_main").unwrap_or(atoms::MAIN);
    let finished = known_atom(if arguments[1] == atoms::MAIN { "finished" } else { "tested" });
    Err(Interrupt::CallThen(main, vec![arguments[2]], registry().export(starter, finished, 1)))
}

fn main_finished(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    finish(0);
    Ok(atoms::OK)
}

/// EUnit returns `ok` if no test has failed.
fn tests_finished(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    finish(i32::from(arguments[0] != atoms::OK));
    Ok(atoms::OK)
}

/// Runs `module:main(Arguments)` and returns the exit status.
///
/// # Errors
/// What keeps the run from starting.
pub fn run(options: &Options, program: &Program, arguments: &[String]) -> Result<i32, BootError> {
    run_from(options, program, arguments, || {})
}

/// As [`run`]; calls `begins` when the machine is there and nothing has run on it.
pub(crate) fn run_from(
    options: &Options,
    program: &Program,
    arguments: &[String],
    begins: impl FnOnce(),
) -> Result<i32, BootError> {
    let started = clock::monotonic();
    atoll_natives::set_encoding(atoll_natives::Encoding::of_environment());
    if let Some(limit) = options.atoms {
        atoms::set_atom_limit(limit);
    }
    let scheduling = install(
        options,
        Use {
            built_ins: [output::BUILT_INS, kernel::BUILT_INS, on_load::BUILT_INS, simulation::BUILT_INS, BUILT_INS]
                .concat(),
            report: report_uncaught,
            ended: process_ended,
            autoload: Some(autoload),
        },
    )?;
    atoll_bifs::install_print(output::print);
    on_load::install(default_heap(options));
    let otp = find_otp(options.otp.as_deref());
    if let Some(root) = &otp {
        crate::release::install(root);
    }
    if options.otp.is_some() && otp.as_ref().is_none_or(|otp| !otp.join("lib").is_dir()) {
        let given = options.otp.clone().unwrap_or_default();
        return Err(BootError::Option(format!("--otp {}: there is no folder `lib` in it", given.display())));
    }
    let mut folders: Vec<_> = program.folder.iter().cloned().collect();
    folders.extend(options.code_path.iter().cloned());
    let path = CodePath::new(folders, otp);
    output::set_encoding(path.release_of("kernel"));
    let _ = running().path.set(path);
    let module = atoms::atom(&program.module).map_err(|error| BootError::Module(error.to_string()))?;
    load_module(&program.module).map_err(BootError::Module)?;
    let main = known_atom(if program.tests.is_empty() { "main" } else { "test" });
    let exports_main = atoll_code::module(module)
        .and_then(|versions| versions.current.or(versions.pending))
        .is_some_and(|code| code.exports.iter().any(|(name, arity, _)| (*name, *arity) == (main, 1)));
    if !exports_main {
        return Err(BootError::Module(format!("module {} does not export main/1", program.module)));
    }
    let process_options = SpawnOptions {
        request: None,
        link: false,
        monitor: None,
        priority: Priority::Normal,
        heap: default_heap(options),
        flags: Flags::default(),
    };
    let start = Message::compose(|heap| {
        let texts: Vec<Term> = arguments.iter().map(|argument| heap.string(argument)).collect();
        let modules = program.tests.iter().map(|module| atoms::atom(module).unwrap_or(atoms::UNDEFINED));
        let list = if program.tests.is_empty() { heap.list(texts) } else { heap.list(modules.collect::<Vec<_>>()) };
        heap.list([module, main, list])
    });
    let user = output::spawn_server(atoms::STANDARD_IO, &process_options).ok_or_else(too_many)?;
    let errors = output::spawn_server(atoms::STANDARD_ERROR, &process_options).ok_or_else(too_many)?;
    for (name, pid) in [(atoms::USER, user), (atoms::STANDARD_ERROR, errors)] {
        let registered = System::get().register(name, pid);
        debug_assert!(registered.is_ok());
    }
    let system = System::get();
    let starter = atoms::atom("atoll_main").map_err(|error| BootError::Module(error.to_string()))?;
    let start_name = atoms::atom("start").map_err(|error| BootError::Module(error.to_string()))?;
    let first = spawn(Parent::Machine(start), (starter, start_name), None, &process_options).map_err(|_| too_many())?;
    system.table.with(first, |process| output::adopt(process, user));
    running().main.store(first.word(), Ordering::Release);
    begins();
    let status = run_to_end(scheduling)?;
    output::flush();
    let booted = running().booted.load(Ordering::Acquire);
    crate::run_record::write(options, scheduling, started, booted).map_err(BootError::Option)?;
    Ok(status)
}

/// The native code of the functions of this name in a `.beam` file, as [`run`] with these options would make it for hot
/// functions. Nothing runs.
///
/// # Errors
/// The file cannot be loaded; there is no such function, or no native code on this machine.
pub fn list_native(options: &Options, file: &Path, name: &str, arity: Option<u8>) -> Result<String, BootError> {
    let way = Use { built_ins: Vec::new(), report: |_, _, _, _| {}, ended: |_, _| {}, autoload: None };
    install(options, way)?;
    on_load::install(default_heap(options));
    let wrong = |error: &dyn std::fmt::Display| BootError::Module(format!("{}: {error}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| wrong(&error))?;
    let mut prepared = atoll_code::prepare(&bytes).map_err(|error| wrong(&error))?;
    let module = prepared.module();
    on_load::prepare(&mut prepared);
    atoll_code::load(prepared).map_err(|error| wrong(&error))?;
    let code = atoll_code::module(module).and_then(|versions| versions.current.or(versions.pending));
    let code = code.ok_or_else(|| wrong(&"the module was not loaded"))?;
    atoll_native::listing(&code, name, arity).map_err(|error| wrong(&error))
}

/// Loads a module from the code path. Returns whether it waits for its `on_load` function.
fn load_module(name: &str) -> Result<bool, String> {
    let path = running().path.get().ok_or("no code path")?;
    let file = path.find(name).ok_or_else(|| {
        let hint = if path.otp().is_none() { "; OTP's libraries were not found either (see --otp)" } else { "" };
        format!("module {name} is not on the code path{hint}")
    })?;
    let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut prepared = atoll_code::prepare(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    let own_name = atoms::atom_name(prepared.module());
    if own_name != name {
        return Err(format!("{}: the file holds module {own_name}, not {name}", file.display()));
    }
    on_load::prepare(&mut prepared);
    let (_, waits) = atoll_code::load(prepared).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(waits)
}

/// The file of a module on the code path.
pub(crate) fn find_module(name: &str) -> Option<std::path::PathBuf> {
    running().path.get()?.find(name)
}

/// Loads a module if it is not loaded.
pub(crate) fn autoload(module: Term) -> Loading {
    let _one = running().loading.lock();
    let (loaded, waits) = match atoll_code::module(module) {
        Some(versions) => (versions.current.is_some(), versions.pending.is_some()),
        None => (false, false),
    };
    if loaded {
        return Loading::Done;
    }
    if on_load::take_failure(module) {
        return Loading::Failed;
    }
    if waits {
        return Loading::Waits(on_load::waiting_call());
    }
    let name = atoms::atom_name(module);
    if running().path.get().is_none_or(|path| path.find(name).is_none()) {
        return Loading::Failed;
    }
    match load_module(name) {
        Ok(false) => Loading::Done,
        Ok(true) => Loading::Waits(on_load::waiting_call()),
        Err(error) => {
            eprintln!("atoll: {error}");
            Loading::Failed
        }
    }
}

pub(crate) fn is_main(pid: Term) -> bool {
    running().main.load(Ordering::Acquire) == pid.word()
}

fn report_uncaught(pid: Term, _: Term, class: Class, reason: Term) {
    simulation::note_uncaught(pid, class, reason);
    // As in OTP, a process that exits of its own accord is not worth a report; the program itself is.
    if class == Class::Exit && !is_main(pid) {
        return;
    }
    output::flush();
    eprint!("{}", crate::output::report(pid, class, reason, is_main(pid)));
    if is_main(pid) {
        finish(1);
    }
}

fn process_ended(pid: Term, reason: Term) {
    if is_main(pid) {
        if reason != atoms::NORMAL && !is_finished() {
            output::flush();
            eprintln!("atoll: the program was ended by an exit signal: {}", output::text(reason));
        }
        finish(i32::from(reason != atoms::NORMAL));
    }
}
