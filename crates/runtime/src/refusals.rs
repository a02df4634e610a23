//! Calls that a simulated run does not carry out: operations on files and sockets that fail on request, as the system
//! could let them fail, processes and ports for which there is no room, and, in a strict run, everything that nobody
//! can repeat.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Failing, Interrupt, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Export, Term, atoms};

use crate::core::Core;
use crate::part::part;
use crate::story;

/// What may become of a call of one function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guard {
    /// Errors of the operating system with which it may fail.
    errors: &'static [&'static str],
    /// It is done nevertheless: a file is closed even if its last data could not be written.
    is_done: bool,
    /// It needs room in a table of the machine.
    needs_room: bool,
    /// What it does or brings is not repeated.
    is_outside: bool,
}

/// Told, in a strict run, which process asks for what. Does not return.
pub type Refuse = fn(pid: Term, what: &str) -> !;

/// What a machine knows of such calls.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    strict: OnceLock<Refuse>,
    /// Whether a strict run has come to the program, behind the boot of OTP.
    has_begun: AtomicBool,
    guards: OnceLock<HashMap<usize, Guard>>,
}

/// From [`begin_strictness`] on nothing is done whose result nobody can repeat; `refuse` is told of it.
pub fn be_strict(refuse: Refuse) {
    let _ = part().refusals.strict.set(refuse);
}

/// A strict run comes to the program: what was before is the boot of OTP, which reads files.
pub fn begin_strictness() {
    part().refusals.has_begun.store(true, Ordering::Relaxed);
}

/// As POSIX says of the calls that the functions of `prim_file` make.
const FILES: [(&str, &[&str]); 19] = [
    ("open_nif", &["emfile", "enfile", "eio"]),
    ("read_nif", &["eio"]),
    ("pread_nif", &["eio"]),
    ("read_file_nif", &["emfile", "enfile", "eio"]),
    ("write_nif", &["enospc", "eio"]),
    ("pwrite_nif", &["enospc", "eio"]),
    ("sync_nif", &["eio", "enospc"]),
    ("truncate_nif", &["eio"]),
    ("allocate_nif", &["enospc", "eio"]),
    ("close_nif", &["eio", "enospc"]),
    ("list_dir_nif", &["emfile", "enfile"]),
    ("make_dir_nif", &["enospc", "eio"]),
    ("del_dir_nif", &["eio"]),
    ("del_file_nif", &["eio"]),
    ("rename_nif", &["enospc", "eio"]),
    ("make_hard_link_nif", &["enospc", "eio"]),
    ("make_soft_link_nif", &["enospc", "eio"]),
    ("read_link_nif", &["eio"]),
    ("read_info_nif", &["eio"]),
];

/// The same of `prim_socket`.
const SOCKETS: [(&str, &[&str]); 13] = [
    ("nif_open", &["emfile", "enfile", "enobufs"]),
    ("nif_bind", &["eaddrinuse"]),
    ("nif_listen", &["eaddrinuse"]),
    ("nif_connect", &["econnrefused", "etimedout", "enetunreach"]),
    ("nif_accept", &["emfile", "enfile", "econnaborted"]),
    ("nif_send", &["econnreset", "epipe"]),
    ("nif_sendto", &["enobufs", "enetunreach"]),
    ("nif_sendmsg", &["econnreset", "epipe"]),
    ("nif_sendv", &["econnreset", "epipe"]),
    ("nif_sendfile", &["econnreset", "epipe", "eio"]),
    ("nif_recv", &["econnreset", "etimedout"]),
    ("nif_recvfrom", &["econnreset", "etimedout"]),
    ("nif_recvmsg", &["econnreset", "etimedout"]),
];

/// The same of sockets that are ports, by the commands of `port_control/3`. A connection that was reset has no
/// other name there than one that was closed.
const COMMANDS: [(i64, &[&str]); 6] = [
    (COMMAND + 1, &["emfile", "enfile", "enobufs"]),
    (COMMAND + 3, &["econnrefused", "etimedout", "enetunreach"]),
    (COMMAND + 25, &["eaddrinuse"]),
    (COMMAND + 26, &["emfile", "enfile", "econnaborted"]),
    (COMMAND + 27, &["eaddrinuse"]),
    (COMMAND + 42, &["closed", "etimedout"]),
];
/// What all these commands are added to.
const COMMAND: i64 = 0x03f1_a300;

/// Functions for which a table of the machine needs room.
const NEED_ROOM: [(&str, &str); 5] = [
    ("erts_internal", "open_port"),
    ("erlang", "spawn"),
    ("erlang", "spawn_link"),
    ("erlang", "spawn_monitor"),
    ("erlang", "spawn_opt"),
];

/// Modules and functions, all if there is no name, that a strict run refuses.
const OUTSIDE: [(&str, &str); 10] = [
    ("erts_internal", "open_port"),
    ("erlang", "load_nif"),
    ("erlang", "memory"),
    ("erlang", "statistics"),
    ("os", "getpid"),
    ("prim_file", ""),
    ("prim_net", ""),
    ("prim_socket", ""),
    ("prim_tty", ""),
    ("erl_ddll", ""),
];

/// Of these modules the functions that reach nothing outside.
const INSIDE: [&str; 9] = [
    "internal_name2native",
    "internal_native2name",
    "internal_normalize_utf8",
    "is_translatable",
    "get_cwd_nif",
    "nif_info",
    "nif_supports",
    "nif_command",
    "isatty",
];

fn errors_of(table: &[(&str, &'static [&'static str])], name: &str) -> &'static [&'static str] {
    table.iter().find(|(other, _)| *other == name).map_or(&[], |(_, errors)| errors)
}

fn guard_of(row: &BuiltIn) -> Option<Guard> {
    let errors = match row.module {
        "prim_file" => errors_of(&FILES, row.name),
        "prim_socket" => errors_of(&SOCKETS, row.name),
        _ => &[],
    };
    let is_control = (row.module, row.name) == ("erts_internal", "port_control");
    let needs_room = NEED_ROOM.contains(&(row.module, row.name));
    let is_outside =
        OUTSIDE.iter().any(|(module, name)| *module == row.module && (name.is_empty() || *name == row.name))
            && !INSIDE.contains(&row.name);
    let guard = Guard { errors, is_done: row.name == "close_nif", needs_room, is_outside };
    (!errors.is_empty() || is_control || needs_room || is_outside).then_some(guard)
}

fn address(row: &BuiltIn) -> usize {
    let export: *const Export = registry().export(known_atom(row.module), known_atom(row.name), row.arity);
    export.addr()
}

/// The functions whose calls are looked at, by the addresses of their exports; `None` if nothing is refused here.
pub(crate) fn guards() -> Option<&'static HashMap<usize, Guard>> {
    let part = part();
    if part.refusals.strict.get().is_none() && !System::get().schedule().may_fail() {
        return None;
    }
    let rows = || part.built_ins.iter().filter_map(|row| Some((address(row), guard_of(row)?)));
    Some(part.refusals.guards.get_or_init(|| rows().collect()))
}

/// How a call ends that is refused.
enum End {
    Raises(Exception),
    /// The result is `{error, Name}`.
    Fails(&'static str),
    /// The result is what `port_control/3` returns for an error of this name.
    Answers(&'static str),
}

impl Core {
    /// Whether the call of this function, whose arguments are in the registers, is refused. The result, or the
    /// exception, is there then, unless the function is still to be called (`is_done`) and the result is what this
    /// returns.
    pub(crate) fn refuse(&mut self, export: *const Export, arity: usize) -> Option<Refused> {
        let guard = *self.guards?.get(&export.addr())?;
        // SAFETY: a process runs on this core.
        let pid = unsafe { (*self.process).pid };
        if guard.is_outside
            && let Some(refuse) = part().refusals.strict.get()
            && part().refusals.has_begun.load(Ordering::Relaxed)
            && !loads_code(pid)
            // SAFETY: exports live for ever.
            && !is_own_library(unsafe { &*export }, &self.x[..arity])
        {
            // SAFETY: as above.
            let export = unsafe { &*export };
            refuse(pid, &story::show_call(export, &self.x[..arity]));
        }
        let schedule = System::get().schedule();
        if !schedule.may_fail() {
            return None;
        }
        let end = if guard.needs_room {
            schedule.fails(Failing::Room, pid, 1)?;
            End::Raises(Exception::system_limit())
        } else if guard.errors.is_empty() {
            let command = self.x[1].as_small()?;
            let errors = COMMANDS.iter().find(|(other, _)| *other == command).map(|(_, errors)| *errors)?;
            End::Answers(errors[schedule.fails(Failing::Io, pid, errors.len())?])
        } else {
            End::Fails(guard.errors[schedule.fails(Failing::Io, pid, guard.errors.len())?])
        };
        match end {
            End::Raises(exception) => {
                self.interrupt = Some(Interrupt::Raise(exception));
                Some(Refused::Call)
            }
            End::Fails(name) if guard.is_done => Some(Refused::Result(name)),
            End::Fails(name) => {
                self.fail(name);
                Some(Refused::Call)
            }
            End::Answers(name) => {
                // SAFETY: a process runs on this core, and its registers are in the mutator.
                let heap = unsafe { &mut (*self.own).mutator };
                let bytes = std::iter::once(0).chain(name.bytes()).map(|byte| Term::small(i64::from(byte)));
                self.x[0] = heap.list(bytes.collect::<Vec<_>>());
                Some(Refused::Call)
            }
        }
    }

    /// The result is `{error, Name}`.
    pub(crate) fn fail(&mut self, name: &str) {
        // SAFETY: a process runs on this core, and its registers are in the mutator.
        let heap = unsafe { &mut (*self.own).mutator };
        self.x[0] = heap.tuple(&[atoms::ERROR, known_atom(name)]);
    }
}

/// What of a call is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// The function is not called.
    Call,
    /// It is called, and then it has failed with this error.
    Result(&'static str),
}

/// Processes of OTP that read the files of modules, which are the program.
const LOADERS: [&str; 2] = ["code_server", "erl_prim_loader"];

fn loads_code(pid: Term) -> bool {
    LOADERS.iter().any(|name| System::get().whereis(known_atom(name)) == Some(pid))
}

/// Whether a module of OTP asks for its native functions, which are part of the machine.
fn is_own_library(export: &Export, arguments: &[Term]) -> bool {
    export.name == known_atom("load_nif")
        && arguments.first().is_some_and(|path| {
            let path = story::show(*path);
            let name = path.trim_matches('"').rsplit('/').next().unwrap_or_default();
            part().built_ins.iter().any(|row| row.module == name)
        })
}
