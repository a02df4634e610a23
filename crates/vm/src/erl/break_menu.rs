//! What an interrupt from the keyboard asks the user, while everything stands still. One line is one answer, of which the first
//! character counts.

use std::io::Write;

use atoll_platform::ending;
use atoll_ports::terminal::mode;
use atoll_process::{System, handle};
use atoll_term::Term;

use super::screens;
use crate::dump;

const MENU: &str = "BREAK: (a)bort (A)bort with dump (c)ontinue (p)roc info (i)nfo
       (l)oaded (v)ersion (k)ill (D)b-tables (d)istribution\n";

/// Asks until the user says how to go on.
pub fn ask() {
    let schedule = System::get().schedule();
    let _typed = mode::reading();
    schedule.stop_world();
    mode::lend();
    show(&format!("\n{MENU}"));
    let killed = answers();
    mode::take_again();
    schedule.resume_world();
    for pid in killed {
        System::get().deliver_or_answer(pid, handle::kill_signal(pid));
    }
}

/// Does what is asked for; returns the processes that are to be killed.
fn answers() -> Vec<Term> {
    loop {
        let Some(key) = key() else { ending::leave(0) };
        let text = match key {
            b'a' | b'q' => ending::leave(0),
            b'A' => {
                ending::dump("Crash dump requested by user", true);
                ending::abort()
            }
            b'c' => break,
            b'k' => return ask_whom_to_kill(),
            b'p' => screens::processes(),
            b'o' => screens::of(dump::ports),
            b'i' => screens::of(dump::memory),
            b'l' => screens::modules(),
            b'D' => screens::of(dump::tables),
            b'd' => dump::NODE.to_owned(),
            b'v' => format!("Atoll {}\n", env!("CARGO_PKG_VERSION")),
            b'\n' | b'\r' => continue,
            other => {
                let other = other.escape_ascii();
                show(&format!("Invalid option '{other}'. Please enter one of the following:\n{MENU}"));
                continue;
            }
        };
        show(&text);
        break;
    }
    Vec::new()
}

/// Shows one process after the other, the youngest first.
fn ask_whom_to_kill() -> Vec<Term> {
    let mut killed = Vec::new();
    show("\n\nProcess Information\n\n--------------------------------------------------\n");
    for pid in System::get().table.pids().into_iter().rev() {
        show(&format!("{}(k)ill (n)ext (r)eturn:\n", screens::process(pid)));
        match key() {
            Some(b'k') => killed.push(pid),
            Some(b'n') => {}
            _ => break,
        }
    }
    killed
}

fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever cannot be asked cannot be told either.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The first character of what is typed next; `None` at the end of input.
fn key() -> Option<u8> {
    let mut line = [0; 64];
    mode::read(&mut line).ok().filter(|count| *count > 0).map(|_| line[0])
}
