//! `open_port/2`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use atoll_operations::list::elements;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, Signal, System, signal, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};

use crate::driver::{self, Driver, Failure, PortName};
use crate::framing::{self, Framing};
use crate::port::Port;
use crate::table;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[BuiltIn::new("erts_internal", "open_port", 2, open_port)];

/// Longest line where the settings do not say.
const LINE: usize = 512;

/// Second argument of `open_port/2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How bytes are cut into messages.
    pub framing: Framing,
    /// `cd`: folder to start a program in.
    pub folder: Option<OsString>,
    /// `env`: variables, those without a value are taken away.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// `args`
    pub arguments: Vec<OsString>,
    /// `arg0`
    pub argument_0: Option<OsString>,
    /// `exit_status`: tell how the program ended.
    pub exit_status: bool,
    /// `nouse_stdio` is false.
    pub standard_streams: bool,
    /// `stderr_to_stdout`
    pub errors_to_output: bool,
    /// `in` or neither `in` nor `out`.
    pub input: bool,
    /// `out` or neither `in` nor `out`.
    pub output: bool,
    /// Data as binaries.
    pub binary: bool,
    /// Tell the end of input, and stay open.
    pub eof: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            framing: Framing::Stream,
            folder: None,
            environment: Vec::new(),
            arguments: Vec::new(),
            argument_0: None,
            exit_status: false,
            standard_streams: true,
            errors_to_output: false,
            input: true,
            output: true,
            binary: false,
            eof: false,
        }
    }
}

/// Text for the operating system: a binary as it is, characters in UTF-8.
pub fn os_text(term: Term) -> Option<OsString> {
    let bytes = match term.bits() {
        Some(bits) => bits.is_binary().then(|| bits.to_bytes().to_vec())?,
        None => {
            let mut text = String::new();
            flatten(term, &mut text)?;
            text.into_bytes()
        }
    };
    (!bytes.contains(&0)).then(|| OsString::from_vec(bytes))
}

/// The characters of a list that may hold lists and atoms, as names of files do.
fn flatten(term: Term, text: &mut String) -> Option<()> {
    if term.is_atom() {
        text.push_str(atoms::atom_name(term));
        return Some(());
    }
    for element in elements(term)? {
        match element.as_small() {
            Some(code) => text.push(char::from_u32(u32::try_from(code).ok()?)?),
            None => flatten(element, text)?,
        }
    }
    Some(())
}

/// The name of a file that is a list of characters or an atom.
fn file_name(term: Term) -> Option<OsString> {
    if term.is_atom() { Some(atoms::atom_name(term).into()) } else { os_text(term) }
}

/// Text of a variable: characters, also in lists of lists, and nothing else.
fn variable_text(term: Term) -> Option<OsString> {
    fn is_text(term: Term) -> bool {
        elements(term).is_some_and(|all| all.into_iter().all(|one| one.as_small().is_some() || is_text(one)))
    }
    if is_text(term) { os_text(term) } else { None }
}

fn read_name(term: Term) -> Option<PortName> {
    if term.is_atom() || elements(term).is_some_and(|all| all.iter().all(|one| one.as_small().is_some())) {
        return file_name(term).map(PortName::File);
    }
    let descriptor = |term: Term| i32::try_from(term.as_small()?).ok().filter(|number| *number >= 0);
    match *term.tuple_elements()? {
        [kind, command] if kind == known_atom("spawn") => os_text(command).map(PortName::Spawn),
        [kind, command] if kind == known_atom("spawn_driver") => os_text(command).map(PortName::SpawnDriver),
        [kind, command] if kind == known_atom("spawn_executable") => os_text(command).map(PortName::SpawnExecutable),
        [kind, input, output] if kind == known_atom("fd") => {
            Some(PortName::Descriptors(descriptor(input)?, descriptor(output)?))
        }
        _ => None,
    }
}

fn read_variable(term: Term) -> Option<(OsString, Option<OsString>)> {
    let &[variable, value] = term.tuple_elements()? else { return None };
    let value = if value == atoms::FALSE { None } else { Some(variable_text(value)?) };
    let variable = variable_text(variable).filter(|name| !name.as_bytes().contains(&b'='))?;
    // One without a name is none; an empty one is not there, as with `false`.
    Some((variable, value.filter(|value| !value.is_empty())))
}

fn read_settings(list: Term) -> Option<Settings> {
    let mut settings = Settings::default();
    let (mut input, mut output) = (false, false);
    for option in elements(list)? {
        match option.tuple_elements() {
            None => match atoms::atom_name(Some(option).filter(|option| option.is_atom())?) {
                "stream" if matches!(settings.framing, Framing::Line(_)) => {}
                "stream" => settings.framing = Framing::Stream,
                "exit_status" => settings.exit_status = true,
                "use_stdio" => settings.standard_streams = true,
                "nouse_stdio" => settings.standard_streams = false,
                "stderr_to_stdout" => settings.errors_to_output = true,
                "in" => input = true,
                "out" => output = true,
                "binary" => settings.binary = true,
                "eof" => settings.eof = true,
                "line" => settings.framing = Framing::Line(LINE),
                "hide" | "overlapped_io" => {}
                _ => return None,
            },
            Some(&[key, value]) if key.is_atom() => match atoms::atom_name(key) {
                "packet" | "line" => settings.framing = framing::from_option(key, value)?,
                "cd" => settings.folder = Some(os_text(value)?),
                "args" => settings.arguments = elements(value)?.into_iter().map(os_text).collect::<Option<_>>()?,
                "arg0" => settings.argument_0 = Some(os_text(value)?),
                "env" => {
                    settings.environment = elements(value)?.into_iter().map(read_variable).collect::<Option<_>>()?
                }
                "parallelism" if matches!(value, atoms::TRUE | atoms::FALSE) => {}
                "busy_limits_port" | "busy_limits_msgq" => {}
                _ => return None,
            },
            Some(_) => return None,
        }
    }
    if input || output {
        (settings.input, settings.output) = (input, output);
    }
    Some(settings)
}

/// `open_port(Name, Settings)`: the port, the reference of a message that will bring it, or the atom of the error that
/// `erlang:open_port/2` raises.
fn open_port(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (Some(port_name), Some(settings)) = (read_name(arguments[0]), read_settings(arguments[1])) else {
        return Ok(atoms::BADARG);
    };
    let has_arguments = !settings.arguments.is_empty() || settings.argument_0.is_some();
    let has_no_output = settings.errors_to_output && !settings.standard_streams;
    if has_no_output || has_arguments && !matches!(port_name, PortName::SpawnExecutable(_)) {
        return Ok(atoms::BADARG);
    }
    match open(caller, &port_name, settings) {
        Ok(Opening::Done(port)) => Ok(port),
        Ok(Opening::Later(reference)) => Ok(reference.term(caller.heap())),
        Err(failure) => Ok(driver::reason(failure)),
    }
}

/// What there is of a port when its driver has started.
enum Opening {
    /// The port (immediate).
    Done(Term),
    /// A message with this reference will tell.
    Later(ReferenceId),
}

/// Makes a port for a driver that has started it already: its name, and the process that owns it, if that lives.
pub fn make(name: String, owner: Term, driver: Box<dyn Driver>) -> Option<Term> {
    let id = table::reserve()?;
    System::get().deliver_from_outside(owner, signal::bare(Signal::Link { from: id })).ok()?;
    table::insert(Port::new(id, name, Settings::default(), owner, driver));
    Some(id)
}

fn open(caller: &mut Caller<'_>, port_name: &PortName, settings: Settings) -> Result<Opening, Failure> {
    let opened = driver::open(port_name, &settings)?;
    let Some(id) = table::reserve() else { return Err(Failure::TooMany) };
    let owner = caller.process.pid;
    let port = table::insert(Port::new(id, opened.name, settings, owner, opened.driver));
    port.traced.change(&|_| Some(tracing::of_new_ports()));
    port.trace_open(owner);
    caller.own.rare().links.insert(id);
    let mut later = None;
    let refused = port.with(|port, state, driver| {
        let Err(error) = driver.start(port, state) else {
            if driver.opens_later() && port.is_open() {
                let reference = ReferenceId::fresh();
                (later, state.opening) = (Some(reference), Some((reference, owner)));
            }
            return None;
        };
        if let (None, Failure::System(error)) = (port.library, error) {
            port.end_with(state, driver, error);
            return None;
        }
        // A driver that was loaded may refuse, which is an error of `open_port`.
        state.links.clear();
        port.end(state, driver, atoms::NORMAL);
        Some(error)
    });
    match refused.flatten() {
        Some(error) => {
            caller.own.rare().links.remove(id);
            Err(error)
        }
        None => Ok(later.map_or(Opening::Done(id), Opening::Later)),
    }
}
