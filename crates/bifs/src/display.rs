//! Output for debugging, past the I/O system of OTP.

use std::io::Write;
use std::sync::OnceLock;

use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::{Term, atoms, text as term_text};

use crate::process_support::{badarg, text};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "display", arity: 1, function: display },
    BuiltIn { module: "erlang", name: "display_string", arity: 1, function: display_string },
    BuiltIn { module: "erlang", name: "display_nl", arity: 0, function: display_nl },
    BuiltIn { module: "erts_debug", name: "display", arity: 1, function: display },
];

static PRINT: OnceLock<fn(&str)> = OnceLock::new();

/// Sets who writes text to standard output, in order with the program's other output; the first call counts.
pub fn install_print(print: fn(&str)) {
    let _ = PRINT.set(print);
}

/// Writes text to standard output.
pub fn print(text: &str) {
    match PRINT.get() {
        Some(print) => print(text),
        None => {
            let mut out = std::io::stdout().lock();
            // There is nobody to tell of a closed output.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }
}

fn display(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut line = term_text::to_string(arguments[0]);
    line.push('\n');
    print(&line);
    Ok(atoms::TRUE)
}

fn display_string(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_list() {
        return Err(badarg());
    }
    print(&text(arguments[0]).ok_or_else(badarg)?);
    Ok(atoms::TRUE)
}

fn display_nl(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    print("\n");
    Ok(atoms::TRUE)
}
