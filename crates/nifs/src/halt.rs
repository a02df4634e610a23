//! What a library wants of the machine's end (`enif_set_option`): to be told of it, and that it waits for calls of the
//! library's functions. This is about an end that flushes output first (`halt/2`, `init:stop/0`); one that does not,
//! and a crash, wait for nothing.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

/// Called with the library's `priv_data`.
pub type OnHalt = unsafe extern "C" fn(*mut c_void);

/// What one library wants.
#[derive(Default)]
pub struct AtHalt {
    told: OnceLock<OnHalt>,
    is_delaying: AtomicBool,
    calls: Mutex<Calls>,
    none: Condvar,
}

/// Calls of a library that the end waits for.
#[derive(Default)]
struct Calls {
    running: usize,
    /// The end has begun: no other call begins.
    is_over: bool,
}

impl AtHalt {
    /// The end is to wait. Returns false if that was said before.
    pub fn delay(&self) -> bool {
        !self.is_delaying.swap(true, Ordering::AcqRel)
    }

    /// The end is to call this function. Returns false if there is one already.
    pub fn tell(&self, function: OnHalt) -> bool {
        self.told.set(function).is_ok()
    }

    /// The function that the end is to call.
    pub fn told(&self) -> Option<OnHalt> {
        self.told.get().copied()
    }

    /// Whether the end waits for the library's calls.
    pub fn is_delaying(&self) -> bool {
        self.is_delaying.load(Ordering::Acquire)
    }

    /// Whether the library wants anything.
    pub fn is_wanted(&self) -> bool {
        self.is_delaying() || self.told().is_some()
    }

    /// Does a call of one of the library's functions. If the machine is ending and waits for those that have begun,
    /// this one does not begin, and the thread does nothing more.
    pub fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        if !self.is_delaying() {
            return call();
        }
        let mut calls = self.calls.lock();
        while calls.is_over {
            self.none.wait(&mut calls);
        }
        calls.running += 1;
        drop(calls);
        let result = call();
        let mut calls = self.calls.lock();
        calls.running -= 1;
        if calls.running == 0 {
            self.none.notify_all();
        }
        result
    }

    /// Waits for the calls that have begun, if the library wants that.
    pub fn wait(&self) {
        if !self.is_delaying() {
            return;
        }
        let mut calls = self.calls.lock();
        calls.is_over = true;
        while calls.running > 0 {
            self.none.wait(&mut calls);
        }
    }
}
