//! What work on lists and bytes costs in reductions.

use atoll_process::Caller;

/// Elements of a list that cost a reduction.
const ELEMENTS: usize = 40;
/// Bytes that cost a reduction.
const BYTES: usize = 100;

/// Charges for work on so many elements.
pub fn charge_elements(caller: &mut Caller<'_>, elements: usize) {
    caller.reductions -= (elements / ELEMENTS) as i64;
}

/// Charges for work on so many bytes.
pub fn charge_bytes(caller: &mut Caller<'_>, bytes: usize) {
    caller.reductions -= (bytes / BYTES) as i64;
}
