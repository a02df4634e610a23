//! Parts of ports and references that both directions of the format know.

use atoll_term::Term;

/// Port numbers up to this one are written in 32 bits, larger ones in 64. Ports of this node have no larger ones.
pub const SHORT_PORT_MAX: u64 = (1 << 28) - 1;
/// Most numbers in a reference of another node, and in one of this node.
pub const REFERENCE_NUMBERS: usize = 5;
pub const LOCAL_REFERENCE_NUMBERS: usize = 3;

/// Whether a port's number goes into the short form.
pub fn is_short_port(number: u64) -> bool {
    number <= SHORT_PORT_MAX
}

/// The numbers of a reference that is an alias of a process of this node: the reference's own, then the pid's data and
/// one, so that what another node sends to the alias finds the process. Zeros there are of no process.
pub fn alias_numbers(numbers: [u32; LOCAL_REFERENCE_NUMBERS], process: Term) -> [u32; REFERENCE_NUMBERS] {
    let [first, second, third] = numbers;
    let data = process.immediate_data() + 1;
    [first, second, third, data as u32, (data >> 32) as u32]
}
