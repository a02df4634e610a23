//! A port of a driver that was loaded: its calls of the driver's functions.

use std::any::Any;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use atoll_ports::poller::{self, Timer};
use atoll_ports::{Driver, Event, Failure, Port, State};
use atoll_term::Term;

use crate::abi::IoPiece;
use crate::build_terms::given;
use crate::drivers::Loaded;
use crate::drivers::binaries::{Binary, data, driver_free_binary, of};
use crate::drivers::layout::{Data, Entry, Handle, IoVector};
use crate::drivers::queue::{Queue, Shared};
use crate::drivers::select::{self, Ready};
use crate::env::enter_thread;
use crate::monitors::{self, Ended};

/// Room that a driver gets for the answer of `control` and `call`.
const ANSWER: usize = 256;
/// `control` answers with binaries.
pub const BINARY: c_int = 1;
/// `call` keeps the memory of its answer.
const KEEPS_ANSWER: c_uint = 1;

/// A driver's flag: no sender waits because much has been sent to a port.
const NO_LIMITS: c_int = 4;
const SOFT_BUSY: c_int = 2;
/// A driver's flag: it says later whether a port has been opened.
const USES_INIT_ACK: c_int = 8;

/// Bytes of commands that wait for a port: with the second number senders wait, with the first they go on. Commands do
/// not wait here, because the sender's thread carries them out, so only drivers see these numbers.
const USUAL_LIMITS: [usize; 2] = [4096, 8192];
/// In the place of such a number: there are none, from now on.
pub const NO_LIMIT: usize = usize::MAX;

/// What a driver's `start` returns instead of its data.
const GENERAL_ERROR: isize = -1;
const ERROR_IN_ERRNO: isize = -2;
const BAD_ARGUMENT: isize = -3;

/// How a driver ends its port.
#[derive(Clone, Copy)]
pub enum Ending {
    /// Nothing more can be read.
    Eof,
    /// With this reason (immediate).
    Because(Term),
    /// It has not been opened.
    NotOpened(Failure),
}

/// Work beside the schedulers is done: what `ready_async` gets, and what gives that up.
pub struct Done {
    pub data: *mut c_void,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: whose it is passes from thread to thread with it.
unsafe impl Send for Done {}

impl Done {
    /// Nobody is there who wants it.
    pub fn give_up(self) {
        if let Some(free) = self.free {
            // SAFETY: the driver's own function for its own data.
            unsafe { free(self.data) };
        }
    }
}

/// A port of a driver.
pub struct Linked {
    loaded: Option<Arc<Loaded>>,
    entry: NonNull<Entry>,
    command: CString,
    data: Data,
    is_started: bool,
    pub shared: Arc<Shared>,
    pub flags: c_int,
    /// Whether the last `control` has answered at all: no answer is an empty list.
    has_answer: bool,
    /// Whether its driver takes more although it is busy, if it has to.
    is_softly_busy: bool,
    pub ending: Option<Ending>,
    /// The one timer: its number, and when it is due.
    pub timer: Option<(Timer, Instant)>,
    pub timers: u32,
    /// The process of the system that the driver says the port speaks to.
    pub os_pid: Option<u32>,
    /// The lower and the higher limit of what waits for the port.
    pub limits: [usize; 2],
}

// SAFETY: the driver's functions are called by one thread at a time, under the port's lock.
unsafe impl Send for Linked {}

/// The port for which this thread calls a function of its driver.
struct Current {
    port: *const Port,
    state: *mut State,
    linked: *mut Linked,
}

thread_local! {
    static CURRENT: Cell<*const Current> = const { Cell::new(std::ptr::null()) };
}

/// Works with the port of this handle, if this thread is in a call of a function of its driver.
pub fn current<R>(handle: Handle, work: impl FnOnce(&Port, &mut State, &mut Linked) -> R) -> Option<R> {
    // SAFETY: the call, whose variables these are, waits for the function of the driver that has called this.
    unsafe {
        let current = CURRENT.get().as_ref()?;
        let port = &*current.port;
        (port.id.word() == handle).then(|| work(port, &mut *current.state, &mut *current.linked))
    }
}

impl Linked {
    pub fn new(loaded: Arc<Loaded>, command: CString) -> Linked {
        let flags = loaded.entry().flags;
        let (has_limits, is_softly_busy) = (flags & NO_LIMITS == 0, flags & SOFT_BUSY != 0);
        Linked {
            entry: loaded.entry,
            loaded: Some(loaded),
            command,
            data: null_mut(),
            is_started: false,
            shared: Arc::default(),
            flags: 0,
            has_answer: true,
            is_softly_busy,
            ending: None,
            timer: None,
            timers: 0,
            os_pid: None,
            limits: if has_limits { USUAL_LIMITS } else { [NO_LIMIT; 2] },
        }
    }

    /// A port that its driver makes: it has begun, with these data.
    pub fn made(loaded: Arc<Loaded>, data: Data) -> Linked {
        Linked { data, is_started: true, ..Linked::new(loaded, CString::default()) }
    }

    /// The driver, while the port is open.
    pub fn loaded(&self) -> Option<Arc<Loaded>> {
        self.loaded.clone()
    }

    pub fn entry(&self) -> &'static Entry {
        // SAFETY: used while the driver is loaded, which this keeps it until its end.
        unsafe { &*self.entry.as_ptr() }
    }

    /// The port that its driver has not called opened yet is opened, or is not.
    pub fn opened(&mut self, port: &Port, state: &mut State, data: Data) {
        if state.opening.is_none() {
            return;
        }
        match failure_in(data) {
            Some(failure) => self.ending = Some(Ending::NotOpened(failure)),
            None => {
                self.data = data;
                port.opened(state);
            }
        }
    }

    /// Calls a function of the driver; ends the port afterwards if that has asked for it.
    fn enter<R>(&mut self, port: &Port, state: &mut State, call: impl FnOnce(Data) -> R) -> R {
        let result = self.enter_only(port, state, call);
        match self.ending.take() {
            Some(Ending::Eof) => port.reached_end(state, self),
            Some(Ending::Because(reason)) => port.end(state, self, reason),
            Some(Ending::NotOpened(failure)) => port.not_opened(state, self, failure),
            None => {}
        }
        result
    }

    fn enter_only<R>(&mut self, port: &Port, state: &mut State, call: impl FnOnce(Data) -> R) -> R {
        let data = self.data;
        let current = Current { port, state, linked: self };
        let before = CURRENT.replace(&raw const current);
        // As in a scheduler: the machine's time is told there.
        let kind = enter_thread(1);
        let result = call(data);
        drop(kind);
        CURRENT.set(before);
        result
    }

    fn forget_timer(&mut self) {
        if let Some((timer, _)) = self.timer.take() {
            poller::cancel_timer(timer);
        }
    }
}

impl Driver for Linked {
    fn start(&mut self, port: &Port, state: &mut State) -> Result<(), Failure> {
        self.is_started = true;
        let (start, command) = (self.entry().start, self.command.as_ptr().cast_mut());
        let Some(start) = start else { return Ok(()) };
        let handle = port.id.word();
        // SAFETY: the driver's own function gets what it expects.
        let (data, failure) = self.enter_only(port, state, |_| unsafe {
            let data = start(handle, command);
            (data, failure_in(data))
        });
        self.is_started = failure.is_none();
        match failure {
            Some(failure) => Err(failure),
            None => {
                self.data = data;
                // Nothing else is called before this returns; an end that it has asked for comes now.
                self.enter(port, state, |_| ());
                Ok(())
            }
        }
    }

    fn output(&mut self, port: &Port, state: &mut State, bytes: Vec<u8>) -> Result<(), rustix::io::Errno> {
        let entry = self.entry();
        if let Some(output) = entry.output_vector {
            let Some(binary) = of(&bytes) else { return Err(rustix::io::Errno::NOMEM) };
            // The first piece is room for a head.
            let mut pieces =
                [IoPiece { base: null_mut(), length: 0 }, IoPiece { base: data(binary).cast(), length: bytes.len() }];
            let mut binaries = [null_mut(), binary.as_ptr()];
            let count = if bytes.is_empty() { 1 } else { 2 };
            let mut vector =
                IoVector { count, size: bytes.len(), pieces: pieces.as_mut_ptr(), binaries: binaries.as_mut_ptr() };
            // SAFETY: the driver's own function gets a vector that lasts as long as the call.
            self.enter(port, state, |data| unsafe { output(data, &raw mut vector) });
            driver_free_binary(Some(binary));
        } else if let Some(output) = entry.output {
            let mut bytes = bytes;
            // SAFETY: as above, with the bytes.
            self.enter(port, state, |data| unsafe { output(data, bytes.as_mut_ptr().cast(), bytes.len()) });
        }
        Ok(())
    }

    fn ready(&mut self, _: &Port, _: &mut State, _: Event) -> Result<(), rustix::io::Errno> {
        Ok(())
    }

    fn told(&mut self, port: &Port, state: &mut State, what: Box<dyn Any + Send>) {
        let entry = self.entry();
        let what = match what.downcast::<Ready>() {
            Ok(ready) => {
                let Ready(number, event) = *ready;
                let call = if event == Event::Output { entry.ready_output } else { entry.ready_input };
                match call {
                    Some(call) if select::is_wanted(port.id, number, event) => {
                        let waited = number as usize as *mut c_void;
                        // SAFETY: the driver's own function, for its own descriptor.
                        self.enter(port, state, |data| unsafe { call(data, waited) });
                    }
                    Some(_) => {}
                    // It would be ready again and again.
                    None => select::ignore(port.id, number, event),
                }
                return;
            }
            Err(what) => what,
        };
        let what = match what.downcast::<Ended>() {
            Ok(ended) => {
                let mut monitor = ended.0;
                if let Some(process_exit) = entry.process_exit {
                    // SAFETY: the driver's own function.
                    self.enter(port, state, |data| unsafe { process_exit(data, &raw mut monitor) });
                }
                return;
            }
            Err(what) => what,
        };
        if let Ok(done) = what.downcast::<Done>() {
            match entry.ready_async {
                // SAFETY: the driver's own function gets its own data.
                Some(ready) => self.enter(port, state, |data| unsafe { ready(data, done.data) }),
                None => done.give_up(),
            }
        }
    }

    fn timeout(&mut self, port: &Port, state: &mut State, number: u32) -> Result<(), rustix::io::Errno> {
        if number == self.timers
            && self.timer.take().is_some()
            && let Some(timeout) = self.entry().timeout
        {
            // SAFETY: the driver's own function.
            self.enter(port, state, |data| unsafe { timeout(data) });
        }
        Ok(())
    }

    fn control(&mut self, port: &Port, state: &mut State, operation: u32, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(control) = self.entry().control else { return Err(Failure::BadArgument) };
        let (mut bytes, mut room) = (bytes.to_vec(), [0_u8; ANSWER]);
        let first: *mut c_char = room.as_mut_ptr().cast();
        let mut answer = first;
        // SAFETY: the driver's own function gets memory of these sizes.
        let length = self.enter(port, state, |data| unsafe {
            control(data, operation, bytes.as_mut_ptr().cast(), bytes.len(), &raw mut answer, ANSWER)
        });
        let Ok(length) = usize::try_from(length) else { return Err(Failure::BadArgument) };
        self.has_answer = !answer.is_null();
        if answer == first {
            return Ok(room.get(..length).unwrap_or_default().to_vec());
        }
        if self.flags & BINARY != 0 {
            let Some(binary) = NonNull::new(answer.cast::<Binary>()) else { return Ok(Vec::new()) };
            // All of it is the answer, whatever length was returned.
            // SAFETY: the driver gives a binary that it has made.
            let length = usize::try_from(unsafe { binary.as_ref() }.size).unwrap_or(0);
            let found = given(&data(binary).cast_const(), length).to_vec();
            driver_free_binary(Some(binary));
            return Ok(found);
        }
        Ok(taken(answer, length))
    }

    fn call(&mut self, port: &Port, state: &mut State, operation: u32, term: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(call) = self.entry().call else { return Err(Failure::BadArgument) };
        let (mut term, mut room, mut flags) = (term.to_vec(), [0_u8; ANSWER], 0);
        let first: *mut c_char = room.as_mut_ptr().cast();
        let mut answer = first;
        // SAFETY: as above.
        let length = self.enter(port, state, |data| unsafe {
            let (bytes, length) = (term.as_mut_ptr().cast(), term.len());
            call(data, operation, bytes, length, &raw mut answer, ANSWER, &raw mut flags)
        });
        let Ok(length) = usize::try_from(length) else { return Err(Failure::BadArgument) };
        if answer == first {
            return Ok(room.get(..length).unwrap_or_default().to_vec());
        }
        if flags & KEEPS_ANSWER != 0 {
            return Ok(given(&answer.cast::<u8>().cast_const(), length).to_vec());
        }
        Ok(taken(answer, length))
    }

    fn answers_in_binaries(&self) -> bool {
        self.flags & BINARY != 0 && self.has_answer
    }

    fn pending(&self) -> usize {
        self.shared.queue.lock().bytes()
    }

    fn closing(&mut self, port: &Port, state: &mut State) {
        if self.pending() == 0 {
            return;
        }
        self.shared.is_closing.store(true, Ordering::Release);
        if let Some(flush) = self.entry().flush {
            // SAFETY: the driver's own function.
            self.enter(port, state, |data| unsafe { flush(data) });
        }
    }

    fn can_be_forced(&self) -> bool {
        self.is_softly_busy
    }

    fn is_busy(&self) -> bool {
        self.shared.is_busy.load(Ordering::Acquire)
    }

    fn is_free_again(&self) -> bool {
        !self.shared.is_busy.load(Ordering::Acquire)
    }

    fn library(&self) -> Option<&'static str> {
        self.loaded.as_ref().map(|loaded| loaded.name)
    }

    fn os_pid(&self) -> Option<u32> {
        self.os_pid
    }

    fn monitors(&self, port: &Port) -> Vec<Term> {
        monitors::by_port(port.id)
    }

    fn shared(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.shared.clone())
    }

    fn opens_later(&self) -> bool {
        self.entry().flags & USES_INIT_ACK != 0
    }

    fn stop(&mut self, port: &Port, _: &mut State) {
        self.forget_timer();
        monitors::forget_port(port.id);
    }

    fn ended(&mut self, port: &Port, state: &mut State) {
        state.caller = Term::NIL;
        if let Some(stop) = self.entry().stop.filter(|_| self.is_started) {
            // SAFETY: the driver's own function, called last for this port.
            self.enter_only(port, state, |data| unsafe { stop(data) });
        }
        select::forget_port(port.id, self.entry().stop_select);
        *self.shared.queue.lock() = Queue::default();
        self.forget_timer();
        // The file may go now.
        self.loaded = None;
    }
}

/// The failure that a driver gives in the place of its data.
fn failure_in(data: Data) -> Option<Failure> {
    match data as isize {
        ERROR_IN_ERRNO => {
            // SAFETY: the place of this thread's last error is always there.
            let error = unsafe { *libc::__errno_location() };
            Some(Failure::System(rustix::io::Errno::from_raw_os_error(error)))
        }
        GENERAL_ERROR => Some(Failure::System(rustix::io::Errno::INVAL)),
        BAD_ARGUMENT => Some(Failure::BadArgument),
        _ => None,
    }
}

/// The bytes of an answer in memory of the C library's, which is given back.
fn taken(answer: *mut c_char, length: usize) -> Vec<u8> {
    if answer.is_null() {
        return Vec::new();
    }
    let bytes = given(&answer.cast::<u8>().cast_const(), length).to_vec();
    // SAFETY: the driver has allocated it and gives it away.
    unsafe { libc::free(answer.cast()) };
    bytes
}
