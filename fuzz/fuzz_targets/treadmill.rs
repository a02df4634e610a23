//! Any bytes drive a heap: its content and its invariants are as a shadow says.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/treadmill/tests/common/mod.rs"]
mod common;

fuzz_target!(|bytes: &[u8]| common::driven::drive(bytes));
