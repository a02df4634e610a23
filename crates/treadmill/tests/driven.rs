//! Heaps driven by random bytes; `fuzz/` drives them by bytes that reach what no others did.
#![cfg(not(loom))]

mod common;

use common::driven::{drive, random_bytes};

#[test]
fn any_bytes_leave_a_sound_heap() {
    for seed in 0..u64::from(common::effort(150)) {
        drive(&random_bytes(seed, 200 + seed as usize % 7 * 1000));
    }
}
