//! The screens for a user who has interrupted the machine: parts of a crash dump, and readable stacks. No process runs
//! meanwhile.

use std::fmt::Write;

use atoll_process::{Own, Process, Stopped, System, inspect};
use atoll_term::Term;
use atoll_term::text::{self, TextOptions};

use crate::dump;

/// Most bytes of a term that are shown.
const SHOWN_BYTES: usize = 10_000;
/// Most words of a stack that are shown.
const STACK_WORDS: usize = 4_096;

/// A part of a dump, as text.
pub fn of(part: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    match part(&mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(error) => format!("{error}\n"),
    }
}

/// Loaded modules, each with the bytes of its code.
pub fn modules() -> String {
    let text = of(dump::modules).replace("=loaded_modules\n", "");
    text.replace("\nCurrent size:", "").replace("=mod:", "")
}

/// All processes with their stacks, then all ports.
pub fn processes(stopped: &mut Stopped<'_>) -> String {
    let mut text = String::new();
    System::get().table.each(|process| text.push_str(&shown(stopped, process)));
    text + &of(dump::ports)
}

/// One process with its stack; nothing if it has ended.
pub fn process(stopped: &mut Stopped<'_>, pid: Term) -> String {
    System::get().table.with(pid, |process| shown(stopped, process)).unwrap_or_default()
}

fn shown(stopped: &mut Stopped<'_>, process: &Process) -> String {
    let mut own = stopped.waiting(process);
    let mut text = of(|out| dump::one_process(out, process, own.as_deref_mut(), true));
    text.push_str("Stack dump:\n");
    if let Some(own) = own {
        stack(own, &mut text);
    }
    text
}

/// The stack of a process: return addresses, and what stands between them.
fn stack(own: &Own, out: &mut String) {
    let options = TextOptions { limit: SHOWN_BYTES, ..TextOptions::default() };
    let (mut slot, mut words) = (0, 0);
    inspect::each_stack_word(own, &mut |word| {
        words += 1;
        if let Some(address) = inspect::return_address(word) {
            slot = 0;
            let frame = atoll_code::frame_of(address);
            let place = frame.map(|frame| {
                let (module, name) = (text::to_string(frame.module), text::to_string(frame.name));
                format!(" ({module}:{name}/{} + 0)", frame.arity)
            });
            let _ = writeln!(
                out,
                "\nReturn addr {:#018x}{}",
                address.addr(),
                place.unwrap_or_else(|| " (<terminate process normally>)".to_owned())
            );
        } else {
            let _ = write!(out, "y({slot})     ");
            match word.is_catch_mark() {
                true => out.push_str("Catch"),
                false if word.is_none() => out.push_str("[]"),
                false => text::write(out, word, options),
            }
            out.push('\n');
            slot += 1;
        }
        words < STACK_WORDS
    });
}
