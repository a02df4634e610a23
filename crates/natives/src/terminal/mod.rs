//! `prim_tty`: standard input and output as OTP has them from release 26 on. Two generations of the module are served,
//! which differ in the arities of what they call.
//!
//! * [`capabilities`]: what the terminal can do
//! * [`width`]: how many columns characters take

pub mod capabilities;
pub(crate) mod reader;
pub mod width;

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use atoll_operations::iolist;
use atoll_platform::errors;
use atoll_ports::terminal::mode;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Own, ReferenceId, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, MagicValue, Term, atoms, map};
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::isatty;

use crate::at_exit::AtExit;
use crate::dirty;
use crate::results::ok;
use reader::Reader;

pub use reader::{Told, signalled};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_tty", "isatty", 1, is_a_terminal),
    BuiltIn::new("prim_tty", "tty_create", 0, create),
    BuiltIn::new("prim_tty", "tty_create", 1, create_for),
    BuiltIn::new("prim_tty", "tty_init", 2, init),
    BuiltIn::new("prim_tty", "tty_init", 3, init_with_flags),
    BuiltIn::new("prim_tty", "tty_set", 1, set),
    BuiltIn::new("prim_tty", "setlocale", 1, set_locale),
    BuiltIn::new("prim_tty", "tty_select", 2, select),
    BuiltIn::new("prim_tty", "tty_select", 3, select_with_signals),
    BuiltIn::new("prim_tty", "tty_read_signal", 2, read_signal),
    BuiltIn::new("prim_tty", "tty_encoding", 1, encoding),
    BuiltIn::new("prim_tty", "tty_is_open", 2, is_open),
    BuiltIn::new("prim_tty", "tty_window_size", 1, window_size),
    BuiltIn::new("prim_tty", "read_nif", 2, read),
    BuiltIn::new("prim_tty", "read_nif", 3, read),
    BuiltIn::new("prim_tty", "write_nif", 2, write),
];

static CANON: LazyAtom = LazyAtom::new("canon");
static CLOSED: LazyAtom = LazyAtom::new("closed");
static EBADF: LazyAtom = LazyAtom::new("ebadf");
static ECHO: LazyAtom = LazyAtom::new("echo");
static ENOTSUP: LazyAtom = LazyAtom::new("enotsup");
static INPUT: LazyAtom = LazyAtom::new("input");
static RAW: LazyAtom = LazyAtom::new("raw");
static SIG: LazyAtom = LazyAtom::new("sig");
static STDERR: LazyAtom = LazyAtom::new("stderr");
static STDIN: LazyAtom = LazyAtom::new("stdin");
static STDOUT: LazyAtom = LazyAtom::new("stdout");
static UTF8: LazyAtom = LazyAtom::new("utf8");

/// Bytes read at once, at most.
const BUFFER: usize = 1024;
/// Bytes that can be written without waiting to whatever says that it has room: pipes promise no more.
const SHORT: usize = 4096;

/// Standard input and one of the outputs.
struct Terminal {
    id: ReferenceId,
    output: BorrowedFd<'static>,
    /// Whether the output is a terminal.
    is_terminal: bool,
    reader: Mutex<Option<Arc<Reader>>>,
}

fn terminal(reference: &Term) -> Result<&Arc<Terminal>, Interrupt> {
    reference.magic().ok_or_else(badarg)
}

fn descriptor(name: Term) -> Result<BorrowedFd<'static>, Interrupt> {
    match name {
        _ if name == STDIN.get() => Ok(rustix::stdio::stdin()),
        _ if name == STDOUT.get() => Ok(rustix::stdio::stdout()),
        _ if name == STDERR.get() => Ok(rustix::stdio::stderr()),
        _ => Err(badarg()),
    }
}

fn failed(caller: &mut Caller<'_>, reason: Term) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

/// `{error, {Function, Name}}`
fn failed_in(caller: &mut Caller<'_>, function: &str, error: Errno) -> Outcome {
    let reason = caller.heap().tuple(&[known_atom(function), known_atom(errors::name(error))]);
    failed(caller, reason)
}

fn is_a_terminal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let descriptor = descriptor(arguments[0])?;
    Ok(match rustix::io::fcntl_getfd(descriptor) {
        Ok(_) => Term::boolean(isatty(descriptor)),
        Err(_) => EBADF.get(),
    })
}

fn create(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    create_with(caller, rustix::stdio::stdout())
}

fn create_for(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0] == STDIN.get() {
        return Err(badarg());
    }
    create_with(caller, descriptor(arguments[0])?)
}

fn create_with(caller: &mut Caller<'_>, output: BorrowedFd<'static>) -> Outcome {
    let id = ReferenceId::fresh();
    let terminal = Terminal { id, output, is_terminal: isatty(output), reader: Mutex::default() };
    let value = MagicValue::new(Arc::new(terminal));
    let reference = caller.heap().magic_reference(id.0, value);
    ok(caller, reference)
}

/// The process of a machine that has the terminal's modes; they are given back when it ends.
#[derive(Default)]
pub struct Owner(AtExit<Option<Term>>);

atoll_platform::part_of_machine!(Owner);

fn owner() -> MutexGuard<'static, Option<Term>> {
    part().0.get(process_ended).lock()
}

fn process_ended(pid: Term, _: &mut Own) {
    if owner().take_if(|owner| *owner == pid).is_some() {
        mode::give_back();
    }
}

fn owned(caller: &mut Caller<'_>) {
    *owner() = Some(caller.process.pid);
    caller.process.at_end.note_work();
}

fn taken(caller: &mut Caller<'_>, result: Result<(), Errno>) -> Outcome {
    match result {
        Ok(()) => {
            owned(caller);
            Ok(atoms::OK)
        }
        Err(error) => failed_in(caller, "tcsetattr", error),
    }
}

/// `tty_init(Terminal, #{input := raw | cooked | disabled})`
fn init(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let terminal = terminal(&arguments[0])?;
    let options = Some(arguments[1]).filter(|options| options.is_map()).ok_or_else(badarg)?;
    let raw = map::get(options, INPUT.get()).ok_or_else(badarg)? == RAW.get();
    match (terminal.is_terminal, raw) {
        (false, true) => failed(caller, ENOTSUP.get()),
        (true, true) => taken(caller, mode::set(["-c", "-e"].into_iter())),
        (_, false) => {
            if terminal.is_terminal && owner().take_if(|owner| *owner == caller.process.pid).is_some() {
                mode::give_back();
            }
            Ok(atoms::OK)
        }
    }
}

/// `tty_init(Terminal, stdout, #{canon, echo, sig => boolean()})`: what is not said is off, signals excepted.
fn init_with_flags(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let terminal = terminal(&arguments[0])?;
    let options = Some(arguments[2]).filter(|options| options.is_map()).ok_or_else(badarg)?;
    if !terminal.is_terminal || !isatty(rustix::stdio::stdin()) {
        return failed(caller, ENOTSUP.get());
    }
    let is = |name: &LazyAtom, value: Term| map::get(options, name.get()) == Some(value);
    let mut flags = vec![if is(&CANON, atoms::TRUE) { "+c" } else { "-c" }];
    flags.push(if is(&ECHO, atoms::TRUE) { "+e" } else { "-e" });
    if is(&SIG, atoms::FALSE) {
        flags.push("-s");
    }
    taken(caller, mode::set(flags.into_iter()))
}

/// `tty_set(Terminal)`: the modes that were asked for, once more.
fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    terminal(&arguments[0])?;
    mode::take_again();
    owned(caller);
    Ok(atoms::OK)
}

/// Whether text on the terminal is UTF-8.
fn set_locale(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    terminal(&arguments[0])?;
    Ok(Term::boolean(atoll_ports::terminal::is_unicode()))
}

fn encoding(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    terminal(&arguments[0])?;
    Ok(UTF8.get())
}

/// Whether the other side of standard input or an output is still open.
fn is_open(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    terminal(&arguments[0])?;
    let descriptor = descriptor(arguments[1])?;
    match ready(descriptor, PollFlags::HUP) {
        Ok(flags) if flags.is_empty() => Ok(atoms::TRUE),
        Ok(flags) if flags.contains(PollFlags::HUP) => Ok(atoms::FALSE),
        Ok(_) => Err(badarg()),
        Err(error) => failed_in(caller, "tty_is_open", error),
    }
}

fn window_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let terminal = terminal(&arguments[0])?;
    let Some((columns, rows)) = mode::stated_size(&[rustix::stdio::stdin(), terminal.output]) else {
        return failed(caller, ENOTSUP.get());
    };
    let size = caller.heap().tuple(&[Term::small(columns), Term::small(rows)]);
    ok(caller, size)
}

/// `tty_select(Terminal, ReadReference)`: the caller gets a message when something can be read.
fn select(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_reader(caller, arguments[0], arguments[1], None)
}

/// `tty_select(Terminal, SignalReference, ReadReference)`: and when a signal arrives.
fn select_with_signals(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_reader(caller, arguments[0], arguments[2], Some(arguments[1]))
}

fn start_reader(caller: &mut Caller<'_>, reference: Term, wish: Term, signals: Option<Term>) -> Outcome {
    let terminal = terminal(&reference)?;
    let reader = Reader::start(caller, terminal.id, reference, wish, signals)?;
    *terminal.reader.lock() = Some(reader);
    Ok(atoms::OK)
}

fn read_signal(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let reader = terminal(&arguments[0])?.reader.lock().clone();
    match reader.and_then(|reader| reader.take_signal()) {
        Some(name) => ok(caller, known_atom(name)),
        None => failed(caller, ENOTSUP.get()),
    }
}

fn ready(descriptor: BorrowedFd<'_>, flags: PollFlags) -> Result<PollFlags, Errno> {
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, flags)];
    rustix::io::retry_on_intr(|| poll(&mut descriptors, Some(&Timespec::default())))?;
    Ok(descriptors[0].revents())
}

/// `read_nif(Terminal, Reference)`, `read_nif(Terminal, Reference, Bytes)`
fn read(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let terminal = terminal(&arguments[0])?;
    let most = match arguments.get(2) {
        Some(count) => count.as_small().and_then(|count| usize::try_from(count).ok()).ok_or_else(badarg)?,
        None => BUFFER,
    };
    let mut bytes = [0; BUFFER];
    let mut count = 0;
    let input = rustix::stdio::stdin();
    // Another process may have read it: a scheduler does not wait for more.
    if ready(input, PollFlags::IN).is_ok_and(|flags| !flags.is_empty()) {
        let _turn = mode::reading();
        match rustix::io::read(input, &mut bytes[..most.min(BUFFER)]) {
            Ok(0) => return failed(caller, CLOSED.get()),
            Ok(length) => count = length,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return failed_in(caller, "read", error),
        }
    }
    if let Some(reader) = &*terminal.reader.lock() {
        reader.arm();
    }
    let bytes = caller.heap().binary(&bytes[..count]);
    ok(caller, bytes)
}

/// `write_nif(Terminal, Data)`: returns when all is written.
fn write(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let output = terminal(&arguments[0])?.output;
    let result = match dirty::result(caller, arguments)? {
        Some(result) => result,
        None => {
            let bytes = iolist::iolist_bytes(arguments[1])?;
            let fits = bytes.len() <= SHORT && ready(output, PollFlags::OUT) == Ok(PollFlags::OUT);
            if !fits {
                return Err(dirty::start(caller, arguments, move || write_all(output, &bytes)));
            }
            write_all(output, &bytes)
        }
    };
    match result {
        Ok(()) => Ok(atoms::OK),
        Err(error) => failed(caller, known_atom(errors::name(error))),
    }
}

fn write_all(output: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Another user has made the descriptor non-blocking; this write must wait.
            Err(Errno::AGAIN) => {
                let mut descriptors = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
                let _ = poll(&mut descriptors, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
