//! Built-in functions, one file for each Erlang module or area. Each file has a table of what it provides; the
//! machine's table is all of them, and a test holds it against the list of what OTP has.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use atoll_process::BuiltIn;

mod atomics;
mod binary;
mod binary_search;
mod convert;
mod debug;
mod display;
mod etf;
mod funs;
mod guards;
mod hash;
mod hooks;
mod identifiers;
mod iolist;
mod lists;
mod maps;
mod math;
mod support;
mod tuples;
mod unicode;

pub use hooks::{answer_request, default_heap, halt, install_default_heap, install_halt};

/// The tables of all areas.
const AREAS: &[&[BuiltIn]] = &[
    guards::BUILT_INS,
    lists::BUILT_INS,
    tuples::BUILT_INS,
    maps::BUILT_INS,
    convert::BUILT_INS,
    iolist::BUILT_INS,
    math::BUILT_INS,
    unicode::BUILT_INS,
    binary::BUILT_INS,
    binary_search::BUILT_INS,
    etf::BUILT_INS,
    hash::BUILT_INS,
    funs::BUILT_INS,
    identifiers::BUILT_INS,
    atomics::BUILT_INS,
    debug::BUILT_INS,
    display::BUILT_INS,
];

/// All built-in functions of this machine.
pub fn built_ins() -> &'static [BuiltIn] {
    static ALL: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    ALL.get_or_init(|| AREAS.concat())
}
