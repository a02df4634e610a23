//! Passes signals of the operating system to OTP's `erl_signal_server` as messages, as OTP's runtime does.

use std::sync::OnceLock;
use std::thread::Builder;

use atoll_heap::Message;
use atoll_natives::terminal;
use atoll_platform::{ending, threads};
use atoll_process::System;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, atoms};
use parking_lot::Mutex;
use signal_hook::consts;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use super::break_menu;

/// Signals that `os:set_signal/2` knows and that can be handled, by name.
const NAMES: [(&str, i32); 11] = [
    ("sighup", consts::SIGHUP),
    ("sigquit", consts::SIGQUIT),
    ("sigabrt", consts::SIGABRT),
    ("sigalrm", consts::SIGALRM),
    ("sigterm", consts::SIGTERM),
    ("sigusr1", consts::SIGUSR1),
    ("sigusr2", consts::SIGUSR2),
    ("sigchld", consts::SIGCHLD),
    ("sigtstp", consts::SIGTSTP),
    ("sigcont", consts::SIGCONT),
    ("sigwinch", consts::SIGWINCH),
];
/// Those that OTP's runtime handles from the start.
const FROM_THE_START: [i32; 6] =
    [consts::SIGTERM, consts::SIGUSR1, consts::SIGQUIT, consts::SIGCONT, consts::SIGINT, consts::SIGWINCH];
/// Those of them that the machine ignores until a program asks for them.
const QUIET: [i32; 2] = [consts::SIGCONT, consts::SIGWINCH];

/// What is done about a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Default,
    Handle,
    Ignore,
}

static HANDLE: OnceLock<Handle> = OnceLock::new();
/// Signals for which a program has changed what is done from the start.
static WAYS: Mutex<Vec<(i32, Way)>> = Mutex::new(Vec::new());

/// Starts the thread that waits for signals.
///
/// # Errors
/// The operating system refuses.
pub fn start() -> std::io::Result<()> {
    // What an interrupt does otherwise, a program in the background is spared.
    let is_spared = *INTERRUPT.lock() == Interrupt::End && ending::is_ignored(consts::SIGINT);
    let mut signals = Signals::new(FROM_THE_START.into_iter().filter(|one| *one != consts::SIGINT || !is_spared))?;
    let _ = HANDLE.set(signals.handle());
    atoll_bifs::install_set_signal(set);
    let work = move || {
        for number in signals.forever() {
            arrived(number);
        }
    };
    threads::start(Builder::new().name("signals".to_owned()).stack_size(256 << 10), work).map(drop)
}

fn arrived(number: i32) {
    match number {
        consts::SIGCONT => {
            atoll_ports::terminal::mode::take_again();
            terminal::signalled(terminal::Told::Continued);
        }
        consts::SIGWINCH => terminal::signalled(terminal::Told::Resized),
        consts::SIGINT => return interrupted(),
        _ => {}
    }
    let way = WAYS.lock().iter().find(|(one, _)| *one == number).map(|(_, way)| *way);
    let quiet = QUIET.contains(&number);
    let way = way.unwrap_or(if quiet { Way::Ignore } else { Way::Handle });
    let told = match way {
        Way::Ignore => true,
        // As on OTP, a signal is lost that nobody waits for.
        Way::Handle => tell(number) || System::get().whereis(known_atom("init")).is_some(),
        Way::Default => quiet,
    };
    if !told {
        ending::restore();
        // What the signal does to a program that knows nothing of it; it may end here.
        let _ = emulate_default_handler(number);
    }
}

/// What `+B` says about an interrupt from the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interrupt {
    /// Ask the user, also where that is no terminal: the end of input ends the machine.
    #[default]
    Ask,
    /// As in programs that know nothing of it.
    End,
    /// Nothing.
    Ignore,
}

static INTERRUPT: Mutex<Interrupt> = Mutex::new(Interrupt::Ask);

/// Says what an interrupt does.
pub fn on_interrupt(what: Interrupt) {
    *INTERRUPT.lock() = what;
}

fn interrupted() {
    let what = *INTERRUPT.lock();
    match what {
        Interrupt::Ask => break_menu::ask(),
        Interrupt::End => {
            ending::restore();
            let _ = emulate_default_handler(consts::SIGINT);
        }
        Interrupt::Ignore => {}
    }
}

/// Sends `{notify, Name}` to the server; false if there is none.
fn tell(number: i32) -> bool {
    let Some((name, _)) = NAMES.iter().find(|(_, one)| *one == number) else { return false };
    let (Ok(server), Ok(notify), Ok(name)) =
        (atoms::atom("erl_signal_server"), atoms::atom("notify"), atoms::atom(name))
    else {
        return false;
    };
    let system = System::get();
    let Some(server) = system.whereis(server) else { return false };
    system.deliver_from_outside(server, Message::compose(|heap| heap.tuple(&[notify, name]))).is_ok()
}

/// `os:set_signal(Name, default | handle | ignore)`
fn set(name: &str, way: &str) {
    let Some((_, number)) = NAMES.iter().find(|(one, _)| *one == name) else { return };
    let way = match way {
        "handle" => Way::Handle,
        "ignore" => Way::Ignore,
        _ => Way::Default,
    };
    let mut ways = WAYS.lock();
    ways.retain(|(one, _)| one != number);
    ways.push((*number, way));
    // The operating system's own way needs no handler, unless there is one.
    if way != Way::Default
        && let Some(handle) = HANDLE.get()
    {
        let _ = handle.add_signal(*number);
    }
}
