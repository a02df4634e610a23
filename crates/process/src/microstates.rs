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

static ON: AtomicBool = AtomicBool::new(false);
static ACCOUNTS: OnceLock<Box<[Account]>> = OnceLock::new();

fn accounts() -> &'static [Account] {
    ACCOUNTS.get_or_init(|| {
        let account = || Account {
            state: AtomicUsize::new(State::Other as usize),
            since: AtomicI64::new(clock::monotonic()),
            spent: Default::default(),
        };
        (0..System::get().schedulers.max(1)).map(|_| account()).collect()
    })
}

/// Whether time is measured.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The scheduler that this thread is does something else from now on. What it did before, by number.
#[cold]
#[inline(never)]
fn change(state: usize) -> usize {
    let Some(account) = accounts().get(System::get().schedule().current()).filter(|_| is_on()) else { return state };
    let now = clock::monotonic();
    let before = account.state.swap(state, Ordering::Relaxed);
    let since = account.since.swap(now, Ordering::Relaxed);
    account.spent[before].fetch_add((now - since).max(0), Ordering::Relaxed);
    before
}

/// Does something that is charged to this state.
#[inline]
pub fn charged<R>(state: State, work: impl FnOnce() -> R) -> R {
    if !is_on() {
        return work();
    }
    let before = change(state as usize);
    let result = work();
    change(before);
    result
}

/// Runs a process, in whose time slice measuring may begin or end.
#[inline]
pub fn charged_slice<R>(slice: impl FnOnce() -> R) -> R {
    if is_on() {
        change(State::Emulator as usize);
    }
    let result = slice();
    if is_on() {
        change(State::Other as usize);
    }
    result
}

/// Begins or ends measuring; what was measured is kept. Whether it was on.
pub fn switch(on: bool) -> bool {
    let old = is_on();
    if on != old {
        let now = clock::monotonic();
        let current = System::get().schedule().current();
        for (index, account) in accounts().iter().enumerate() {
            if on {
                // Of the others it is seen when they do something else.
                let state = if index == current { State::Emulator } else { State::Other };
                account.state.store(state as usize, Ordering::Relaxed);
            } else {
                charge(account, now);
            }
            account.since.store(now, Ordering::Relaxed);
        }
        ON.store(on, Ordering::Relaxed);
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

/// Nanoseconds of each scheduler in each state.
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
