//! What drivers wait for: descriptors, of which each is read for one port and written for one.
//!
//! A descriptor belongs to all ports. A port that asks for one which another port waits for, or gives it back, takes
//! it away from that port, and the logger is told. When a driver says that it does not use a descriptor any more, its
//! `stop_select` is called, once.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use atoll_platform::descriptor;
use atoll_ports::poller::{self, Target, Waiter};
use atoll_ports::{Event, Port, find};
use atoll_term::Term;
use parking_lot::Mutex;

use crate::drivers::Loaded;
use crate::drivers::layout::Handle;
use crate::drivers::port::{Linked, current};
use crate::here;

const READ: c_int = 1;
const WRITE: c_int = 2;
const USE: c_int = 4;
/// With `USE`, when a descriptor is given back: `stop_select` is not called, and the rest of the mode says what ends.
const NO_CALLBACK: c_int = 8;

/// What can be waited for: the flag, its name, and what a port that does so is called.
const EVENTS: [(c_int, Event, &str, &str); 2] =
    [(READ, Event::Input, "ERL_DRV_READ", "input"), (WRITE, Event::Output, "ERL_DRV_WRITE", "output")];

/// A descriptor is ready: what the port is told.
pub struct Ready(pub c_int, pub Event);

/// A port that waits for a descriptor.
struct Wish {
    port: Term,
    driver: &'static str,
    descriptor: c_int,
}

impl Waiter for Wish {
    fn ready(self: Arc<Self>, event: Event) {
        match find(self.port) {
            Some(port) => {
                port.with(|port, state, driver| driver.told(port, state, Box::new(Ready(self.descriptor, event))));
            }
            // It would be told again and again.
            None => poller::remove(&Target::Other(self.clone()), self.descriptor, event),
        }
    }
}

/// What is known of a descriptor.
#[derive(Default)]
pub struct Selected {
    /// In the order of [`EVENTS`].
    wishes: [Option<Arc<Wish>>; 2],
    /// The driver that uses it and will be told when that ends.
    user: Option<Arc<Loaded>>,
}

/// Those of a machine.
pub type All = Mutex<HashMap<c_int, Selected>>;

impl Selected {
    /// Takes a wish back; whose it was.
    fn forget(&mut self, place: usize) -> Option<Arc<Wish>> {
        let wish = self.wishes[place].take()?;
        poller::remove(&Target::Other(wish.clone()), wish.descriptor, EVENTS[place].1);
        Some(wish)
    }

    fn is_waited_for(&self) -> bool {
        self.wishes.iter().any(Option::is_some)
    }
}

/// What another port loses.
struct Stolen {
    place: usize,
    from: Arc<Wish>,
}

/// Waits for a descriptor; whether that can be done.
fn begin(port: &Port, linked: &Linked, number: c_int, mode: c_int) -> bool {
    let (Some(loaded), Some(descriptor)) = (linked.loaded(), descriptor::borrow(number)) else { return false };
    let mut stolen = Vec::new();
    let mut all = here().selected_by_drivers.lock();
    let selected = all.entry(number).or_default();
    let mut is_done = true;
    for (place, (flag, event, _, _)) in EVENTS.into_iter().enumerate() {
        if mode & flag == 0 || selected.wishes[place].as_ref().is_some_and(|wish| wish.port == port.id) {
            continue;
        }
        stolen.extend(selected.forget(place).map(|from| Stolen { place, from }));
        let wish = Arc::new(Wish { port: port.id, driver: loaded.name, descriptor: number });
        let added = poller::add(Target::Other(wish.clone()), descriptor, event).is_ok();
        is_done &= added;
        selected.wishes[place] = added.then_some(wish);
    }
    if mode & USE != 0 {
        selected.user = Some(loaded.clone());
    } else if !selected.is_waited_for() && selected.user.is_none() {
        all.remove(&number);
    }
    drop(all);
    stolen.iter().for_each(|stolen| report(port, &loaded, (number, mode, 1), stolen));
    is_done
}

/// Tells the logger that a port has taken a descriptor away from another one.
fn report(port: &Port, by: &Loaded, (number, mode, on): (c_int, c_int, c_int), stolen: &Stolen) {
    let names = EVENTS.iter().map(|(flag, _, name, _)| (*flag, *name)).chain([(USE, "ERL_DRV_USE")]);
    let modes: Vec<&str> = names.filter(|(flag, _)| mode & flag != 0).map(|(_, name)| name).collect();
    let shown = |port: Term| format!("#Port<0.{}>", port.immediate_data());
    let text = format!(
        "driver_select({:#018x}, {number}, {}, {on}) by {} driver {} stealing control of fd={number} \
         from {} driver {} {} ",
        port.id.word(),
        modes.join("|"),
        by.name,
        shown(port.id),
        EVENTS[stolen.place].3,
        stolen.from.driver,
        shown(stolen.from.port),
    );
    atoll_ports::report(&text);
}

/// Does not wait for a descriptor any more; what others lose by that, if they may lose anything.
fn end(port: Term, stop_select: Stop, number: c_int, mode: c_int, of_others: bool) -> Vec<Stolen> {
    let gives_back = mode & USE != 0;
    let calls = gives_back && mode & NO_CALLBACK == 0;
    let mut stolen = Vec::new();
    let mut all = here().selected_by_drivers.lock();
    let selected = all.entry(number).or_default();
    for (place, (flag, ..)) in EVENTS.into_iter().enumerate() {
        let is_own = selected.wishes[place].as_ref().is_some_and(|wish| wish.port == port);
        if (mode & flag != 0 || calls) && (is_own || of_others) {
            let lost = selected.forget(place).filter(|_| !is_own);
            stolen.extend(lost.map(|from| Stolen { place, from }));
        }
    }
    let is_waited_for = selected.is_waited_for();
    let user = if gives_back { selected.user.take() } else { None };
    if !is_waited_for && selected.user.is_none() {
        all.remove(&number);
    }
    drop(all);
    if calls && !is_waited_for {
        stopped(user.map_or(stop_select, |user| user.entry().stop_select), number);
    }
    stolen
}

/// A driver's `stop_select`.
type Stop = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// A descriptor is not used any more.
fn stopped(stop_select: Stop, number: c_int) {
    if let Some(stop) = stop_select {
        // SAFETY: the driver's own function, for its own descriptor.
        unsafe { stop(number as usize as *mut c_void, null_mut()) };
    }
}

/// Whether a port waits for this.
pub fn is_wanted(port: Term, number: c_int, event: Event) -> bool {
    let place = usize::from(event == Event::Output);
    let all = here().selected_by_drivers.lock();
    let wish = all.get(&number).and_then(|selected| selected.wishes[place].as_ref());
    wish.is_some_and(|wish| wish.port == port)
}

/// Takes a wish of a port back that its driver has no function for.
pub fn ignore(port: Term, number: c_int, event: Event) {
    end(port, None, number, if event == Event::Output { WRITE } else { READ }, false);
}

/// A port is closed: gives back what it still waits for.
pub fn forget_port(port: Term, stop_select: Stop) {
    let is_own = |wish: &Option<Arc<Wish>>| wish.as_ref().is_some_and(|wish| wish.port == port);
    let all = here().selected_by_drivers.lock();
    let own = all.iter().filter(|(_, selected)| selected.wishes.iter().any(is_own));
    let own: Vec<(c_int, bool)> = own.map(|(number, selected)| (*number, selected.user.is_some())).collect();
    drop(all);
    for (number, is_used) in own {
        end(port, stop_select, number, if is_used { USE } else { READ | WRITE }, false);
    }
}

#[unsafe(no_mangle)]
extern "C" fn driver_select(port: Handle, waited: *mut c_void, mode: c_int, on: c_int) -> c_int {
    let number = waited as usize as c_int;
    let is_done = current(port, |port, _, linked| {
        if on != 0 {
            return begin(port, linked, number, mode);
        }
        let stolen = end(port.id, linked.entry().stop_select, number, mode, true);
        let loaded = linked.loaded();
        for (by, stolen) in loaded.iter().flat_map(|by| stolen.iter().map(move |stolen| (by, stolen))) {
            report(port, by, (number, mode, 0), stolen);
        }
        true
    });
    if is_done == Some(true) { 0 } else { -1 }
}
