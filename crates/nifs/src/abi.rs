//! Layouts that libraries are compiled against: those of the interface's version 2.16, of which 2.17 and 2.18 change
//! nothing. Sizes are those of 64-bit Linux.

use std::ffi::{c_char, c_int, c_uint, c_void};

use atoll_term::Term;

use crate::env::Env;

/// Major version of the interface.
pub const MAJOR: c_int = 2;
/// The first minor version in which a function has flags.
pub const FLAGS_SINCE: c_int = 7;

/// A function of a library.
pub type NifFn = unsafe extern "C" fn(*mut Env, c_int, *const Term) -> Term;
/// `load`
pub type LoadFn = unsafe extern "C" fn(*mut Env, *mut *mut c_void, Term) -> c_int;
/// `upgrade`
pub type UpgradeFn = unsafe extern "C" fn(*mut Env, *mut *mut c_void, *mut *mut c_void, Term) -> c_int;
/// `unload`
pub type UnloadFn = unsafe extern "C" fn(*mut Env, *mut c_void);
/// Destructor of a resource.
pub type DestroyFn = unsafe extern "C" fn(*mut Env, *mut c_void);
/// A descriptor is not waited for any more: the last argument says whether it is called directly.
pub type StopFn = unsafe extern "C" fn(*mut Env, *mut c_void, c_int, c_int);
/// A monitored process has ended.
pub type DownFn = unsafe extern "C" fn(*mut Env, *mut c_void, *mut Term, *mut Monitor);
/// A call by name.
pub type DynamicFn = unsafe extern "C" fn(*mut Env, *mut c_void, *mut c_void);

/// What a library says of itself. Libraries for older versions have the first fields only.
#[repr(C)]
pub struct Entry {
    pub major: c_int,
    pub minor: c_int,
    pub name: *const c_char,
    pub count: c_int,
    pub functions: *const c_void,
    pub load: Option<LoadFn>,
    pub reload: *const c_void,
    pub upgrade: Option<UpgradeFn>,
    pub unload: Option<UnloadFn>,
    /// Since 2.1.
    pub variant: *const c_char,
    /// Since 2.7.
    pub options: c_uint,
    /// Since 2.12.
    pub init_bytes: usize,
    /// Since 2.14.
    pub least_runtime: *const c_char,
}

/// A function in a library's table; `flags` since 2.7.
#[repr(C)]
pub struct Function {
    pub name: *const c_char,
    pub arity: c_uint,
    pub code: NifFn,
    pub flags: c_uint,
}

/// Bytes of a [`Function`] before 2.7.
pub const OLD_FUNCTION_BYTES: usize = 24;

/// A binary in the hands of a library. Older libraries have room for these fields and one spare word; the present ones
/// for two. The spare words are never touched.
#[repr(C)]
pub struct Binary {
    pub size: usize,
    pub data: *mut u8,
    /// The count of a binary outside of heaps that the library owns, or null.
    pub owned: *mut c_void,
}

/// The callbacks of a type of resources. Older libraries have the first three fields only.
#[repr(C)]
pub struct ResourceInit {
    pub destroy: Option<DestroyFn>,
    pub stop: Option<StopFn>,
    pub down: Option<DownFn>,
    /// Since 2.16: how many of the callbacks there are.
    pub members: c_int,
    /// Since 2.16.
    pub dynamic: Option<DynamicFn>,
}

/// A monitor: numbers that only this machine knows the meaning of.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Monitor(pub [u8; 32]);

/// The state of a walk through a map.
#[repr(C)]
pub struct MapIterator {
    pub map: Term,
    pub size: usize,
    /// 0 is in front of the first pair.
    pub index: usize,
    /// The pairs, as [`crate::maps`] keeps them; null for a flat map.
    pub pairs: *mut c_void,
    pub spare: [*mut c_void; 3],
}

/// A piece of memory, as `writev` has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IoPiece {
    pub base: *mut c_void,
    pub length: usize,
}

/// Pieces that an [`IoVector`] has room for itself.
pub const SMALL_VECTOR: usize = 16;

/// Binaries as a vector for `writev`.
#[repr(C)]
pub struct IoVector {
    pub count: c_int,
    pub size: usize,
    pub pieces: *mut IoPiece,
    pub owned: *mut *mut c_void,
    pub flags: c_int,
    pub small: [IoPiece; SMALL_VECTOR],
    pub small_owned: [*mut c_void; SMALL_VECTOR],
}

/// What `enif_system_info` tells.
#[repr(C)]
pub struct SystemInfo {
    pub driver_major: c_int,
    pub driver_minor: c_int,
    pub erts_version: *const c_char,
    pub otp_release: *const c_char,
    pub threads: c_int,
    pub smp: c_int,
    pub async_threads: c_int,
    pub schedulers: c_int,
    pub nif_major: c_int,
    pub nif_minor: c_int,
    pub dirty: c_int,
}

const _: () = assert!(size_of::<Entry>() == 96 && size_of::<Function>() == 32 && size_of::<Monitor>() == 32);
const _: () = assert!(size_of::<MapIterator>() == 56 && size_of::<IoVector>() == 424 && size_of::<SystemInfo>() == 56);
const _: () = assert!(size_of::<ResourceInit>() == 40 && size_of::<Binary>() == 24);
