//! One thread that waits for the file descriptors of all ports.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use atoll_term::Term;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::driver::Event;
use crate::table;

struct Wish {
    port: Term,
    descriptor: BorrowedFd<'static>,
    event: Event,
}

static WISHES: Mutex<Vec<Wish>> = Mutex::new(Vec::new());
/// Both ends of a pipe that ends the thread's wait.
static BELL: OnceLock<Option<(OwnedFd, OwnedFd)>> = OnceLock::new();

/// Wakes the thread, which is started if there is none.
fn ring() {
    let bell = BELL.get_or_init(|| {
        let flags = rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK;
        let pipe = rustix::pipe::pipe_with(flags).ok()?;
        std::thread::Builder::new().name("poller".to_owned()).stack_size(256 << 10).spawn(work).ok()?;
        Some(pipe)
    });
    if let Some((_, ring)) = bell {
        // A full pipe has woken the thread already.
        let _ = rustix::io::write(ring, &[0]);
    }
}

/// Adds a wish, unless it is there.
pub fn add(port: Term, descriptor: BorrowedFd<'static>, event: Event) {
    use std::os::fd::AsRawFd;
    let mut wishes = WISHES.lock();
    let same =
        |wish: &Wish| wish.port == port && wish.event == event && wish.descriptor.as_raw_fd() == descriptor.as_raw_fd();
    if !wishes.iter().any(same) {
        wishes.push(Wish { port, descriptor, event });
        drop(wishes);
        ring();
    }
}

/// Takes a wish back.
pub fn remove(port: Term, descriptor: BorrowedFd<'static>, event: Event) {
    use std::os::fd::AsRawFd;
    let number = descriptor.as_raw_fd();
    let is_it = |wish: &Wish| wish.port == port && wish.event == event && wish.descriptor.as_raw_fd() == number;
    WISHES.lock().retain(|wish| !is_it(wish));
}

/// Takes all wishes of a port back.
pub fn forget(port: Term) {
    WISHES.lock().retain(|wish| wish.port != port);
}

fn work() {
    while BELL.get().is_none() {
        std::thread::yield_now();
    }
    let Some(Some((bell, _))) = BELL.get() else { return };
    loop {
        let wanted: Vec<(Term, BorrowedFd<'static>, Event)> =
            WISHES.lock().iter().map(|wish| (wish.port, wish.descriptor, wish.event)).collect();
        let mut descriptors = vec![PollFd::new(bell, PollFlags::IN)];
        descriptors.extend(wanted.iter().map(|(_, descriptor, event)| {
            let flags = if *event == Event::Input { PollFlags::IN } else { PollFlags::OUT };
            PollFd::from_borrowed_fd(descriptor.as_fd(), flags)
        }));
        match poll(&mut descriptors, None) {
            Err(Errno::INTR) => continue,
            Err(_) => std::thread::yield_now(),
            Ok(_) => {}
        }
        let ready: Vec<bool> = descriptors.iter().map(|one| !one.revents().is_empty()).collect();
        drop(descriptors);
        if ready[0] {
            let mut bytes = [0; 64];
            while matches!(rustix::io::read(bell, &mut bytes), Ok(1..)) {}
        }
        for ((port, _, event), _) in wanted.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            if let Some(port) = table::find(*port) {
                port.ready(*event);
            }
        }
    }
}
