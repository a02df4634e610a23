//! `erts_debug:dirty_cpu/2`, `dirty_io/2`, `dirty/3`: functions by which OTP's test suites keep a thread busy that is
//! no scheduler.

use std::time::Duration;

use atoll_heap::architecture;
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, System, badarg};
use atoll_term::{Build, Term, atoms};

use crate::dirty;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_debug", "dirty_cpu", 2, dirty_cpu),
    BuiltIn::new("erts_debug", "dirty_io", 2, dirty_io),
    BuiltIn::new("erts_debug", "dirty", 3, dirty_3),
];

/// Highest argument of `reschedule`.
const MOST_TIMES: i64 = 1000;
/// Longest time in milliseconds that `wait` takes.
const LONGEST: u64 = 60_000;
/// How long it takes until `ready_wait6_done` is done.
const SIX_SECONDS: Duration = Duration::from_secs(6);
/// Time between two looks whether the process is still there.
const LOOK: Duration = Duration::from_millis(5);

fn dirty_cpu(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    perform(caller, "dirty_cpu", arguments, arguments)
}

fn dirty_io(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    perform(caller, "dirty_io", arguments, arguments)
}

fn dirty_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let kind = atoms::name_if_atom(arguments[0]);
    if !matches!(kind, "normal" | "dirty_cpu" | "dirty_io") {
        return Err(badarg());
    }
    perform(caller, kind, &arguments[1..], arguments)
}

/// Does what the first of two arguments says; `all` are those of the call.
fn perform(caller: &mut Caller<'_>, kind: &str, arguments: &[Term], all: &[Term]) -> Outcome {
    let &[what, value] = arguments else { return Err(badarg()) };
    match (atoms::name_if_atom(what), atoms::name_if_atom(value)) {
        ("scheduler", "type") => Ok(atoms::atom(kind)?),
        ("error", "badarg" | "undef" | "badarith" | "system_limit" | "noproc") => Err(Exception::error(value).into()),
        ("error", _) => Err(badarg()),
        ("reschedule", _) => match value.as_small() {
            Some(0..=MOST_TIMES) => Err(Interrupt::Yield(atoms::OK)),
            _ => Err(badarg()),
        },
        ("copy", _) => Ok(value),
        ("send", _) => tell(caller, value, None).map(|()| atoms::OK),
        ("wait", _) => {
            let time = value.as_small().and_then(|time| u64::try_from(time).ok()).ok_or_else(badarg)?;
            away(caller, all, move || std::thread::sleep(Duration::from_millis(time.min(LONGEST)))).map(|_| atoms::OK)
        }
        ("alive_waitexiting", _) => {
            if let Some(()) = dirty::result(caller, all)? {
                return Ok(atoms::OK);
            }
            tell(caller, value, Some("alive"))?;
            let pid = caller.process.pid;
            Err(dirty::start(caller, all, move || {
                while System::get().table.contains(pid) {
                    std::thread::sleep(LOOK);
                }
            }))
        }
        ("ready_wait6_done", _) => {
            if let Some(()) = dirty::result(caller, all)? {
                return tell(caller, value, Some("done")).map(|()| atoms::OK);
            }
            tell(caller, value, Some("ready"))?;
            Err(dirty::start(caller, all, || std::thread::sleep(SIX_SECONDS)))
        }
        _ => Err(badarg()),
    }
}

fn away(caller: &Caller<'_>, arguments: &[Term], work: impl FnOnce() + Send + 'static) -> Result<(), Interrupt> {
    match dirty::result(caller, arguments)? {
        Some(()) => Ok(()),
        None => Err(dirty::start(caller, arguments, work)),
    }
}

/// Sends a process the own pid, or a pair of a word and it.
fn tell(caller: &mut Caller<'_>, to: Term, tag: Option<&str>) -> Result<(), Interrupt> {
    if !to.is_local_pid() {
        return Err(badarg());
    }
    let me = caller.process.pid;
    let message = match tag {
        Some(tag) => {
            let tag = atoms::atom(tag)?;
            caller.heap().tuple(&[tag, me])
        }
        None => me,
    };
    let fragment = architecture().send(caller.heap(), message);
    System::get().deliver_or_answer(to, atoll_process::sequence::neutral(fragment));
    Ok(())
}
