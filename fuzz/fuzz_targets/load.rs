//! Any bytes: a module that can be shown, or an error.

#![no_main]

use atoll_loader::{disassemble, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(module) = load(bytes) {
        let mut text = String::new();
        disassemble(&module, &mut text).expect("memory");
    }
});
