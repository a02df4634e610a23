//! Waits for the file descriptors of ports and of other users. Idle schedulers do that, one at a time
//! ([`poll_by_schedulers`]); where there are no schedulers, a thread of its own does.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

use atoll_platform::{descriptor, threads};
use atoll_term::Term;
use parking_lot::Mutex;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use rustix::io::Errno;

use crate::driver::Event;
use crate::part::part;
use crate::table;

/// Something other than a port that waits for a descriptor.
pub trait Waiter: Send + Sync {
    /// The descriptor is ready. The thread that polls calls this again and again while the descriptor is ready and the
    /// wish stands; the function must not block.
    fn ready(self: Arc<Self>, event: Event);
}

/// What waits for a descriptor.
#[derive(Clone)]
pub enum Target {
    /// A port, by its term.
    Port(Term),
    /// Another waiter.
    Other(Arc<dyn Waiter>),
}

impl Target {
    fn is(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Port(one), Target::Port(other)) => one == other,
            (Target::Other(one), Target::Other(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn tell(&self, event: Event) {
        match self {
            Target::Port(port) => {
                if let Some(port) = table::find(*port) {
                    port.ready(event);
                }
            }
            Target::Other(waiter) => waiter.clone().ready(event),
        }
    }
}

struct Wish {
    target: Target,
    event: Event,
}

/// A descriptor that is waited for.
struct Watched {
    wishes: Vec<Wish>,
    /// Ordinary files cannot be waited for: they are always ready.
    always: bool,
}

impl Watched {
    fn flags(&self) -> EventFlags {
        self.wishes.iter().fold(EventFlags::empty(), |flags, wish| match wish.event {
            Event::Input => flags | EventFlags::IN,
            Event::Output => flags | EventFlags::OUT,
            // The system reports it in any case.
            Event::Error => flags | EventFlags::ERR,
        })
    }
}

#[derive(Default)]
struct State {
    watched: HashMap<RawFd, Watched>,
    /// Descriptors of each port, by the port's word.
    of_ports: HashMap<u64, Vec<RawFd>>,
    /// Number of those that are always ready.
    always: usize,
}

struct Poller {
    epoll: OwnedFd,
    /// Ends the thread's wait when a descriptor is added that is always ready.
    bell: OwnedFd,
    state: Mutex<State>,
    /// What is due when, for which port.
    timers: Mutex<BTreeMap<(Instant, u64), (Term, u32)>>,
    next_timer: AtomicU64,
    /// What the last wait found ready. Locked by the thread whose turn it is to poll.
    found: Mutex<Vec<(RawFd, EventFlags)>>,
}

/// Events taken at once.
const EVENTS: usize = 128;

fn poller() -> Option<&'static Poller> {
    let polling = &part().polling;
    let made = polling.poller.get_or_init(|| {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        epoll::add(&epoll, &bell, EventData::new_u64(bell.as_raw_fd() as u64), EventFlags::IN).ok()?;
        Some(Poller {
            epoll,
            bell,
            state: Mutex::default(),
            timers: Mutex::default(),
            next_timer: AtomicU64::new(0),
            found: Mutex::default(),
        })
    });
    let poller = made.as_ref()?;
    if polling.scheduled.load(Ordering::Relaxed) {
        polling.needed.store(true, Ordering::Relaxed);
        return Some(poller);
    }
    let start =
        || threads::start(Builder::new().name("poller".to_owned()).stack_size(1 << 20), || poller.work()).is_ok();
    polling.thread.get_or_init(start).then_some(poller)
}

/// How a machine polls.
#[derive(Default)]
pub(crate) struct Polling {
    poller: OnceLock<Option<Poller>>,
    /// Whether the thread was started that polls, where schedulers do not.
    thread: OnceLock<bool>,
    /// Schedulers poll; no thread is started for it.
    scheduled: AtomicBool,
    /// A port or waiter has asked for a descriptor.
    needed: AtomicBool,
}

/// From now on schedulers poll: they call [`wait`] and [`tell`] in turns.
pub fn poll_by_schedulers() {
    part().polling.scheduled.store(true, Ordering::Relaxed);
}

/// Whether there can be anything to poll for.
pub fn is_needed() -> bool {
    part().polling.needed.load(Ordering::Relaxed)
}

/// Whether a port or a waiter waits for a descriptor or a time now.
pub fn is_awaited() -> bool {
    let waits = |poller: &Poller| !poller.state.lock().watched.is_empty() || !poller.timers.lock().is_empty();
    is_needed() && poller().is_some_and(waits)
}

/// Descriptors that are waited for: by ports, and by others.
pub fn watched() -> (usize, usize) {
    if !is_needed() {
        return (0, 0);
    }
    let Some(poller) = poller() else { return (0, 0) };
    let state = poller.state.lock();
    let of_port = |watched: &&Watched| watched.wishes.iter().any(|wish| matches!(wish.target, Target::Port(_)));
    let ports = state.watched.values().filter(of_port).count();
    (ports, state.watched.len() - ports)
}

/// Waits until a descriptor is ready, a timer is due, [`interrupt`] was called, or so much time has passed; whether
/// there is something to [`tell`].
pub fn wait(limit: Duration) -> bool {
    poller().is_some_and(|poller| poller.wait(Some(limit)))
}

/// Notifies the ports and waiters whose descriptors the last [`wait`] found ready.
pub fn tell() {
    if let Some(poller) = poller() {
        poller.tell_found();
    }
}

/// Ends the present or the next [`wait`].
pub fn interrupt() {
    if let Some(poller) = poller() {
        poller.ring();
    }
}

/// Adds a wish, unless it is there. It stands until it is taken back; the descriptor stays open until then.
///
/// # Errors
/// What the system says: there are too many descriptors, or this one cannot be waited for.
pub fn add(target: Target, descriptor: BorrowedFd<'_>, event: Event) -> Result<(), Errno> {
    let poller = poller().ok_or(Errno::NOMEM)?;
    let mut state = poller.state.lock();
    let number = descriptor.as_raw_fd();
    if let Target::Port(port) = &target {
        let own = state.of_ports.entry(port.word()).or_default();
        if !own.contains(&number) {
            own.push(number);
        }
    }
    let is_new = !state.watched.contains_key(&number);
    let watched = state.watched.entry(number).or_insert_with(|| Watched { wishes: Vec::new(), always: false });
    if watched.wishes.iter().any(|wish| wish.event == event && wish.target.is(&target)) {
        return Ok(());
    }
    watched.wishes.push(Wish { target, event });
    if watched.always {
        return Ok(());
    }
    let (data, flags) = (EventData::new_u64(number as u64), watched.flags());
    let result = match is_new {
        true => epoll::add(&poller.epoll, descriptor, data, flags),
        // It was closed and opened again, which the system knows.
        false => match epoll::modify(&poller.epoll, descriptor, data, flags) {
            Err(Errno::NOENT) => epoll::add(&poller.epoll, descriptor, data, flags),
            done => done,
        },
    };
    match result {
        Err(Errno::PERM) if is_new => {
            watched.always = true;
            state.always += 1;
            poller.ring();
            Ok(())
        }
        Err(error) => {
            watched.wishes.pop();
            if watched.wishes.is_empty() {
                state.watched.remove(&number);
            }
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

impl Poller {
    /// Takes out the wishes for a descriptor that are `unwanted`.
    fn retract(&self, state: &mut State, number: RawFd, unwanted: impl Fn(&Wish) -> bool) {
        let Some(watched) = state.watched.get_mut(&number) else { return };
        let before = watched.flags();
        watched.wishes.retain(|wish| !unwanted(wish));
        let after = watched.flags();
        if before != after
            && !watched.always
            && let Some(descriptor) = descriptor::borrow(number)
        {
            // A descriptor that was closed meanwhile is not waited for any more anyway.
            let _ = match after.is_empty() {
                true => epoll::delete(&self.epoll, descriptor),
                false => epoll::modify(&self.epoll, descriptor, EventData::new_u64(number as u64), after),
            };
        }
        if watched.wishes.is_empty() {
            state.always -= usize::from(watched.always);
            state.watched.remove(&number);
        }
    }

    fn work(&self) {
        loop {
            self.wait(None);
            self.tell_found();
        }
    }

    /// Ends a wait.
    fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn wait(&self, limit: Option<Duration>) -> bool {
        let some_are_always = self.state.lock().always > 0;
        let next = self.timers.lock().first_key_value().map(|((time, _), _)| *time);
        let next = next.map(|time| time.saturating_duration_since(Instant::now()));
        let is_due = some_are_always || next.is_some_and(|time| time.is_zero());
        let limit = if is_due { Some(Duration::ZERO) } else { limit.into_iter().chain(next).min() };
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut found = self.found.lock();
        found.clear();
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut room, limit.as_ref()) {
            Ok((events, _)) => found.extend(events.iter().map(|event| (event.data.u64() as RawFd, event.flags))),
            Err(Errno::INTR) => {}
            Err(_) => std::thread::yield_now(),
        }
        is_due || !found.is_empty()
    }

    /// Tells what was found ready, and what is due.
    fn tell_found(&self) {
        let mut found = self.found.lock();
        for (number, flags) in found.drain(..) {
            if number == self.bell.as_raw_fd() {
                let _ = rustix::io::read(self.bell.as_fd(), &mut [0; 8]);
                continue;
            }
            let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP);
            self.tell(number, |event| match event {
                Event::Input => broken || flags.contains(EventFlags::IN),
                Event::Output => broken || flags.contains(EventFlags::OUT),
                Event::Error => flags.contains(EventFlags::ERR),
            });
        }
        drop(found);
        let state = self.state.lock();
        if state.always > 0 {
            let ready: Vec<RawFd> =
                state.watched.iter().filter(|(_, watched)| watched.always).map(|(number, _)| *number).collect();
            drop(state);
            ready.into_iter().for_each(|number| self.tell(number, |event| event != Event::Error));
        } else {
            drop(state);
        }
        self.tell_due();
    }

    /// Tells ports what is due.
    fn tell_due(&self) {
        loop {
            let due = {
                let mut timers = self.timers.lock();
                let Some(first) = timers.first_entry() else { return };
                if first.key().0 > Instant::now() {
                    return;
                }
                first.remove()
            };
            if let Some(port) = table::find(due.0) {
                port.timeout(due.1);
            }
        }
    }

    /// Tells those who wait for one of these events.
    fn tell(&self, number: RawFd, is_ready: impl Fn(Event) -> bool) {
        let told: Vec<(Target, Event)> = match self.state.lock().watched.get(&number) {
            Some(watched) => watched.wishes.iter().map(|wish| (wish.target.clone(), wish.event)).collect(),
            None => return,
        };
        for (target, event) in told.into_iter().filter(|(_, event)| is_ready(*event)) {
            target.tell(event);
        }
    }
}

/// Takes a wish back; the descriptor may be closed by now.
pub fn remove(target: &Target, number: RawFd, event: Event) {
    if let Some(poller) = poller() {
        let unwanted = |wish: &Wish| wish.event == event && wish.target.is(target);
        poller.retract(&mut poller.state.lock(), number, unwanted);
    }
}

/// Takes back all wishes of ports for a descriptor; whether a port has ever had one.
pub fn take_from_ports(number: RawFd) -> bool {
    let Some(poller) = poller() else { return false };
    let mut state = poller.state.lock();
    let known = state.of_ports.values().any(|own| own.contains(&number));
    if known {
        poller.retract(&mut state, number, |wish| matches!(wish.target, Target::Port(_)));
    }
    known
}

/// A timer of a port.
#[derive(Clone, Copy, Debug)]
pub struct Timer(Instant, u64);

/// Has a port told after this time, with this number; `None` if there are no threads.
pub fn start_timer(port: Term, after: Duration, number: u32) -> Option<Timer> {
    let poller = poller()?;
    let timer = Timer(Instant::now() + after, poller.next_timer.fetch_add(1, Ordering::Relaxed));
    let is_first = {
        let mut timers = poller.timers.lock();
        timers.insert((timer.0, timer.1), (port, number));
        timers.first_key_value().is_some_and(|(first, _)| first.1 == timer.1)
    };
    if is_first {
        poller.ring();
    }
    Some(timer)
}

/// Forgets a timer, if it is not due yet.
pub fn cancel_timer(timer: Timer) {
    if let Some(poller) = poller() {
        poller.timers.lock().remove(&(timer.0, timer.1));
    }
}

/// Takes all wishes of a port back, before its descriptors are closed.
pub fn forget(port: Term) {
    let Some(poller) = poller() else { return };
    let mut state = poller.state.lock();
    for number in state.of_ports.remove(&port.word()).unwrap_or_default() {
        poller.retract(&mut state, number, |wish| wish.target.is(&Target::Port(port)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Waiter for Count {
        fn ready(self: Arc<Self>, _: Event) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn reaches(count: &Count, least: usize) -> bool {
        let started = Instant::now();
        while count.0.load(Ordering::SeqCst) < least && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        count.0.load(Ordering::SeqCst) >= least
    }

    #[test]
    fn a_wish_is_told_until_it_is_taken_back() {
        crate::enter(Box::leak(Box::default()));
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        let count = Arc::new(Count::default());
        let target = Target::Other(count.clone());
        add(target.clone(), read.as_fd(), Event::Input).expect("a pipe can be waited for");
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(count.0.load(Ordering::SeqCst), 0, "nothing is there yet");
        rustix::io::write(&write, b"x").expect("room in the pipe");
        assert!(reaches(&count, 2), "nobody reads what is there");
        remove(&target, read.as_raw_fd(), Event::Input);
        std::thread::sleep(Duration::from_millis(20));
        let last = count.0.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(count.0.load(Ordering::SeqCst), last);
    }

    #[test]
    fn ordinary_files_are_always_ready() {
        crate::enter(Box::leak(Box::default()));
        let file = std::fs::File::open("Cargo.toml").expect("the manifest");
        let count = Arc::new(Count::default());
        let target = Target::Other(count.clone());
        add(target.clone(), file.as_fd(), Event::Input).expect("files are ready at once");
        assert!(reaches(&count, 2));
        remove(&target, file.as_raw_fd(), Event::Input);
    }
}
