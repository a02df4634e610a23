//! What an interrupt from the keyboard asks the user, while everything stands still.

use std::io::Write;

use atoll_platform::ending;
use atoll_ports::terminal::mode;
use atoll_process::System;

const MENU: &str = "\nBREAK: (a)bort (A)bort with dump (c)ontinue (v)ersion\n";

/// Asks until the user says how to go on.
pub fn ask() {
    let schedule = System::get().schedule();
    let _typed = mode::reading();
    schedule.stop_world();
    mode::lend();
    show(MENU);
    loop {
        match key() {
            Some(b'a') | None => ending::leave(0),
            Some(b'A') => {
                ending::dump("Crash dump requested by user", true);
                ending::abort()
            }
            Some(b'c') => break,
            Some(b'v') => show(&format!("Atoll {}\n", env!("CARGO_PKG_VERSION"))),
            Some(b'\n' | b'\r' | b' ') => {}
            Some(_) => show(MENU),
        }
    }
    mode::take_again();
    schedule.resume_world();
}

fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever cannot be asked cannot be told either.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The next key; `None` at the end of input.
fn key() -> Option<u8> {
    let mut one = [0];
    (mode::read(&mut one) == Ok(1)).then_some(one[0])
}
