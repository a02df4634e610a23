//! A crash inside of a library, or inside of machine code that was made of Erlang code: the machine ends by the same
//! signal as without this, but says first which function it was (of a library: with its arguments), and writes a dump.
//!
//! The thread that crashes can do next to nothing: it wakes a thread that was started for this, and waits for the end.

use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::thread::Builder;

use atoll_platform::executable::may_hold;
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
/// Where in generated code it came, if it was not in a library.
static PLACE: AtomicUsize = AtomicUsize::new(0);
/// Names the function that has generated code at an address.
static DESCRIBE: OnceLock<fn(usize) -> Option<String>> = OnceLock::new();
/// The thread that tells of a crash reads a byte from here.
static BELL: OnceLock<[i32; 2]> = OnceLock::new();

/// From now on crashes in generated code are told of, too; `describe` names the function at an address.
pub fn install_for_code(describe: fn(usize) -> Option<String>) {
    let _ = DESCRIBE.set(describe);
    install();
}

/// From now on crashes are told of.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let mut pipe = [0; 2];
        // SAFETY: the two numbers are written to the array.
        if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 || BELL.set(pipe).is_err() {
            return;
        }
        if threads::start(Builder::new().name("crash".to_owned()), wait_for_crash).is_ok() {
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
        action.sa_sigaction = crashed as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
        libc::sigaction(signal, &raw const action, before.as_mut_ptr());
        before.assume_init()
    }
}

/// Puts back what was set for a signal before.
fn put_back(signal: i32) {
    let place = SIGNALS.iter().position(|one| *one == signal);
    match BEFORE.get().zip(place).map(|(all, place)| &all[place]) {
        // SAFETY: an action that was set before.
        Some(before) => unsafe { libc::sigaction(signal, before, null_mut()) },
        None => by_default(signal),
    };
}

/// From now on the system does what it does by default: it ends the machine.
fn by_default(signal: i32) -> i32 {
    // SAFETY: sets what a signal does.
    i32::from(unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR)
}

/// The instruction at which a signal came.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn place_of(context: *mut libc::c_void) -> usize {
    // SAFETY: the system passes a context of this type to handlers that were set with `SA_SIGINFO`.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as usize }
}

/// Nowhere: there is no generated code on this machine.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn place_of(_: *mut libc::c_void) -> usize {
    0
}

/// Whether a signal was sent, by another process or thread, or by this one: it does not come again by itself.
fn was_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the system passes what it knows of the signal.
    unsafe { (*info).si_code <= 0 }
}

extern "C" fn crashed(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let call = running().map_or(null_mut(), |call| std::ptr::from_ref(call).cast_mut());
    let place = if call.is_null() { place_of(context) } else { 0 };
    if call.is_null() && !may_hold(place) {
        // Neither in a library nor in generated code: what would have happened happens when this returns.
        if was_sent(info) {
            // The handler of the standard library waits for a fault to come again, and this one would not.
            by_default(signal);
            // SAFETY: asks the system for a signal.
            unsafe { libc::raise(signal) };
        } else {
            put_back(signal);
        }
        return;
    }
    if SIGNAL.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        CRASHED.store(call, Ordering::Release);
        PLACE.store(place, Ordering::Release);
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
    let signal = SIGNAL.load(Ordering::Acquire);
    // SAFETY: the thread that crashed waits in that call, so what it noted is there.
    let call = unsafe { CRASHED.load(Ordering::Acquire).as_ref() };
    ending::restore();
    let what = match call {
        Some(call) => format!("Native library crashed ({}) in {}", name_of(signal), describe(call)),
        None => {
            let place = PLACE.load(Ordering::Acquire);
            let function = DESCRIBE.get().and_then(|describe| describe(place));
            let function = function.unwrap_or_else(|| format!("an unknown function, at {place:#x}"));
            format!("Machine code crashed ({}) in {function}", name_of(signal))
        }
    };
    let _ = writeln!(std::io::stderr(), "{what}");
    // From here on a fault ends the machine at once: arguments may be wild, too.
    for other in SIGNALS {
        by_default(other);
    }
    let slogan = match call.map(arguments) {
        Some(shown) => {
            let _ = writeln!(std::io::stderr(), "{shown}");
            format!("{what}; {shown}")
        }
        None => what,
    };
    ending::dump(&slogan, false);
    // SAFETY: ends the machine by the signal.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// The system's name of a signal.
fn name_of(signal: i32) -> String {
    // SAFETY: the system's names of signals last.
    let name = unsafe { libc::strsignal(signal).cast_const() };
    if name.is_null() {
        return signal.to_string();
    }
    // SAFETY: as above.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
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
