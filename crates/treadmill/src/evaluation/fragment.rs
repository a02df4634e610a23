//! A program for Figure 11, whose workload the paper does not name: phases that each use one size and keep few of their
//! objects, so that pages with little in them are left to sizes that are needed no more.

use super::memory::Memory;
use crate::error::OutOfMemory;

const PHASES: usize = 48;
const OBJECTS: usize = 1500;
const KEPT_EACH: usize = 24;
const KEPT: usize = OBJECTS / KEPT_EACH;
/// Phases after which what a phase kept is dropped.
const LIFE: usize = 24;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<(), OutOfMemory> {
    let table = memory.allocate(LIFE * (KEPT + 1), 0)?;
    let table = memory.root(table);
    for phase in 0..PHASES {
        // Sizes from 16 to about 900 bytes, in an order without pattern.
        let bytes = 16 << (phase * 5 % 6);
        let bytes = bytes + phase * 7 % bytes;
        for object in 0..OBJECTS {
            let new = memory.allocate(0, bytes)?;
            memory.data(new).fill(phase as u8);
            if object % KEPT_EACH == 0 {
                let place = phase % LIFE * (KEPT + 1) + object / KEPT_EACH;
                memory.link(memory.rooted(table), place, Some(new));
            }
        }
    }
    memory.unroot(table);
    Ok(())
}
