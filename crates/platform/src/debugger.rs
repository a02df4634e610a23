//! Machine code that was made at run time, for a debugger: the interface that GDB's manual calls "JIT Compilation
//! Interface". A debugger knows a list by its name, and stops at a function by its name, which a
//! process calls when the list has changed.

use std::cell::UnsafeCell;
use std::ptr::{NonNull, null_mut};

use parking_lot::Mutex;

/// What stands in the list for a piece of code.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    /// An object file, as long as the size says.
    symbols: *const u8,
    size: u64,
}

/// What has happened to the entry that is told of.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Action {
    None = 0,
    Registered = 1,
    Unregistered = 2,
}

#[repr(C)]
struct Descriptor {
    version: u32,
    action: Action,
    relevant: *mut Entry,
    first: *mut Entry,
}

#[repr(transparent)]
struct List(UnsafeCell<Descriptor>);

// SAFETY: a thread changes it and its entries while it has the turn, and a debugger reads it while no thread runs.
unsafe impl Sync for List {}

/// Under the name by which a debugger looks for it.
#[unsafe(export_name = "__jit_debug_descriptor")]
static LIST: List =
    List(UnsafeCell::new(Descriptor { version: 1, action: Action::None, relevant: null_mut(), first: null_mut() }));

/// Whose turn it is to change the list.
static TURN: Mutex<()> = Mutex::new(());

/// Where a debugger stops, under the name by which it looks for it.
#[unsafe(export_name = "__jit_debug_register_code")]
#[inline(never)]
extern "C" fn tell_debugger() {
    std::hint::black_box(LIST.0.get());
}

/// Code that debuggers know, until it is dropped.
pub struct KnownCode {
    entry: NonNull<Entry>,
    _symbols: Box<[u8]>,
}

// SAFETY: nothing of it is tied to a thread; the list is changed in turn.
unsafe impl Send for KnownCode {}

impl KnownCode {
    /// Tells debuggers of code, by an object file that says where it is and what it is called.
    pub fn new(symbols: Box<[u8]>) -> KnownCode {
        let _turn = TURN.lock();
        // SAFETY: this thread has the turn. Entries on the list live.
        unsafe {
            let descriptor = LIST.0.get();
            let next = (*descriptor).first;
            let (symbols_at, size) = (symbols.as_ptr(), symbols.len() as u64);
            let entry = Box::into_raw(Box::new(Entry { next, previous: null_mut(), symbols: symbols_at, size }));
            if !next.is_null() {
                (*next).previous = entry;
            }
            (*descriptor).first = entry;
            (*descriptor).relevant = entry;
            (*descriptor).action = Action::Registered;
            tell_debugger();
            KnownCode { entry: NonNull::new_unchecked(entry), _symbols: symbols }
        }
    }
}

impl Drop for KnownCode {
    fn drop(&mut self) {
        let _turn = TURN.lock();
        // SAFETY: as above; the entry is this value's own.
        unsafe {
            let (descriptor, entry) = (LIST.0.get(), self.entry.as_ptr());
            let (next, previous) = ((*entry).next, (*entry).previous);
            if !next.is_null() {
                (*next).previous = previous;
            }
            match previous.is_null() {
                true => (*descriptor).first = next,
                false => (*previous).next = next,
            }
            (*descriptor).relevant = entry;
            (*descriptor).action = Action::Unregistered;
            tell_debugger();
            (*descriptor).relevant = null_mut();
            (*descriptor).action = Action::None;
            drop(Box::from_raw(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The object files on the list, from its first on; each entry names the one before it.
    fn listed() -> Vec<Vec<u8>> {
        let _turn = TURN.lock();
        let mut found = Vec::new();
        // SAFETY: the list does not change meanwhile.
        unsafe {
            let mut previous = null_mut();
            let mut next = (*LIST.0.get()).first;
            while let Some(entry) = next.as_ref() {
                assert_eq!(entry.previous, previous);
                found.push(std::slice::from_raw_parts(entry.symbols, entry.size as usize).to_vec());
                (previous, next) = (next, entry.next);
            }
        }
        found
    }

    #[test]
    fn code_is_on_the_list_until_it_is_dropped() {
        let known = |byte: u8| KnownCode::new(Box::new([byte; 3]));
        let (first, second, third) = (known(1), known(2), known(3));
        assert_eq!(listed(), [[3; 3], [2; 3], [1; 3]]);
        drop(second);
        assert_eq!(listed(), [[3; 3], [1; 3]]);
        drop(third);
        assert_eq!(listed(), [[1; 3]]);
        drop(first);
        assert!(listed().is_empty());
    }
}
