//! The end of the machine, by whatever way it comes.

use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use crate::memory::Reservation;

/// What is done at the end.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Puts right what others will use afterwards, such as the terminal. May be called at any point, more than once.
    pub restore: fn(),
    /// Writes down what the machine was doing, for an end that nobody wanted: gets the reason, and whether processes
    /// can be read for certain: no collection is in the middle of its work, and none will begin.
    pub dump: fn(&str, bool),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Addresses that are given back when there are no others, so that the dump can be written.
const SET_ASIDE_BYTES: usize = 128 << 20;
/// The time for a dump when the machine cannot go on, in seconds. The thread that crashes may hold a lock that the dump
/// needs.
const DUMP_SECONDS: u32 = 60;

static SET_ASIDE: Mutex<Option<Reservation>> = Mutex::new(None);
/// The thread that is about to end the machine because the machine cannot go on.
static CRASHING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Sets the hooks; the first call counts. From then on a panic of a thread of a machine ends the machine, in builds
/// that unwind as well: other threads would wait for ever for what that thread had in hand.
pub fn install(hooks: Hooks) {
    if HOOKS.set(hooks).is_ok() {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            if crate::threads::machine().is_some() {
                crash_broken(&format!("A thread of the machine {panic}"));
            }
        }));
    }
    if let Ok(mut aside) = SET_ASIDE.lock() {
        *aside = Reservation::new(SET_ASIDE_BYTES).ok();
    }
}

/// Puts right what has to be, and goes on.
pub fn restore() {
    if let Some(hooks) = HOOKS.get() {
        (hooks.restore)();
    }
}

/// Ends the machine at once.
pub fn leave(status: i32) -> ! {
    restore();
    std::process::exit(status)
}

/// Ends the machine at once by the signal `SIGABRT`.
pub fn abort() -> ! {
    restore();
    std::process::abort()
}

/// Says why the machine cannot go on, writes a dump and ends.
pub fn crash(slogan: &str) -> ! {
    restore();
    eprintln!("{slogan}");
    dump(slogan, false);
    leave(1)
}

/// Ends the machine by the signal `SIGABRT`, because what it relies on does not hold: no program can end with this
/// status by itself. Says why and writes a dump first. Of several threads that call this, one is heard.
pub fn crash_broken(slogan: &str) -> ! {
    if is_first_to_crash() {
        end_soon();
        restore();
        // Directly: what tests print with the macro is shown only when they end.
        let _ = writeln!(std::io::stderr(), "{slogan}");
        dump(slogan, false);
    } else {
        std::thread::sleep(Duration::from_secs(DUMP_SECONDS.into()));
    }
    std::process::abort()
}

/// Whether no other thread is about to end the machine.
fn is_first_to_crash() -> bool {
    let own = std::thread::current().id();
    match CRASHING.try_lock() {
        Ok(mut crashing) => *crashing.get_or_insert(own) == own,
        Err(_) => true,
    }
}

/// Whatever keeps a dump from being written, the machine ends.
fn end_soon() {
    // SAFETY: asks the system for a signal later; touches no memory of ours.
    unsafe { libc::alarm(DUMP_SECONDS) };
}

/// Ends the machine as [`crash`] does, because there are no `bytes` for what is named `kind`. What was set aside is
/// given back first.
pub fn crash_for_want_of_memory(kind: &str, bytes: usize) -> ! {
    if !is_first_to_crash() {
        std::thread::sleep(Duration::from_secs(DUMP_SECONDS.into()));
    } else if let Some(aside) = SET_ASIDE.try_lock().ok().and_then(|mut aside| aside.take()) {
        drop(aside);
        end_soon();
        crash(&format!("{kind}: Cannot allocate {bytes} bytes of memory (of type \"{kind}\")."));
    }
    // There is not even memory for the dump.
    let _ = std::io::stderr().write_all(b"\natoll: no memory left\n");
    leave(1)
}

/// Writes a dump, and goes on. `readable` says that the caller is a process, or keeps collectors away otherwise.
pub fn dump(slogan: &str, readable: bool) {
    if let Some(hooks) = HOOKS.get() {
        (hooks.dump)(slogan, readable);
    }
}

/// Whether what started this program had it ignore a signal, as shells do with interrupts of what they run in the
/// background.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null pointer changes nothing; the present action is written to what is large enough for it, and zeroes
    // are one.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
