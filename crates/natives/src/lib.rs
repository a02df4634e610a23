//! Native functions: what OTP's own modules (`prim_file`, `prim_socket`, ...) expect in the place of functions whose
//! body only says that it is not loaded. They have the shape of built-in functions, and take the place of the
//! bodies when their module is loaded.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use atoll_process::BuiltIn;

mod arguments;
mod at_exit;
mod buffers;
pub mod dirty;
mod dirty_calls;
mod files;
mod part;
mod results;
mod sockets;
pub mod terminal;
mod tracer;
mod zlib;

pub use files::names::{Encoding, native_bytes, set_encoding};
pub use part::{Part, enter};

/// Modules whose native functions are part of the machine: `erlang:load_nif/2` has nothing left to do for them.
pub const MODULES: &[&str] = &["prim_file", "prim_buffer", "erl_tracer", "zlib", "prim_socket", "prim_net", "prim_tty"];

/// The tables of all areas.
const AREAS: &[&[BuiltIn]] = &[
    buffers::BUILT_INS,
    dirty_calls::BUILT_INS,
    files::directories::BUILT_INS,
    files::handles::BUILT_INS,
    files::information::BUILT_INS,
    files::names::BUILT_INS,
    files::transfer::BUILT_INS,
    sockets::access::BUILT_INS,
    sockets::connecting::BUILT_INS,
    sockets::information::BUILT_INS,
    sockets::interfaces::BUILT_INS,
    sockets::names::BUILT_INS,
    sockets::open::BUILT_INS,
    sockets::receiving::BUILT_INS,
    sockets::sending::BUILT_INS,
    terminal::BUILT_INS,
    terminal::capabilities::BUILT_INS,
    terminal::width::BUILT_INS,
    tracer::BUILT_INS,
    zlib::BUILT_INS,
];

/// All native functions.
pub fn built_ins() -> &'static [BuiltIn] {
    static ALL: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    ALL.get_or_init(|| AREAS.concat())
}
