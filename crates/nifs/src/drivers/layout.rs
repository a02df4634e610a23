//! Layouts that drivers are compiled against: those of the interface's version 3.3.

use std::ffi::{c_char, c_int, c_uint, c_void};

use atoll_term::Word;

use crate::abi::{IoPiece, Monitor};
use crate::drivers::binaries::Binary;

/// Major version of the interface, and the oldest that is accepted.
pub const MAJOR: c_int = 3;
pub const OLDEST_MAJOR: c_int = 2;
pub const MINOR: c_int = 3;
/// What stands in an entry in front of its version.
pub const MARKER: c_uint = 0xfeee_eeed;

/// What a driver is called by. It is the port's term, so one that is gone is found to be gone.
pub type Handle = Word;
/// What a driver keeps for a port.
pub type Data = *mut c_void;
/// A file descriptor.
pub type Waited = *mut c_void;

type Output = unsafe extern "C" fn(Data, *mut c_char, usize);
type Control = unsafe extern "C" fn(Data, c_uint, *mut c_char, usize, *mut *mut c_char, usize) -> isize;
type Call = unsafe extern "C" fn(Data, c_uint, *mut c_char, usize, *mut *mut c_char, usize, *mut c_uint) -> isize;

/// What a driver says of itself.
#[repr(C)]
pub struct Entry {
    pub init: Option<unsafe extern "C" fn() -> c_int>,
    pub start: Option<unsafe extern "C" fn(Handle, *mut c_char) -> Data>,
    pub stop: Option<unsafe extern "C" fn(Data)>,
    pub output: Option<Output>,
    pub ready_input: Option<unsafe extern "C" fn(Data, Waited)>,
    pub ready_output: Option<unsafe extern "C" fn(Data, Waited)>,
    pub name: *const c_char,
    pub finish: Option<unsafe extern "C" fn()>,
    pub handle: *mut c_void,
    pub control: Option<Control>,
    pub timeout: Option<unsafe extern "C" fn(Data)>,
    pub output_vector: Option<unsafe extern "C" fn(Data, *mut IoVector)>,
    pub ready_async: Option<unsafe extern "C" fn(Data, *mut c_void)>,
    pub flush: Option<unsafe extern "C" fn(Data)>,
    pub call: Option<Call>,
    pub unused: *const c_void,
    pub marker: c_uint,
    pub major: c_int,
    pub minor: c_int,
    pub flags: c_int,
    pub second_handle: *mut c_void,
    pub process_exit: Option<unsafe extern "C" fn(Data, *mut Monitor)>,
    pub stop_select: Option<unsafe extern "C" fn(Waited, *mut c_void)>,
    pub emergency_close: *const c_void,
}

/// Pieces of memory, and the binaries that they lie in.
#[repr(C)]
pub struct IoVector {
    pub count: c_int,
    pub size: usize,
    pub pieces: *mut IoPiece,
    pub binaries: *mut *mut Binary,
}

const _: () = assert!(size_of::<Entry>() == 176 && size_of::<IoVector>() == 32);
