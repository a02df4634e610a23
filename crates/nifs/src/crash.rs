//! A crash inside of a library: the machine ends by the same signal as without this, but says first which library,
//! which function and which arguments it was, and writes a dump.
//!
//! The thread that crashes can do next to nothing: it wakes a thread that was started for this, and waits for the end.

use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::sync::{Once, OnceLock};
use std::thread::Builder;

use atoll_platform::{ending, threads};
use atoll_term::{Term, text};

use crate::env::{Running, running};
use crate::library::Function;

/// Signals by which a library may end the machine.
const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// Of an argument no more is shown.
const SHOWN_CHARACTERS: usize = 400;

/// What had been set for the signals.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();
/// The call during which the first signal came.
static CRASHED: AtomicPtr<Running> = AtomicPtr::new(null_mut());
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The thread that tells of a crash reads a byte from here.
static BELL: OnceLock<[i32; 2]> = OnceLock::new();

/// From now on crashes are told of.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let mut pipe = [0; 2];
        // SAFETY: the two numbers are written to the array.
        if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 || BELL.set(pipe).is_err() {
            return;
        }
        if threads::start(Builder::new().name("crash of a library".to_owned()), wait_for_crash).is_ok() {
            let _ = BEFORE.set(SIGNALS.map(handle));
        }
    });
}

/// Sets the handler of a signal; what was set before.
fn handle(signal: i32) -> libc::sigaction {
    let mut before = MaybeUninit::zeroed();
    // SAFETY: a valid action; the old one is written to the variable. Zeros are a valid action, too.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = crashed as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const action, before.as_mut_ptr());
        before.assume_init()
    }
}

/// Puts back what was set for a signal before.
fn put_back(signal: i32) {
    let place = SIGNALS.iter().position(|one| *one == signal);
    if let Some(before) = BEFORE.get().zip(place).map(|(all, place)| &all[place]) {
        // SAFETY: an action that was set before.
        unsafe { libc::sigaction(signal, before, null_mut()) };
    }
}

extern "C" fn crashed(signal: i32) {
    let Some(call) = running() else {
        // Not in a library: what would have happened happens when this returns.
        put_back(signal);
        if signal == libc::SIGABRT {
            // SAFETY: asks the system for a signal.
            unsafe { libc::raise(signal) };
        }
        return;
    };
    if CRASHED
        .compare_exchange(null_mut(), std::ptr::from_ref(call).cast_mut(), Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
    {
        SIGNAL.store(signal, Ordering::Release);
        // SAFETY: ends the machine later, whatever keeps the dump from being written; writes a byte.
        unsafe {
            libc::alarm(60);
            if let Some(bell) = BELL.get() {
                libc::write(bell[1], (&raw const signal).cast(), 1);
            }
        }
    }
    loop {
        // SAFETY: waits.
        unsafe { libc::pause() };
    }
}

fn wait_for_crash() {
    let Some(bell) = BELL.get() else { return };
    let mut byte = 0_u8;
    // SAFETY: the byte is written to the variable.
    while unsafe { libc::read(bell[0], (&raw mut byte).cast(), 1) } != 1 {}
    // SAFETY: the thread that crashed waits in that call, so what it noted is there.
    let call = unsafe { &*CRASHED.load(Ordering::Acquire) };
    let signal = SIGNAL.load(Ordering::Acquire);
    ending::restore();
    let what = slogan(call, signal);
    let _ = writeln!(std::io::stderr(), "{what}");
    // From here on a fault ends the machine at once: arguments may be wild, too.
    for other in SIGNALS {
        // SAFETY: back to what the system does.
        unsafe { libc::signal(other, libc::SIG_DFL) };
    }
    let shown = arguments(call);
    let _ = writeln!(std::io::stderr(), "{shown}");
    ending::dump(&format!("{what}; {shown}"), false);
    // SAFETY: ends the machine by the signal.
    unsafe { libc::kill(libc::getpid(), signal) };
}

fn slogan(call: &Running, signal: i32) -> String {
    // SAFETY: the system's names of signals last.
    let name = unsafe { libc::strsignal(signal).cast_const() };
    let name = if name.is_null() {
        signal.to_string()
    } else {
        // SAFETY: as above.
        unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
    };
    format!("Native library crashed ({name}) in {}", describe(call))
}

/// The function of a call, with its library.
pub fn describe(call: &Running) -> String {
    let library = Function::of(call.function).hold();
    let path = library.map_or_else(String::new, |library| format!(" of {}", library.path));
    let export = call.function.export;
    let name = |atom| text::to_string(atom);
    format!("{}:{}/{}{path}", name(export.module), name(export.name), export.arity)
}

fn arguments(call: &Running) -> String {
    let shown = |term: &Term| {
        let text = text::to_string(*term);
        match text.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    };
    let all: Vec<String> = call.arguments().iter().map(shown).collect();
    format!("arguments: [{}]", all.join(","))
}
