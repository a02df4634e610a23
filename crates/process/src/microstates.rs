//! What schedulers spend their time with (`msacc`), measured only while it is asked for; until then, each place that
//! changes what a scheduler does looks at one switch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use atoll_platform::clock;

use crate::system::System;

/// What a scheduler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum State {
    /// Timers.
    Aux = 0,
    /// Asks for what is ready outside of the machine.
    CheckIo = 1,
    /// Runs processes.
    Emulator = 2,
    /// Collects a heap.
    Collection = 3,
    /// Looks for something to run.
    Other = 4,
    /// Works for a port.
    Port = 5,
    /// Sleeps.
    Sleep = 6,
}

/// Names of the states, in their order.
pub const NAMES: [&str; STATES] = ["aux", "check_io", "emulator", "gc", "other", "port", "sleep"];
const STATES: usize = 7;

/// One scheduler's account, written by that scheduler but for resets.
#[repr(align(128))]
struct Account {
    state: AtomicUsize,
    since: AtomicI64,
    spent: [AtomicI64; STATES],
}

/// What a machine measures.
#[derive(Default)]
pub struct Microstates {
    on: AtomicBool,
    accounts: OnceLock<Box<[Account]>>,
}

impl Microstates {
    fn accounts(&self) -> &[Account] {
        self.accounts.get_or_init(|| {
            let account = |state| Account {
                state: AtomicUsize::new(state as usize),
                since: AtomicI64::new(clock::monotonic()),
                spent: Default::default(),
            };
            let system = System::get();
            let dirty: usize = system.dirty_threads().iter().sum();
            let schedulers = (0..system.schedulers.max(1)).map(|_| account(State::Other));
            schedulers.chain((0..dirty).map(|_| account(State::Sleep))).collect()
        })
    }

    /// Whether time is measured.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Runs a process, in whose time slice measuring may begin or end.
    #[inline]
    pub fn charged_slice<R>(&self, slice: impl FnOnce() -> R) -> R {
        if self.is_on() {
            change(State::Emulator as usize);
        }
        let result = slice();
        if self.is_on() {
            change(State::Other as usize);
        }
        result
    }

    /// Does the work of a thread for dirty calls: the thread of this number of the processor's, or of the others.
    pub fn charged_dirty(&self, is_processor: bool, number: usize, work: impl FnOnce()) {
        let system = System::get();
        let [processor, _] = system.dirty_threads();
        let place = system.schedulers.max(1) + number + if is_processor { 0 } else { processor };
        if self.is_on() {
            change_account(place, State::Emulator as usize);
        }
        work();
        if self.is_on() {
            change_account(place, State::Sleep as usize);
        }
    }

    /// Does something that is charged to this state.
    #[inline]
    pub fn charged<R>(&self, state: State, work: impl FnOnce() -> R) -> R {
        if !self.is_on() {
            return work();
        }
        let before = change(state as usize);
        let result = work();
        change(before);
        result
    }
}

fn accounts() -> &'static [Account] {
    System::get().microstates.accounts()
}

/// Whether time is measured.
#[inline]
pub fn is_on() -> bool {
    System::get().microstates.is_on()
}

/// The scheduler that this thread is does something else from now on. What it did before, by number.
#[cold]
#[inline(never)]
fn change(state: usize) -> usize {
    match System::get().schedule().own_thread_of() {
        Some(scheduler) => change_account(scheduler, state),
        None => state,
    }
}

/// Whoever has this account does something else from now on. What that was before.
fn change_account(place: usize, state: usize) -> usize {
    let Some(account) = accounts().get(place).filter(|_| is_on()) else { return state };
    let now = clock::monotonic();
    let before = account.state.swap(state, Ordering::Relaxed);
    let since = account.since.swap(now, Ordering::Relaxed);
    account.spent[before].fetch_add((now - since).max(0), Ordering::Relaxed);
    before
}

/// Does something that is charged to this state.
#[inline]
pub fn charged<R>(state: State, work: impl FnOnce() -> R) -> R {
    System::get().microstates.charged(state, work)
}

/// Begins or ends measuring; what was measured is kept. Whether it was on.
pub fn switch(on: bool) -> bool {
    let old = is_on();
    if on != old {
        let now = clock::monotonic();
        let system = System::get();
        let current = system.schedule().current();
        for (index, account) in accounts().iter().enumerate() {
            if on {
                // Of the others it is seen when they do something else.
                let state = match index {
                    _ if index == current => State::Emulator,
                    _ if index < system.schedulers.max(1) => State::Other,
                    _ => State::Sleep,
                };
                account.state.store(state as usize, Ordering::Relaxed);
            } else {
                charge(account, now);
            }
            account.since.store(now, Ordering::Relaxed);
        }
        System::get().microstates.on.store(on, Ordering::Relaxed);
    }
    old
}

fn charge(account: &Account, now: i64) {
    let state = account.state.load(Ordering::Relaxed);
    let since = account.since.load(Ordering::Relaxed);
    account.spent[state].fetch_add((now - since).max(0), Ordering::Relaxed);
}

/// Forgets what was measured.
pub fn reset() {
    for account in accounts() {
        account.since.store(clock::monotonic(), Ordering::Relaxed);
        for spent in &account.spent {
            spent.store(0, Ordering::Relaxed);
        }
    }
}

/// Nanoseconds of each scheduler in each state, then those of each thread for dirty calls: the processor's first.
pub fn spent() -> Vec<[i64; STATES]> {
    let (now, on) = (clock::monotonic(), is_on());
    let read = |account: &Account| {
        let mut spent = account.spent.each_ref().map(|spent| spent.load(Ordering::Relaxed));
        if on {
            let since = account.since.load(Ordering::Relaxed);
            spent[account.state.load(Ordering::Relaxed)] += (now - since).max(0);
        }
        spent
    };
    accounts().iter().map(read).collect()
}
