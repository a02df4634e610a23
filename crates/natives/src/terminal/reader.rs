//! The process that reads standard input, and the messages that it gets.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use atoll_heap::Message;
use atoll_ports::Event;
use atoll_ports::poller::{self, Target, Waiter};
use atoll_process::{Caller, Interrupt, Own, ReferenceId, System, badarg, inspect, sequence};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, MagicValue, Term};
use parking_lot::{Mutex, MutexGuard};

use crate::at_exit::AtExit;
use crate::sockets::line::Handle;

static READY_INPUT: LazyAtom = LazyAtom::new("ready_input");
static SELECT: LazyAtom = LazyAtom::new("select");

/// A signal of the operating system that concerns the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its window has another size.
    Resized,
    /// The machine was stopped, and goes on.
    Continued,
}

/// A process that reads from a terminal.
pub struct Reader {
    id: ReferenceId,
    terminal: Weak<MagicValue>,
    pid: Term,
    /// What is in the message when something can be read.
    wish: Handle,
    /// And when a signal has come.
    signals: Option<Handle>,
    came: Mutex<Vec<Told>>,
    ended: AtomicBool,
}

/// The readers of a machine.
#[derive(Default)]
pub struct Readers(AtExit<Vec<Weak<Reader>>>);

atoll_platform::part_of_machine!(Readers);

fn readers() -> MutexGuard<'static, Vec<Weak<Reader>>> {
    part().0.get(process_ended).lock()
}

fn process_ended(pid: Term, _: &mut Own) {
    let mut ended = Vec::new();
    readers().retain(|reader| {
        let Some(reader) = reader.upgrade() else { return false };
        let goes_on = reader.pid != pid;
        if !goes_on {
            ended.push(reader);
        }
        goes_on
    });
    for reader in ended {
        reader.ended.store(true, Ordering::SeqCst);
        poller::remove(&Target::Other(reader), rustix::stdio::stdin().as_raw_fd(), Event::Input);
    }
}

/// Tells readers of a signal.
pub fn signalled(what: Told) {
    let readers: Vec<Arc<Reader>> = self::readers().iter().filter_map(Weak::upgrade).collect();
    for reader in readers {
        if let Some(signals) = reader.signals {
            reader.came.lock().push(what);
            reader.tell(signals);
        }
    }
}

impl Reader {
    /// The caller reads from now on.
    ///
    /// # Errors
    /// `badarg`
    pub fn start(
        caller: &mut Caller<'_>,
        id: ReferenceId,
        terminal: Term,
        wish: Term,
        signals: Option<Term>,
    ) -> Result<Arc<Reader>, Interrupt> {
        let value = inspect::magic_value(terminal).ok_or_else(badarg)?;
        let signals = signals.map(|signals| Handle::of(signals).ok_or_else(badarg)).transpose()?;
        let reader = Arc::new(Reader {
            id,
            terminal: Arc::downgrade(&value),
            pid: caller.process.pid,
            wish: Handle::of(wish).ok_or_else(badarg)?,
            signals,
            came: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        readers().push(Arc::downgrade(&reader));
        caller.process.at_end.note_work();
        reader.arm();
        Ok(reader)
    }

    /// Has the reader told, once, when something can be read. Where input cannot be waited for, it is worth a try at
    /// once.
    pub fn arm(self: &Arc<Self>) {
        let added = poller::add(Target::Other(self.clone()), rustix::stdio::stdin(), Event::Input);
        if added.is_err() {
            self.tell(self.wish);
        }
    }

    /// The oldest signal that was told and not taken.
    pub fn take_signal(&self) -> Option<&'static str> {
        let mut came = self.came.lock();
        let first = (!came.is_empty()).then(|| came.remove(0))?;
        Some(match first {
            Told::Resized => "winch",
            Told::Continued => "cont",
        })
    }

    /// `{select, Terminal, Reference, ready_input}`
    fn tell(&self, about: Handle) {
        let Some(value) = self.terminal.upgrade().filter(|_| !self.ended.load(Ordering::SeqCst)) else { return };
        let message = Message::compose(|heap| {
            let terminal = heap.magic_reference(self.id.0, value.clone());
            let reference = about.term(heap);
            heap.tuple(&[SELECT.get(), terminal, reference, READY_INPUT.get()])
        });
        System::get().deliver_or_answer(self.pid, sequence::neutral(message));
    }
}

impl Waiter for Reader {
    fn ready(self: Arc<Self>, _: Event) {
        poller::remove(&Target::Other(self.clone()), rustix::stdio::stdin().as_raw_fd(), Event::Input);
        self.tell(self.wish);
    }
}
