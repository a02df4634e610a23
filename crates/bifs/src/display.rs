//! Output for debugging, past the I/O system of OTP: terms on the standard output, text on the standard error.

use std::io::Write;
use std::sync::OnceLock;

use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, atoms, text};

/// Writes text of a machine to standard output, in order with its other output.
#[derive(Default)]
pub struct Printer(OnceLock<fn(&str)>);

atoll_platform::part_of_machine!(Printer);

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "display", 1, display),
    BuiltIn::new("erlang", "display_nl", 0, display_nl),
    BuiltIn::new("erts_debug", "display", 1, display_and_return),
    BuiltIn::new("erlang", "display_string", 1, display_string),
    BuiltIn::new("erlang", "display_string", 2, display_string_on),
    BuiltIn::new("erts_internal", "term_to_string", 2, term_to_string),
];

/// Sets who writes text to standard output, in order with the program's other output; the first call counts.
pub fn install_print(print: fn(&str)) {
    let _ = part().0.set(print);
}

/// Writes text to standard output.
pub fn print(text: &str) -> Outcome {
    match part().0.get() {
        Some(print) => {
            print(text);
            Ok(atoms::TRUE)
        }
        None => put(&mut std::io::stdout(), text),
    }
}

/// A full pipe or a closed terminal is no reason to fail: this output is for debugging only.
fn put(out: &mut dyn Write, text: &str) -> Outcome {
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(atoms::TRUE)
}

fn display(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut line = text::to_string(arguments[0]);
    line.push_str("\r\n");
    print(&line)
}

/// The text is the result too.
fn display_and_return(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut line = text::to_string(arguments[0]);
    line.push('\n');
    print(&line)?;
    Ok(caller.heap().string(&line))
}

/// `term_to_string(Term, Limit | undefined)`
fn term_to_string(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let limit = match arguments[1] {
        atoms::UNDEFINED => usize::MAX,
        limit => limit
            .as_small()
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0)
            .ok_or_else(badarg)?,
    };
    let mut out = String::new();
    text::write(&mut out, arguments[0], text::TextOptions { limit, ..text::TextOptions::default() });
    Ok(caller.heap().string(&out))
}

fn display_nl(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    put(&mut std::io::stderr(), "\r\n")
}

/// The text in a list of code points.
fn characters(term: Term) -> Result<String, Exception> {
    let elements = list::elements_or_badarg(term)?;
    let character = |term: &Term| char::from_u32(u32::try_from(term.as_small()?).ok()?);
    elements.iter().map(character).collect::<Option<String>>().ok_or(Exception::badarg())
}

fn display_string(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    put(&mut std::io::stderr(), &characters(arguments[0])?)
}

fn display_string_on(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let text = characters(arguments[1])?;
    match atoms::atom_name(arguments[0]) {
        _ if !arguments[0].is_atom() => Err(badarg()),
        "stdout" => print(&text),
        "stderr" => put(&mut std::io::stderr(), &text),
        _ => Err(badarg()),
    }
}
