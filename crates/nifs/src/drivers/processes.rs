//! What drivers ask of processes and of the environment.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use atoll_platform::environment;
use atoll_term::Term;

use crate::abi::Monitor;
use crate::drivers::layout::Handle;
use crate::drivers::port::current;
use crate::env::enter_machine;
use crate::monitors;

#[unsafe(no_mangle)]
extern "C" fn driver_monitor_process(port: Handle, process: Term, monitor: &mut Monitor) -> c_int {
    enter_machine();
    let id = current(port, |port, _, linked| linked.entry().process_exit.is_some().then_some(port.id)).flatten();
    let Some(id) = id else { return -1 };
    match monitors::of_port(id, process) {
        Some(made) => {
            *monitor = made;
            0
        }
        None => 1,
    }
}

#[unsafe(no_mangle)]
extern "C" fn driver_demonitor_process(port: Handle, monitor: &Monitor) -> c_int {
    enter_machine();
    let is_there = current(port, |_, _, _| ()).is_some() && monitors::remove(monitor);
    (!is_there).into()
}

/// The process, the driver's word for no term if the monitor is gone.
#[unsafe(no_mangle)]
extern "C" fn driver_get_monitored_process(port: Handle, monitor: &Monitor) -> Term {
    enter_machine();
    let process = current(port, |_, _, _| monitors::watched_by(monitor)).flatten();
    process.unwrap_or(Term::NIL)
}

#[unsafe(no_mangle)]
extern "C" fn driver_compare_monitors(one: &Monitor, other: &Monitor) -> c_int {
    one.cmp(other) as c_int
}

/// The text of a string of C's.
fn text(string: *const c_char) -> OsString {
    // SAFETY: the driver gives a string.
    OsString::from_vec(unsafe { CStr::from_ptr(string) }.to_bytes().to_vec())
}

/// 0: the value is at `value`, with a zero behind it, and `size` is its length. Positive: `size` is how much room that
/// needs. Negative: there is no such variable.
#[unsafe(no_mangle)]
extern "C" fn erl_drv_getenv(name: *const c_char, value: *mut c_char, size: &mut usize) -> c_int {
    enter_machine();
    let name = text(name);
    let found = environment::all().into_iter().find(|(own, _)| *own == name);
    let Some(found) = found.map(|(_, value)| value) else { return -1 };
    let bytes = found.as_bytes();
    if bytes.len() >= *size {
        *size = bytes.len() + 1;
        return 1;
    }
    // SAFETY: the driver has said that there is so much room.
    unsafe {
        value.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        *value.add(bytes.len()) = 0;
    }
    *size = bytes.len();
    0
}

#[unsafe(no_mangle)]
extern "C" fn erl_drv_putenv(name: *const c_char, value: *const c_char) -> c_int {
    enter_machine();
    let name = text(name);
    if name.is_empty() || OsStr::as_bytes(&name).contains(&b'=') {
        return -1;
    }
    environment::set(name, text(value));
    0
}
