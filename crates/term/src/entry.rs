//! What funs refer to: entries that live as long as the machine, so that a fun's word never dangles.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::word::{Term, Word};

/// An exported function `module:name/arity`: where a remote call goes. Entries are made on first mention and
/// are never removed; loading code changes their address.
#[repr(C)]
#[derive(Debug)]
pub struct Export {
    /// Code of the newest version. Never null: an entry without code points to code that calls the error handler.
    pub address: AtomicPtr<Word>,
    /// Module (atom).
    pub module: Term,
    /// Function (atom).
    pub name: Term,
    /// Number of arguments.
    pub arity: u8,
    /// Whether the address is that of a loaded function (else of the error handler's stub).
    pub defined: std::sync::atomic::AtomicBool,
    /// Number of the built-in function of this name, [`Export::NOT_BUILT_IN`] if there is none.
    pub built_in: AtomicU32,
    /// Its code while it has none; null until that was made.
    pub undefined: AtomicPtr<Word>,
}

impl Export {
    /// The value of `built_in` of a function that is not built in.
    pub const NOT_BUILT_IN: u32 = u32::MAX;

    /// Whether calls reach a function.
    pub fn is_defined(&self) -> bool {
        self.defined.load(Ordering::Acquire) || self.built_in.load(Ordering::Acquire) != Export::NOT_BUILT_IN
    }
}

/// The code of a `fun` expression: found by module, index and checksum, so that funs survive code loading.
#[repr(C)]
#[derive(Debug)]
pub struct FunEntry {
    /// Code of the version that the checksum names. Never null; see [`Export::address`].
    pub address: AtomicPtr<Word>,
    /// Module (atom).
    pub module: Term,
    /// Name of the function that the compiler made for it (atom).
    pub name: Term,
    /// Arguments of a call, without the free variables.
    pub arity: u8,
    /// Free variables.
    pub free: u32,
    /// Index in the module's table of funs.
    pub index: u32,
    /// Checksum of the fun's code, as in the file.
    pub old_unique: u32,
    /// Checksum (MD5) of the module.
    pub unique: [u8; 16],
    /// Its code while it has none; null until that was made.
    pub undefined: AtomicPtr<Word>,
}
