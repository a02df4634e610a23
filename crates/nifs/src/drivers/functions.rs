//! What drivers ask of their ports.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use atoll_ports::{external, find, poller};
use atoll_process::unique::later_than_before;
use atoll_term::{Term, atoms};

use crate::build_terms::given;
use crate::dirty::{self, Pool};
use crate::drivers::binaries::{Binary, data};
use crate::drivers::layout::{Data, Handle, IoVector};
use crate::drivers::port::{Done, Ending, Linked, NO_LIMIT, current};
use crate::drivers::queue::{bytes_of, shared};
use crate::env::enter_machine;

fn status(done: Option<()>) -> c_int {
    if done.is_some() { 0 } else { -1 }
}

/// Sends the owner bytes, behind others that become a list.
fn tell(port: Handle, head: &[u8], bytes: &[u8]) -> c_int {
    status(current(port, |port, state, linked| match head {
        _ if linked.shared.is_closing.load(Ordering::Acquire) => {}
        [] => port.tell_data(state, bytes),
        _ => port.tell_headed(state, head, Some(bytes)),
    }))
}

#[unsafe(no_mangle)]
extern "C" fn driver_output(port: Handle, bytes: *const u8, length: usize) -> c_int {
    tell(port, &[], given(&bytes, length))
}

#[unsafe(no_mangle)]
extern "C" fn driver_output2(
    port: Handle,
    head: *const u8,
    head_length: usize,
    bytes: *const u8,
    length: usize,
) -> c_int {
    tell(port, given(&head, head_length), given(&bytes, length))
}

#[unsafe(no_mangle)]
extern "C" fn driver_output_binary(
    port: Handle,
    head: *const u8,
    head_length: usize,
    binary: NonNull<Binary>,
    from: usize,
    length: usize,
) -> c_int {
    let first = data(binary).wrapping_add(from).cast_const();
    tell(port, given(&head, head_length), given(&first, length))
}

#[unsafe(no_mangle)]
extern "C" fn driver_outputv(
    port: Handle,
    head: *const u8,
    head_length: usize,
    vector: &IoVector,
    skip: usize,
) -> c_int {
    tell(port, given(&head, head_length), &bytes_of(vector, skip))
}

#[unsafe(no_mangle)]
extern "C" fn driver_set_timer(port: Handle, milliseconds: c_ulong) -> c_int {
    let after = Duration::from_millis(milliseconds);
    let started = current(port, |port, _, linked| {
        linked.timer.take().into_iter().for_each(|(timer, _)| poller::cancel_timer(timer));
        linked.timers = linked.timers.wrapping_add(1);
        linked.timer = poller::start_timer(port.id, after, linked.timers).map(|timer| (timer, Instant::now() + after));
        linked.timer.is_some()
    });
    status(started.filter(|started| *started).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn driver_cancel_timer(port: Handle) -> c_int {
    status(current(port, |_, _, linked| {
        linked.timer.take().into_iter().for_each(|(timer, _)| poller::cancel_timer(timer));
    }))
}

#[unsafe(no_mangle)]
extern "C" fn driver_read_timer(port: Handle, left: &mut c_ulong) -> c_int {
    let due = current(port, |_, _, linked| linked.timer.as_ref().map(|(_, due)| *due));
    status(due.map(|due| {
        let rest = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()));
        *left = rest.as_millis() as c_ulong;
    }))
}

fn end(port: Handle, ending: Ending) -> c_int {
    status(current(port, |_, _, linked| linked.ending = Some(ending)))
}

/// A port of a driver that says so itself has been opened, with these data, or has not.
#[unsafe(no_mangle)]
extern "C" fn erl_drv_init_ack(port: Handle, data: Data) {
    current(port, |port, state, linked| linked.opened(port, state, data));
}

#[unsafe(no_mangle)]
extern "C" fn driver_failure_eof(port: Handle) -> c_int {
    end(port, Ending::Eof)
}

#[unsafe(no_mangle)]
extern "C" fn driver_failure_atom(port: Handle, name: *const c_char) -> c_int {
    match atom(name) {
        Some(reason) => end(port, Ending::Because(reason)),
        None => -1,
    }
}

/// The name of an error of the system's, as OTP writes it.
fn error_text(error: c_int) -> String {
    atoms::atom_name(atoll_ports::error_name(error)).to_owned()
}

#[unsafe(no_mangle)]
extern "C" fn driver_failure_posix(port: Handle, error: c_int) -> c_int {
    end(port, Ending::Because(atoll_ports::error_name(error)))
}

#[unsafe(no_mangle)]
extern "C" fn driver_failure(port: Handle, code: c_int) -> c_int {
    end(port, if code == 0 { Ending::Eof } else { Ending::Because(Term::small(code.into())) })
}

#[unsafe(no_mangle)]
extern "C" fn driver_exit(port: Handle, error: c_int) -> c_int {
    let reason = if error == 0 { atoms::NORMAL } else { atoll_ports::error_name(error) };
    end(port, Ending::Because(reason))
}

/// Lasts, as drivers expect of it; each name is made once.
#[unsafe(no_mangle)]
extern "C" fn erl_errno_id(error: c_int) -> *const c_char {
    thread_local! {
        static NAMES: std::cell::RefCell<std::collections::HashMap<c_int, &'static CStr>> = Default::default();
    }
    NAMES.with_borrow_mut(|names| {
        let named = || Box::leak(CString::new(error_text(error)).unwrap_or_default().into_boxed_c_str()) as &CStr;
        names.entry(error).or_insert_with(named).as_ptr()
    })
}

/// Of any port: drivers say it of one port in a call of another.
#[unsafe(no_mangle)]
extern "C" fn set_busy_port(port: Handle, on: c_int) {
    let Some(shared) = shared(port) else { return };
    shared.is_busy.store(on != 0, Ordering::Release);
    if on == 0 && current(port, |_, _, _| ()).is_none() {
        // SAFETY: the handle was found, so it is a port's term.
        atoll_ports::look_again(unsafe { Term::from_word(port) });
    }
}

/// Sets and tells the limits of what waits for a port: a number of 0 is only told, and one that is not given is left.
#[unsafe(no_mangle)]
extern "C" fn erl_drv_busy_msgq_limits(port: Handle, low: Option<&mut usize>, high: Option<&mut usize>) {
    current(port, |_, _, linked| {
        let limits = &mut linked.limits;
        let new = [&low, &high].map(|limit| limit.as_ref().map_or(0, |limit| **limit));
        if new.contains(&NO_LIMIT) {
            // The driver's own numbers stay as they are.
            *limits = [NO_LIMIT; 2];
            return;
        }
        if limits[0] != NO_LIMIT {
            if new[0] != 0 {
                *limits = [new[0], limits[1].max(new[0])];
            }
            if new[1] != 0 {
                *limits = [limits[0].min(new[1]), new[1]];
            }
        }
        for (place, limit) in [low, high].into_iter().zip(*limits) {
            place.into_iter().for_each(|place| *place = limit);
        }
    });
}

/// The time as `erlang:now/0` tells it: megaseconds, seconds, microseconds.
#[unsafe(no_mangle)]
extern "C" fn driver_get_now(place: Option<&mut [c_ulong; 3]>) -> c_int {
    enter_machine();
    status(place.map(|place| {
        let microseconds = later_than_before(atoll_bifs::system_nanoseconds() / 1_000) as c_ulong;
        let seconds = microseconds / 1_000_000;
        *place = [seconds / 1_000_000, seconds % 1_000_000, microseconds % 1_000_000];
    }))
}

#[unsafe(no_mangle)]
extern "C" fn set_port_control_flags(port: Handle, flags: c_int) {
    current(port, |_, _, linked| linked.flags = flags);
}

/// 1: the port's data are binaries, 2: lines.
#[unsafe(no_mangle)]
extern "C" fn get_port_flags(port: Handle) -> c_int {
    current(port, |port, _, _| c_int::from(port.settings.binary)).unwrap_or(0)
}

fn atom(name: *const c_char) -> Option<Term> {
    // SAFETY: the driver gives a string.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    atoms::atom(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>()).ok()
}

#[unsafe(no_mangle)]
extern "C" fn driver_mk_atom(name: *const c_char) -> Term {
    atom(name).unwrap_or(atoms::BADARG)
}

/// A handle is the port's term.
#[unsafe(no_mangle)]
extern "C" fn driver_mk_port(port: Handle) -> Handle {
    port
}

#[unsafe(no_mangle)]
extern "C" fn driver_mk_term_nil() -> Term {
    Term::NIL
}

/// `driver_term_nil`
#[unsafe(export_name = "driver_term_nil")]
static TERM_NIL: u64 = Term::NIL.word();

/// The word that a driver takes for no term.
fn or_none(pid: Option<Term>) -> Term {
    pid.unwrap_or(Term::NONE)
}

#[unsafe(no_mangle)]
extern "C" fn driver_connected(port: Handle) -> Term {
    or_none(current(port, |_, state, _| state.connected))
}

#[unsafe(no_mangle)]
extern "C" fn driver_caller(port: Handle) -> Term {
    or_none(current(port, |_, state, _| state.caller))
}

/// A port of the driver whose function is called; what it gets is not -1 if there can be one.
#[unsafe(no_mangle)]
extern "C" fn driver_create_port(port: Handle, owner: Term, name: *const c_char, place: Data) -> Handle {
    let Some(loaded) = current(port, |_, _, linked| linked.loaded()).flatten() else { return Handle::MAX };
    // SAFETY: the driver gives a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let made = owner.is_local_pid().then(|| atoll_ports::make(name, owner, Box::new(Linked::made(loaded, place))));
    made.flatten().map_or(Handle::MAX, Term::word)
}

#[unsafe(no_mangle)]
extern "C" fn driver_lock_driver(port: Handle) -> c_int {
    let loaded = current(port, |_, _, linked| linked.loaded()).flatten();
    status(loaded.filter(|loaded| external::lock(loaded.name)).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn erl_drv_set_os_pid(port: Handle, pid: isize) {
    current(port, |_, _, linked| linked.os_pid = u32::try_from(pid).ok());
}

#[unsafe(no_mangle)]
extern "C" fn driver_async_port_key(port: Handle) -> c_uint {
    (port >> 6) as c_uint
}

/// Does this when what goes before it with the same key is done.
fn in_order(loaded: &std::sync::Arc<super::Loaded>, key: u32, job: Box<dyn FnOnce() + Send>) {
    let mut waiting = loaded.waiting.lock();
    if let Some(line) = waiting.get_mut(&key) {
        line.push_back(job);
        return;
    }
    waiting.insert(key, std::collections::VecDeque::new());
    drop(waiting);
    let loaded = loaded.clone();
    let work = move || {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            job();
            let mut waiting = loaded.waiting.lock();
            next = waiting.get_mut(&key).and_then(std::collections::VecDeque::pop_front);
            if next.is_none() {
                waiting.remove(&key);
            }
        }
    };
    dirty::start(Pool::InputOutput, Box::new(work));
}

#[unsafe(no_mangle)]
extern "C" fn driver_async(
    port: Handle,
    key: Option<&c_uint>,
    invoke: unsafe extern "C" fn(*mut c_void),
    place: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_long {
    let Some((id, loaded)) = current(port, |port, _, linked| Some((port.id, linked.loaded()?))).flatten() else {
        return -1;
    };
    let done = Done { data: place, free };
    let held = loaded.clone();
    let job = Box::new(move || {
        let done = done;
        // SAFETY: the driver's own function gets its own data.
        unsafe { invoke(done.data) };
        let mut done = Some(done);
        if let Some(port) = find(id) {
            port.with(|port, state, driver| {
                done.take().into_iter().for_each(|done| driver.told(port, state, Box::new(done)));
            });
        }
        done.into_iter().for_each(Done::give_up);
        drop(held);
    });
    match key {
        Some(key) => in_order(&loaded, *key, job),
        None => dirty::start(Pool::InputOutput, job),
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn erl_drv_consume_timeslice(_: Handle, percent: c_int) -> c_int {
    enter_machine();
    // A port works in its caller's slice, which is charged for it.
    atoll_heap::debt::owe_words(percent.clamp(1, 100) as usize * SLICE_WORDS / 100);
    0
}

/// Words whose copy costs a time slice.
const SLICE_WORDS: usize = 32_000;
