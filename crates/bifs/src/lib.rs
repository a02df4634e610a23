//! Built-in functions, one file for each Erlang module or area. Each file has a table of what it provides; the
//! machine's table is all of them, and a test holds it against the list of what OTP has.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use atoll_process::BuiltIn;

mod code;
mod dictionary;
pub mod exit;
mod guards;
mod link;
mod monitor;
mod process_flag;
mod process_info;
mod registry;
mod send;
pub mod spawn;
mod support;
mod time;

pub use process_info::answer_request;

/// The tables of all areas.
const AREAS: &[&[BuiltIn]] = &[
    code::BUILT_INS,
    dictionary::BUILT_INS,
    exit::BUILT_INS,
    guards::BUILT_INS,
    link::BUILT_INS,
    monitor::BUILT_INS,
    process_flag::BUILT_INS,
    process_info::BUILT_INS,
    registry::BUILT_INS,
    send::BUILT_INS,
    spawn::BUILT_INS,
    time::BUILT_INS,
];

/// All built-in functions of this machine.
pub fn built_ins() -> &'static [BuiltIn] {
    static ALL: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    ALL.get_or_init(|| AREAS.concat())
}
