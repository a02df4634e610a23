//! A port: its owner, the processes that are linked to it and monitor it, and its end.

use std::any::Any;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{Message, Stored};
use atoll_process::microstates::{self, charged};
use atoll_process::sequence::{self, Mark};
use atoll_process::{ReferenceId, Signal, System, profile, signal, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{AtomicImmediate, Build, Immediate, ScratchHeap, Term, atoms};
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::channel::Channel;
use crate::deferred;
use crate::driver::{self, Driver, Event, Failure};
use crate::errors::error_name;
use crate::library;
use crate::open::Settings;
use crate::part::part;
use crate::poller::{self, Target};
use crate::table;
use crate::traced::Traced;

/// A monitor on a port.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    /// The monitor.
    pub reference: ReferenceId,
    /// Pid of the watcher.
    pub watcher: Term,
    /// Name by which it watches, or `NONE`.
    pub name: Term,
    /// Head of its message.
    pub tag: Term,
}

/// What a port's lock guards beside the driver.
pub struct State {
    /// The owner (local pid).
    pub connected: Term,
    /// Pids linked to it.
    pub links: Vec<Term>,
    /// Monitors on it.
    pub monitors: Vec<Monitor>,
    /// Bytes received so far.
    pub input: u64,
    /// Bytes sent so far.
    pub output: u64,
    /// `port_set_data`
    pub data: Option<Stored>,
    /// Processes that wait until the port is not busy any more.
    pub suspended: Vec<Term>,
    /// Who gives the present command (local pid).
    pub caller: Term,
    /// Closing was asked for; what is not written yet is written first.
    pub closing: bool,
    /// The connection to another node that it carries.
    pub channel: Option<Arc<dyn Channel>>,
    /// Who opens it (local pid), and waits for an answer with this reference.
    pub opening: Option<(ReferenceId, Term)>,
}

impl State {
    /// Counts bytes received.
    pub fn received(&mut self, bytes: usize) {
        self.input += bytes as u64;
        part().carried[0].fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output += bytes as u64;
        part().carried[1].fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A port.
pub struct Port {
    /// Its term (local).
    pub id: Term,
    /// What it was opened with.
    pub name: String,
    /// How it was opened.
    pub settings: Settings,
    /// The name by which its driver was loaded, if it had to be.
    pub library: Option<&'static str>,
    /// What its driver lets other threads use without the lock.
    pub shared: Option<Arc<dyn Any + Send + Sync>>,
    /// What it tells its tracer.
    pub traced: Traced,
    /// Whether it is open.
    open: AtomicBool,
    /// Whether it only writes what is left: nobody is linked to it any more, and processes do not find it.
    leaving: AtomicBool,
    /// The owner's pid, for a look without the lock.
    owner: AtomicImmediate,
    inside: Mutex<(State, Box<dyn Driver>)>,
}

impl Port {
    /// A port that is in no table yet.
    pub fn new(id: Term, name: String, settings: Settings, connected: Term, driver: Box<dyn Driver>) -> Port {
        let state = State {
            connected,
            links: vec![connected],
            monitors: Vec::new(),
            input: 0,
            output: 0,
            data: None,
            suspended: Vec::new(),
            caller: connected,
            closing: false,
            channel: None,
            opening: None,
        };
        Port {
            id,
            name,
            settings,
            library: driver.library(),
            shared: driver.shared(),
            traced: Traced::default(),
            open: AtomicBool::new(true),
            leaving: AtomicBool::new(false),
            owner: AtomicImmediate::new(Immediate::or_none(connected)),
            inside: Mutex::new((state, driver)),
        }
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Whether it has been closed, and writes what is left.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// The owner.
    pub fn connected(&self) -> Term {
        self.owner.load(Ordering::Acquire).term()
    }

    /// Calls `work` with the port's state and driver, if it is open.
    pub fn with<R>(&self, work: impl FnOnce(&Port, &mut State, &mut dyn Driver) -> R) -> Option<R> {
        let _outer = deferred::begin();
        let mut inside = self.inside.lock();
        if !self.is_open() {
            return None;
        }
        let _working = Working::begin(self.id);
        let (state, driver) = &mut *inside;
        let channel = state.channel.clone();
        let was_pending = channel.is_some() && driver.pending() > 0;
        let result = charged(microstates::State::Port, || work(self, state, &mut **driver));
        if driver.is_free_again() {
            wake(&mut state.suspended);
        }
        if state.closing && driver.pending() == 0 {
            self.end(state, &mut **driver, atoms::NORMAL);
        }
        if let Some(channel) = channel.or_else(|| state.channel.clone()) {
            if was_pending && driver.pending() == 0 {
                channel.drained();
            }
            deferred::work_of(channel);
        }
        Some(result)
    }

    /// Shows the port's state, if it is open and nobody works with it.
    ///
    /// # Errors
    /// That of `show`
    pub fn show<E>(&self, show: &mut dyn FnMut(&Port, &State) -> Result<(), E>) -> Result<(), E> {
        match self.inside.try_lock() {
            Some(inside) if self.is_open() => show(self, &inside.0),
            _ => Ok(()),
        }
    }

    /// Makes another process the owner.
    pub fn set_connected(&self, state: &mut State, pid: Term) {
        state.connected = pid;
        self.owner.store(Immediate::or_none(pid), Ordering::Release);
    }

    /// Closes: at once, or when everything is written. For others it ends now.
    pub fn close(&self) {
        self.with(|port, state, driver| {
            driver.closing(port, state);
            if driver.pending() == 0 {
                port.end(state, driver, atoms::NORMAL);
            } else {
                state.closing = true;
                port.leaving.store(true, Ordering::Release);
                port.trace_closed(atoms::NORMAL);
                table::forget_name(port.id);
                wake(&mut state.suspended);
                port.tell_end(state, atoms::NORMAL);
            }
        });
    }

    /// Ends with a reason, whatever is left to be written.
    pub fn end_now(&self, reason: Term) {
        self.with(|port, state, driver| port.end(state, driver, reason));
    }

    /// Ends of its own accord: the owner has been told, and gets no exit signal.
    pub fn leave(&self, state: &mut State, driver: &mut dyn Driver) {
        if let Some(place) = state.links.iter().position(|linked| *linked == state.connected) {
            state.links.swap_remove(place);
            deliver(state.connected, signal::bare(Signal::Unlink { from: self.id, number: None }));
        }
        self.end(state, driver, atoms::NORMAL);
    }

    /// The end: everything is given back, then others learn of it. `reason` may lie anywhere; nobody keeps it.
    pub fn end(&self, state: &mut State, driver: &mut dyn Driver, reason: Term) {
        if !self.open.swap(false, Ordering::AcqRel) {
            return;
        }
        if !self.is_leaving() {
            self.trace_closed(reason);
        }
        poller::forget(self.id);
        driver.stop(self, state);
        table::remove(self.id);
        if let Some(channel) = state.channel.take() {
            channel.ended(reason);
        }
        wake(&mut state.suspended);
        self.tell_end(state, reason);
        driver.ended(self, state);
        self.library.into_iter().for_each(library::port_ended);
    }

    /// Its name is about to be given up too. `reason` may lie anywhere.
    fn trace_closed(&self, reason: Term) {
        let is_killed = self.traced.is_killed.load(Ordering::Relaxed);
        self.trace(tracing::PORTS, "closed", |_| [if is_killed { atoms::KILL } else { reason }]);
        if self.traced.tracing().is_some()
            && let Some(name) = System::get().names.name_of(self.id)
        {
            self.trace(tracing::PORTS, "unregister", |_| [name]);
        }
    }

    /// The process that opens it waits for an answer, and gets the port: see [`Driver::opens_later`].
    pub fn opened(&self, state: &mut State) {
        self.answer_opening(state, self.id);
    }

    /// The process that opens it waits for an answer, and gets an error: the port ends.
    pub fn not_opened(&self, state: &mut State, driver: &mut dyn Driver, failure: Failure) {
        let Some((_, opener)) = state.opening else { return };
        state.links.retain(|linked| *linked != opener);
        deliver(opener, signal::bare(Signal::Unlink { from: self.id, number: None }));
        self.answer_opening(state, driver::reason(failure));
        self.end(state, driver, atoms::NORMAL);
    }

    fn answer_opening(&self, state: &mut State, answer: Term) {
        if let Some((reference, opener)) = state.opening.take() {
            send(opener, |heap| {
                let reference = reference.term(heap);
                heap.tuple(&[reference, answer])
            });
        }
    }

    /// Tells those who are linked to it or monitor it that it has ended.
    fn tell_end(&self, state: &mut State, reason: Term) {
        // What was never opened is found to have ended.
        self.opened(state);
        for linked in std::mem::take(&mut state.links) {
            let message = Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, self.id, reason]));
            deliver(linked, signal::attach(message, Signal::LinkExit { from: self.id, mark: Mark::Plain }));
        }
        for monitor in std::mem::take(&mut state.monitors) {
            let message = Message::compose(|heap| {
                let reference = monitor.reference.term(heap);
                let object = atoll_process::system::monitored_object(heap, self.id, monitor.name);
                heap.tuple(&[monitor.tag, reference, atoms::PORT, object, reason])
            });
            deliver(monitor.watcher, signal::attach(message, Signal::Down { reference: monitor.reference }));
        }
    }

    /// Sends the owner `{Port, What}`.
    pub fn tell_owner(&self, state: &State, what: impl Fn(&mut ScratchHeap) -> Term) {
        self.tell(state.connected, |heap| {
            let what = what(heap);
            heap.tuple(&[self.id, what])
        });
    }

    /// Sends the owner received bytes, framed as the settings say.
    pub fn tell_data(&self, state: &mut State, bytes: &[u8]) {
        state.received(bytes.len());
        self.tell_owner(state, |heap| {
            let data = self.bytes_term(heap, bytes);
            heap.tuple(&[known_atom("data"), data])
        });
    }

    /// Sends the owner a list of bytes, with bytes as the settings want them for its tail; framed in no way.
    pub fn tell_headed(&self, state: &mut State, head: &[u8], tail: Option<&[u8]>) {
        state.received(head.len() + tail.map_or(0, <[u8]>::len));
        self.tell_owner(state, |heap| {
            let tail = tail.map_or(Term::NIL, |bytes| self.bytes_term(heap, bytes));
            let data = heap.list_with_tail(head.iter().map(|byte| Term::small(i64::from(*byte))), tail);
            heap.tuple(&[known_atom("data"), data])
        });
    }

    /// Bytes as this port's owner wants them.
    pub fn bytes_term(&self, heap: &mut ScratchHeap, bytes: &[u8]) -> Term {
        if self.settings.binary {
            heap.binary(bytes)
        } else {
            heap.list(bytes.iter().map(|byte| Term::small(i64::from(*byte))))
        }
    }

    /// The other side has nothing more to say.
    pub fn reached_end(&self, state: &mut State, driver: &mut dyn Driver) {
        if self.settings.eof {
            self.tell_owner(state, |_| known_atom("eof"));
        } else {
            self.end(state, driver, atoms::NORMAL);
        }
    }

    /// Asks for [`Driver::ready`] to be called when a file descriptor is ready; each time until
    /// [`Port::stop_waiting`]. The descriptor stays open until then, or until [`Driver::stop`].
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait_for(&self, descriptor: BorrowedFd<'_>, event: Event) -> Result<(), Errno> {
        poller::add(Target::Port(self.id), descriptor, event)
    }

    /// Takes a wish back.
    pub fn stop_waiting(&self, descriptor: BorrowedFd<'_>, event: Event) {
        poller::remove(&Target::Port(self.id), descriptor.as_raw_fd(), event);
    }

    /// A file descriptor is ready; called by the poller.
    pub fn ready(self: &Arc<Port>, event: Event) {
        self.with(|port, state, driver| {
            if let Err(error) = driver.ready(port, state, event) {
                port.end_with(state, driver, error);
            } else if state.closing && driver.pending() == 0 {
                port.end(state, driver, atoms::NORMAL);
            }
        });
    }

    /// A timer is due; called by the poller.
    pub fn timeout(&self, number: u32) {
        self.with(|port, state, driver| {
            port.trace(tracing::RECEIVE, "receive", |_| [atoms::TIMEOUT]);
            if let Err(error) = driver.timeout(port, state, number) {
                port.end_with(state, driver, error);
            }
        });
    }

    /// Sends a process a message.
    pub fn tell(&self, pid: Term, message: impl Fn(&mut ScratchHeap) -> Term) {
        self.trace(tracing::SEND, "send", |heap| [message(heap), pid]);
        send(pid, message);
    }

    /// The end because of an error.
    pub fn end_with(&self, state: &mut State, driver: &mut dyn Driver, error: Errno) {
        self.end(state, driver, error_name(error));
    }
}

/// A port at work, which is reported to the system profiler.
struct Working(Option<Term>);

impl Working {
    fn begin(id: Term) -> Working {
        let id = profile::is_on().then_some(id);
        id.into_iter().for_each(|id| profile::port(id, true));
        Working(id)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            profile::port(id, false);
        }
    }
}

/// Sends a process a message that is made outside of the heaps.
pub fn send(pid: Term, message: impl Fn(&mut ScratchHeap) -> Term) {
    deliver(pid, sequence::neutral(Message::compose(message)));
}

fn deliver(pid: Term, message: Message) {
    drop(System::get().deliver_from_outside(pid, message));
}

/// Lets processes look again whether the port is busy.
fn wake(suspended: &mut Vec<Term>) {
    for pid in suspended.drain(..) {
        deliver(pid, signal::bare(Signal::Resume));
    }
}
