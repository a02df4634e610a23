//! What a machine makes of work that is always the same: reads of resident memory at random, in pieces of some tens of
//! microseconds, by the thread's processor clock. What takes long here takes long in a collector's slices too, and is
//! nobody's fault but the machine's (interrupts, a hypervisor's page tables). Arguments: megabytes, seconds.

use std::hint::black_box;

use atoll_platform::clock::{monotonic, thread_cpu};

/// Reads in a piece.
const READS: usize = 2000;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap_or(0));
    let megabytes = arguments.next().unwrap_or(600).max(1);
    let seconds = arguments.next().unwrap_or(10);
    let memory: Vec<u64> = (0..(megabytes << 20) as u64 / 8).collect();
    let end = monotonic() + seconds as i64 * 1_000_000_000;
    let (mut random, mut sum) = (88_172_645_463_325_252_u64, 0_u64);
    let mut pieces = Vec::with_capacity(1 << 20);
    while monotonic() < end && pieces.len() < pieces.capacity() {
        let started = thread_cpu();
        for _ in 0..READS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            sum = sum.wrapping_add(memory[random as usize % memory.len()]);
        }
        pieces.push(thread_cpu() - started);
    }
    black_box(sum);
    pieces.sort_unstable();
    let (Some(median), Some(longest)) = (pieces.get(pieces.len() / 2), pieces.last()) else { return };
    let long = pieces.iter().filter(|piece| **piece > 1_000_000).count();
    println!("{} pieces: median {} us, longest {} us, {long} above 1 ms", pieces.len(), median / 1000, longest / 1000);
}
