//! Built-in functions, one file for each Erlang module or area. Each file has a table of what it provides; the
//! machine's table is all of them, and a test holds it against the list of what OTP has.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use atoll_process::BuiltIn;

mod allocators;
mod arguments;
mod atomics;
mod binary;
mod binary_info;
mod binary_search;
mod calendar;
mod charging;
mod code;
mod convert;
mod copy;
mod counters;
mod debug;
mod dictionary;
mod display;
mod dist_ctrl;
mod errors;
mod erts_internal;
mod heap_figures;
mod trace_points;

mod ets;
mod ets_faults;
mod ets_info;
mod ets_select;
mod exit;
mod guards;
mod heap_settings;

mod etf;
mod funs;
mod hash;
mod identifiers;
mod instrumentation;
mod internal_state;
mod iolist;
mod link;
mod lists;
mod maps;
mod math;
mod memory_and_statistics;
mod monitor;
mod monitor_node;
mod node;
mod old_code;
mod os;
mod otp;
mod packets;
mod part;
mod persistent_term;
mod process_flag;
mod process_info;
mod process_items;
mod re;
mod re_options;
mod re_pattern;
mod records;
mod registry;
mod send;
mod seq_trace;
mod spawn;
mod spawn_elsewhere;
mod suspended;
mod system_info;
mod system_monitor;
mod system_profile;
mod tail_calls;
mod texts;
mod time;
mod timers;
mod trace;
mod trace_call;
mod trace_events;
mod trace_flags;
mod trace_pattern;
mod trace_time;
mod tracers;
mod tuples;
mod unicode;
mod urgency;
mod watching;

pub use code::{PRE_LOADED, purge_now};
pub use display::install_print;
pub use erts_internal::install_native_modules;
pub use exit::{halt, install_halt};
pub use heap_settings::{default_heap, set_default_heap_limit_flags, set_default_off_heap_messages};
pub use memory_and_statistics::memory_by_type as memory;
pub use os::install_set_signal;
pub use otp::{OtpFunction, missing_from, otp_functions};
pub use part::{Part, enter};
pub use persistent_term::put as put_persistent_term;
pub use process_info::answer_request;
pub use spawn::{TooMany, default_options, report_too_many, spawn_options};
pub use system_info::{ClockFlags, set_clock_flags, set_printable_unicode, set_warning_map, system_logger};
pub use time::system_nanoseconds;
pub use trace_call::{called, caught, raised, returned};
pub use trace_time::scheduled;

/// The tables of all areas.
const AREAS: &[&[BuiltIn]] = &[
    heap_figures::BUILT_INS,
    urgency::BUILT_INS,
    atomics::BUILT_INS,
    counters::BUILT_INS,
    binary::BUILT_INS,
    binary_search::BUILT_INS,
    calendar::BUILT_INS,
    code::BUILT_INS,
    convert::BUILT_INS,
    debug::BUILT_INS,
    dictionary::BUILT_INS,
    display::BUILT_INS,
    dist_ctrl::BUILT_INS,
    erts_internal::BUILT_INS,
    etf::BUILT_INS,
    ets::BUILT_INS,
    ets_select::BUILT_INS,
    exit::BUILT_INS,
    funs::BUILT_INS,
    guards::BUILT_INS,
    hash::BUILT_INS,
    identifiers::BUILT_INS,
    instrumentation::BUILT_INS,
    internal_state::BUILT_INS,
    iolist::BUILT_INS,
    link::BUILT_INS,
    lists::BUILT_INS,
    maps::BUILT_INS,
    math::BUILT_INS,
    monitor::BUILT_INS,
    monitor_node::BUILT_INS,
    node::BUILT_INS,
    os::BUILT_INS,
    packets::BUILT_INS,
    persistent_term::BUILT_INS,
    process_flag::BUILT_INS,
    process_info::BUILT_INS,
    re::BUILT_INS,
    records::BUILT_INS,
    registry::BUILT_INS,
    send::BUILT_INS,
    seq_trace::BUILT_INS,
    spawn::BUILT_INS,
    memory_and_statistics::BUILT_INS,
    spawn_elsewhere::BUILT_INS,
    suspended::BUILT_INS,
    system_monitor::BUILT_INS,
    system_profile::BUILT_INS,
    system_info::BUILT_INS,
    time::BUILT_INS,
    timers::BUILT_INS,
    trace::BUILT_INS,
    trace_pattern::BUILT_INS,
    tuples::BUILT_INS,
    unicode::BUILT_INS,
];

/// All built-in functions of this machine.
pub fn built_ins() -> &'static [BuiltIn] {
    static ALL: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    ALL.get_or_init(|| AREAS.concat())
}
