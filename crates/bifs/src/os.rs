//! What the operating system tells: environment, number of its process.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;

use atoll_operations::list;
use atoll_platform::environment::{self, all as environment};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, atoms};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("os", "getpid", 0, getpid),
    BuiltIn::new("os", "getenv", 0, getenv_all),
    BuiltIn::new("os", "getenv", 1, getenv),
    BuiltIn::new("os", "env", 0, env),
    BuiltIn::new("os", "putenv", 2, putenv),
    BuiltIn::new("os", "unsetenv", 1, unsetenv),
    BuiltIn::new("os", "set_signal", 2, set_signal),
];

fn getpid(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().string(&std::process::id().to_string()))
}

/// A list of characters as the system's text (UTF-8); `None` if it is none, or has a zero in it.
fn system_text(list: Term) -> Option<OsString> {
    let mut text = String::new();
    for one in list::elements(list)? {
        text.push(char::from_u32(u32::try_from(one.as_small()?).ok()?).filter(|one| *one != '\0')?);
    }
    Some(OsString::from(text))
}

/// The system's text as a list of characters; bytes that are not UTF-8 stand for themselves.
fn characters(caller: &mut Caller<'_>, text: &OsStr) -> Term {
    match text.to_str() {
        Some(text) => caller.heap().string(text),
        None => caller.heap().list(text.as_bytes().iter().map(|byte| Term::small(i64::from(*byte)))),
    }
}

fn getenv(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let key = system_text(arguments[0]).filter(|key| is_key(key)).ok_or_else(badarg)?;
    match environment().into_iter().find(|(own, _)| *own == key) {
        Some((_, value)) => Ok(characters(caller, &value)),
        None => Ok(atoms::FALSE),
    }
}

fn is_key(key: &OsStr) -> bool {
    !key.as_bytes().contains(&b'=')
}

/// `["Key=Value"]`
fn getenv_all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let mut lines = Vec::new();
    for (key, value) in environment() {
        let line = OsString::from_vec([key.as_bytes(), b"=", value.as_bytes()].concat());
        lines.push(characters(caller, &line));
    }
    Ok(caller.heap().list(lines))
}

/// `[{Key, Value}]`
fn env(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let mut pairs = Vec::new();
    for (key, value) in environment() {
        let (key, value) = (characters(caller, &key), characters(caller, &value));
        pairs.push(caller.heap().tuple(&[key, value]));
    }
    Ok(caller.heap().list(pairs))
}

fn putenv(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let key = system_text(arguments[0]).filter(|key| is_key(key)).ok_or_else(badarg)?;
    let value = system_text(arguments[1]).ok_or_else(badarg)?;
    environment::set(key, value);
    Ok(atoms::TRUE)
}

fn unsetenv(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let key = system_text(arguments[0]).filter(|key| is_key(key)).ok_or_else(badarg)?;
    environment::change(|environment| environment.retain(|(own, _)| *own != key));
    Ok(atoms::TRUE)
}

static SET_SIGNAL: OnceLock<fn(&str, &str)> = OnceLock::new();

/// Sets what changes how a signal is handled: gets its name, and `default`, `handle` or `ignore`. The first call
/// counts; without it signals keep what the system does with them.
pub fn install_set_signal(set: fn(&str, &str)) {
    let _ = SET_SIGNAL.set(set);
}

/// `os:set_signal(Signal, default | handle | ignore)`
fn set_signal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    const SIGNALS: [&str; 12] = [
        "sighup", "sigquit", "sigabrt", "sigalrm", "sigterm", "sigusr1", "sigusr2", "sigchld", "sigstop", "sigtstp",
        "sigcont", "sigwinch",
    ];
    let known = |term: Term, names: &[&str]| term.is_atom() && names.contains(&atoms::atom_name(term));
    if known(arguments[0], &SIGNALS) && known(arguments[1], &["default", "handle", "ignore"]) {
        if let Some(set) = SET_SIGNAL.get() {
            set(atoms::atom_name(arguments[0]), atoms::atom_name(arguments[1]));
        }
        return Ok(atoms::OK);
    }
    Err(badarg())
}
