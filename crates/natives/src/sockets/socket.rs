//! A socket: its reference, the processes that wait for it, messages about it, and its end.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use atoll_heap::{Message, Stored};
use atoll_operations::Exception;
use atoll_ports::Event;
use atoll_ports::poller::{self, Target, Waiter};
use atoll_process::{Caller, Interrupt, Outcome, Own, ReferenceId, System, badarg, inspect, sequence};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, MagicValue, ScratchHeap, Term, atoms};
use parking_lot::{Mutex, MutexGuard};

use crate::at_exit::AtExit;
use crate::sockets::line::{Handle, Place, Request};
use crate::sockets::state::{Open, Phase, State, count_open};

static ABORT: LazyAtom = LazyAtom::new("abort");
static ADD: LazyAtom = LazyAtom::new("add");
static CLOSED: LazyAtom = LazyAtom::new("closed");
static DEL: LazyAtom = LazyAtom::new("del");
static INVALID: LazyAtom = LazyAtom::new("invalid");
static SELECT: LazyAtom = LazyAtom::new("select");
static SOCKET: LazyAtom = LazyAtom::new("$socket");
static STATE: LazyAtom = LazyAtom::new("state");
static SOCKET_REGISTRY: LazyAtom = LazyAtom::new("socket_registry");

/// A socket.
pub struct Socket {
    id: ReferenceId,
    value: OnceLock<Weak<MagicValue>>,
    /// Its domain, as the system numbers it.
    pub domain: i32,
    /// Its type.
    pub kind: i32,
    /// Its protocol.
    pub protocol: i32,
    /// The number of the descriptor that it was made of.
    pub adopted: Option<i32>,
    state: Mutex<State>,
}

/// Which line a process waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For a connection to be made.
    Connect,
    /// For a client to connect.
    Accept,
    /// For data.
    Read,
    /// For room.
    Write,
}

impl Wait {
    fn event(self) -> Event {
        match self {
            Wait::Accept | Wait::Read => Event::Input,
            Wait::Connect | Wait::Write => Event::Output,
        }
    }

    /// The line.
    pub fn line(self, state: &mut State) -> &mut crate::sockets::line::Line {
        match self {
            Wait::Connect => &mut state.connector,
            Wait::Accept => &mut state.acceptors,
            Wait::Read => &mut state.readers,
            Wait::Write => &mut state.writers,
        }
    }
}

const WAITS: [Wait; 4] = [Wait::Connect, Wait::Accept, Wait::Read, Wait::Write];

/// What a machine knows of its sockets.
pub struct Sockets {
    pub(super) open: Open,
    /// `socket:debug/1` and `socket:socket_debug/1`: kept, but nothing is printed.
    pub(super) debugging: AtomicBool,
    pub(super) socket_debugging: AtomicBool,
    /// Whether sockets are registered if the program does not choose.
    pub(super) use_registry: AtomicBool,
    concerned: AtExit<Concerned>,
    /// What sockets have kept that were collected with the last reference to them: nothing is given back while heaps
    /// are being collected.
    left: Mutex<Vec<Stored>>,
}

atoll_platform::part_of_machine!(Sockets);

impl Default for Sockets {
    fn default() -> Sockets {
        let said = std::env::var("ESOCK_USE_SOCKET_REGISTRY");
        Sockets {
            open: Open::default(),
            debugging: AtomicBool::new(false),
            socket_debugging: AtomicBool::new(false),
            use_registry: AtomicBool::new(said.as_deref() != Ok("false")),
            concerned: AtExit::default(),
            left: Mutex::default(),
        }
    }
}

/// Sockets by the processes whose end concerns them.
type Concerned = HashMap<Term, HashMap<ReferenceId, Weak<Socket>>>;

fn concerned() -> MutexGuard<'static, Concerned> {
    part().concerned.get(process_ended).lock()
}

/// `{error, closed}`
pub fn closed(caller: &mut Caller<'_>) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::ERROR, CLOSED.get()]))
}

/// The atom `closed`.
pub fn closed_atom() -> Term {
    CLOSED.get()
}

/// The atom `select`.
pub fn select_atom() -> Term {
    SELECT.get()
}

/// `{invalid, What}` as a result.
pub fn invalid(caller: &mut Caller<'_>, what: &str) -> Outcome {
    let what = known_atom(what);
    Ok(caller.heap().tuple(&[INVALID.get(), what]))
}

/// The error `{invalid, What}`.
pub fn raise_invalid(caller: &mut Caller<'_>, what: Term) -> Interrupt {
    Exception::tagged(caller.heap(), INVALID.get(), what).into()
}

/// The error `{invalid, state}`.
pub fn raise_state(caller: &mut Caller<'_>) -> Interrupt {
    raise_invalid(caller, STATE.get())
}

/// `{error, {invalid, state}}`
pub fn wrong_state(caller: &mut Caller<'_>) -> Outcome {
    let reason = caller.heap().tuple(&[INVALID.get(), STATE.get()]);
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

/// The socket behind a reference.
///
/// # Errors
/// `badarg`
pub fn socket(reference: &Term) -> Result<&Arc<Socket>, Interrupt> {
    reference.magic().ok_or_else(badarg)
}

/// A process's end concerns a socket.
fn concern(pid: Term, socket: &Arc<Socket>) {
    concerned().entry(pid).or_default().insert(socket.id, Arc::downgrade(socket));
}

/// It does so no more.
fn unconcern(pid: Term, socket: &Socket) {
    let mut concerned = self::concerned();
    if let Some(sockets) = concerned.get_mut(&pid) {
        sockets.remove(&socket.id);
        if sockets.is_empty() {
            concerned.remove(&pid);
        }
    }
}

fn process_ended(pid: Term, _: &mut Own) {
    let sockets = concerned().remove(&pid).unwrap_or_default();
    for socket in sockets.into_values().filter_map(|socket| socket.upgrade()) {
        socket.process_ended(pid);
    }
}

fn tell(pid: Term, message: impl Fn(&mut ScratchHeap) -> Term) {
    System::get().deliver_or_answer(pid, sequence::neutral(Message::compose(message)));
}

impl Socket {
    /// Makes a socket that belongs to the caller, and the reference to it.
    pub fn create(caller: &mut Caller<'_>, kinds: [i32; 3], adopted: Option<i32>, state: State) -> Term {
        drop(std::mem::take(&mut *part().left.lock()));
        let [domain, kind, protocol] = kinds;
        count_open(domain, kind, protocol, 1);
        let registered = state.settings.registered;
        let id = ReferenceId::fresh();
        let socket = Socket { id, value: OnceLock::new(), domain, kind, protocol, adopted, state: Mutex::new(state) };
        let socket = Arc::new(socket);
        let value = MagicValue::new(socket.clone());
        let _ = socket.value.set(Arc::downgrade(&value));
        caller.process.at_end.note_work();
        concern(caller.process.pid, &socket);
        if registered {
            socket.tell_registry(&value, ADD.get());
        }
        caller.heap().magic_reference(id.0, value)
    }

    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Tells OTP's process that knows all sockets of this one.
    pub fn register(&self, state: &mut State) {
        if !std::mem::replace(&mut state.settings.registered, true)
            && let Some(value) = self.value.get().and_then(Weak::upgrade)
        {
            self.tell_registry(&value, ADD.get());
        }
    }

    fn tell_registry(&self, value: &Arc<MagicValue>, what: Term) {
        if let Some(registry) = System::get().whereis(SOCKET_REGISTRY.get()) {
            tell(registry, |heap| {
                let socket = self.term(heap, value.clone());
                heap.tuple(&[SOCKET.get(), what, socket])
            });
        }
    }

    /// `{'$socket', Reference}`
    fn term(&self, heap: &mut ScratchHeap, value: Arc<MagicValue>) -> Term {
        let reference = heap.magic_reference(self.id.0, value);
        heap.tuple(&[SOCKET.get(), reference])
    }

    /// Tells a waiting process that it is worth another try.
    fn tell_select(&self, request: &Request) {
        tell(request.pid, |heap| {
            let socket = self.term(heap, request.socket.clone());
            let handle = request.handle.term(heap);
            heap.tuple(&[SOCKET.get(), socket, SELECT.get(), handle])
        });
    }

    /// Tells a waiting process that it is not.
    pub fn tell_abort(&self, request: &Request, reason: Term) {
        tell(request.pid, |heap| {
            let socket = self.term(heap, request.socket.clone());
            let handle = request.handle.term(heap);
            let information = heap.tuple(&[handle, reason]);
            heap.tuple(&[SOCKET.get(), socket, ABORT.get(), information])
        });
    }

    /// A request of the caller.
    ///
    /// # Errors
    /// `badarg`: the term is no reference to a socket
    pub fn request(
        self: &Arc<Self>,
        caller: &Caller<'_>,
        reference: Term,
        handle: Handle,
    ) -> Result<Request, Interrupt> {
        let socket = inspect::magic_value(reference).ok_or_else(badarg)?;
        let pid = caller.process.pid;
        caller.process.at_end.note_work();
        concern(pid, self);
        Ok(Request { pid, handle, socket })
    }

    /// Whether it is the caller's turn; if another's is, the caller stands behind it from now on.
    ///
    /// # Errors
    /// Inside: what to return instead. Outside: `{invalid, state}`, it waits already.
    pub fn turn(
        self: &Arc<Self>,
        caller: &mut Caller<'_>,
        state: &mut State,
        wait: Wait,
        reference: Term,
        handle: Option<Handle>,
    ) -> Result<Result<(), Term>, Interrupt> {
        let line = wait.line(state);
        match (line.place(caller.process.pid), handle) {
            (Place::First, _) => Ok(Ok(())),
            (_, None) => Ok(Err(atoms::OK)),
            (Place::Queued, _) => Err(raise_state(caller)),
            (Place::New, Some(handle)) => {
                let request = self.request(caller, reference, handle)?;
                line.push(request);
                Ok(Err(SELECT.get()))
            }
        }
    }

    /// Makes the caller the first of a line, and has it told.
    ///
    /// # Errors
    /// `badarg`, or `{select_read | select_write, -1}` if the system cannot wait for it.
    pub fn select(
        self: &Arc<Self>,
        caller: &mut Caller<'_>,
        state: &mut State,
        wait: Wait,
        reference: Term,
        handle: Handle,
    ) -> Result<(), Interrupt> {
        let request = self.request(caller, reference, handle)?;
        wait.line(state).first = Some(request);
        if self.arm(state, wait) {
            return Ok(());
        }
        while wait.line(state).advance() && !self.arm(state, wait) {}
        let tag = known_atom(if wait.event() == Event::Input { "select_read" } else { "select_write" });
        Err(Exception::tagged(caller.heap(), tag, Term::small(-1)).into())
    }

    /// Has the first of a line told when something happens; whether that can be done.
    fn arm(self: &Arc<Self>, state: &mut State, wait: Wait) -> bool {
        let Some(descriptor) = &state.descriptor else { return false };
        if poller::add(Target::Other(self.clone()), descriptor.as_fd(), wait.event()).is_err() {
            return false;
        }
        match wait.event() {
            Event::Input => state.read_selected = true,
            Event::Output => state.write_selected = true,
            Event::Error => {}
        }
        wait.line(state).armed = true;
        true
    }

    fn disarm(self: &Arc<Self>, state: &State, event: Event) {
        if let Some(descriptor) = &state.descriptor {
            poller::remove(&Target::Other(self.clone()), descriptor.as_raw_fd(), event);
        }
    }

    /// The first of a line has its turn behind it: the next one gets its.
    pub fn next(self: &Arc<Self>, state: &mut State, wait: Wait) {
        if wait.line(state).armed {
            self.disarm(state, wait.event());
        }
        while wait.line(state).advance() {
            if self.arm(state, wait) {
                return;
            }
        }
        if wait == Wait::Accept {
            state.accepting = false;
        }
    }

    /// Ends all requests of a line. All processes but the first one get a message; the first one gets the error as the
    /// result of its call.
    pub fn fail(self: &Arc<Self>, state: &mut State, wait: Wait, reason: Term) {
        if wait.line(state).armed {
            self.disarm(state, wait.event());
        }
        let mut all = wait.line(state).take_all().into_iter();
        drop(all.next());
        all.for_each(|request| self.tell_abort(&request, reason));
        if wait == Wait::Accept {
            state.accepting = false;
        }
    }

    /// The socket is used no more: those who wait for it learn that.
    pub fn begin_close(self: &Arc<Self>, state: &mut State, closer: Option<Term>) {
        state.phase = Phase::Closing;
        state.closer = closer;
        self.disarm(state, Event::Input);
        self.disarm(state, Event::Output);
        for wait in WAITS {
            for request in wait.line(state).take_all() {
                self.tell_abort(&request, CLOSED.get());
            }
        }
        state.accepting = false;
    }

    /// Takes what is to be closed, if [`Socket::begin_close`] was called.
    pub fn end_close(self: &Arc<Self>, state: &mut State) -> Option<std::os::fd::OwnedFd> {
        if state.phase != Phase::Closing {
            return None;
        }
        state.phase = Phase::Closed;
        state.meta = None;
        state.file = None;
        count_open(self.domain, self.kind, self.protocol, -1);
        if let Some(owner) = state.owner.take() {
            unconcern(owner, self);
        }
        let value = self.value.get().and_then(Weak::upgrade);
        if let Some(value) = value.filter(|_| state.settings.registered) {
            self.tell_registry(&value, DEL.get());
        }
        state.descriptor.take()
    }

    /// Hands the socket to another process. If that is gone already, so is the socket.
    pub fn hand_over(self: &Arc<Self>, state: &mut State, to: Term) {
        if let Some(owner) = state.owner.replace(to) {
            unconcern(owner, self);
        }
        concern(to, self);
        System::get().table.with(to, |process| process.at_end.note_work());
        // Either its end, which looks at the mark after it has left the table, sees the mark, or this sees the end.
        std::sync::atomic::fence(Ordering::SeqCst);
        if !System::get().table.contains(to) {
            unconcern(to, self);
            self.begin_close(state, None);
            drop(self.end_close(state));
        }
    }

    fn process_ended(self: &Arc<Self>, pid: Term) {
        let mut state = self.state.lock();
        if state.phase == Phase::Closed {
            return;
        }
        if state.owner == Some(pid) || state.closer == Some(pid) {
            if state.phase == Phase::Open {
                self.begin_close(&mut state, None);
            }
            let descriptor = self.end_close(&mut state);
            drop(state);
            drop(descriptor);
            return;
        }
        for wait in WAITS {
            if wait.line(&mut state).forget(pid) {
                self.next(&mut state, wait);
            }
        }
    }
}

impl Waiter for Socket {
    fn ready(self: Arc<Self>, event: Event) {
        let mut state = self.state.lock();
        self.disarm(&state, event);
        for wait in WAITS.into_iter().filter(|wait| wait.event() == event) {
            let line = wait.line(&mut state);
            if std::mem::take(&mut line.armed)
                && let Some(first) = &line.first
            {
                self.tell_select(first);
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.phase != Phase::Closed {
            count_open(self.domain, self.kind, self.protocol, -1);
        }
        part().left.lock().extend(state.meta.take());
    }
}
