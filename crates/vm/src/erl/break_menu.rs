//! What an interrupt from the keyboard asks the user, while everything stands still. One line is one answer, of which
//! the first character counts.

use std::io::Write;

use atoll_distribution::description;
use atoll_platform::ending;
use atoll_ports::terminal::mode;
use atoll_process::{Stopped, System, handle};
use atoll_term::Term;

use super::screens;
use crate::dump;

/// Where input and output are no terminals, nothing else makes lines of it.
const MENU: &str = "BREAK: (a)bort (A)bort with dump (c)ontinue (p)roc info (i)nfo\r
       (l)oaded (v)ersion (k)ill (D)b-tables (d)istribution\r\n";

/// Asks until the user says how to go on.
pub fn ask() {
    let _typed = mode::reading();
    let mut stopped = Stopped::after_others(None);
    mode::lend();
    show(&format!("\r\n{MENU}"));
    let wish = answers(&mut stopped);
    mode::take_again();
    drop(stopped);
    match wish {
        Wish::GoOn => {}
        Wish::Kill(pids) => {
            pids.into_iter().for_each(|pid| System::get().deliver_or_answer(pid, handle::kill_signal(pid)));
        }
        // Processes are shown in a dump as far as they wait, by the thread that claims them: not in a stopped world.
        Wish::Dump => {
            ending::dump("Crash dump requested by user", true);
            ending::abort()
        }
    }
}

/// How the user wants to go on.
enum Wish {
    GoOn,
    Kill(Vec<Term>),
    Dump,
}

/// Shows what is asked for, until the user wants to go on.
fn answers(stopped: &mut Stopped<'_>) -> Wish {
    loop {
        let Some(key) = key() else { ending::leave(0) };
        let text = match key {
            b'a' | b'q' => ending::leave(0),
            b'A' => return Wish::Dump,
            b'c' => break,
            b'k' => return Wish::Kill(ask_whom_to_kill(stopped)),
            b'p' => screens::processes(stopped),
            b'o' => screens::of(dump::ports),
            b'i' => screens::of(dump::memory),
            b'l' => screens::modules(),
            b'D' => screens::of(dump::tables),
            b'd' => description::text(|visit| stopped.each(|process, own| visit(process.pid, own))),
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
    Wish::GoOn
}

/// Shows one process after the other, the youngest first.
fn ask_whom_to_kill(stopped: &mut Stopped<'_>) -> Vec<Term> {
    let mut killed = Vec::new();
    show("\n\nProcess Information\n\n--------------------------------------------------\n");
    for pid in System::get().table.pids().into_iter().rev() {
        show(&format!("{}(k)ill (n)ext (r)eturn:\n", screens::process(stopped, pid)));
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
    // If the terminal is gone, there is no user to report the failure to.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The first character of what is typed next; `None` at the end of input.
fn key() -> Option<u8> {
    let mut line = [0; 64];
    mode::read(&mut line).ok().filter(|count| *count > 0).map(|_| line[0])
}
