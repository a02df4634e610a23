//! Pauses with much live data: a heap full of live lists that keeps allocating.

use super::memory::{Collected, Memory};
use crate::config::Config;
use crate::error::OutOfMemory;
use crate::statistics::{Pause, Statistics};

/// Words of a list's cell, header included.
const CELL_BYTES: usize = 4 * 8;
const LISTS: usize = 1000;

/// Fills the heap with `live` bytes of lists, then replaces lists until `churn` bytes were allocated on top; its
/// counters and its longer pauses.
pub(super) fn run(config: &Config, live: usize, churn: usize) -> Option<(Statistics, Vec<Pause>)> {
    let mut memory = Collected::new(config).ok()?;
    memory.heap.measure_processor_time(true);
    fill(&mut memory, live, churn).ok()?;
    Some((memory.heap.statistics(), memory.heap.pauses()))
}

fn fill<M: Memory>(memory: &mut M, live: usize, churn: usize) -> Result<(), OutOfMemory> {
    let cells = live / CELL_BYTES / LISTS;
    let table = memory.allocate(LISTS, 0)?;
    let table = memory.root(table);
    let mut index = 0;
    let mut built = 0;
    while built < live + churn {
        // The old list is garbage as soon as the new one begins, so that no more than `live` bytes ever are live.
        memory.link(memory.rooted(table), index, None);
        for _ in 0..cells {
            let cell = memory.allocate(1, 16)?;
            memory.data(cell).fill(index as u8);
            let table = memory.rooted(table);
            memory.link(cell, 0, memory.follow(table, index));
            memory.link(table, index, Some(cell));
        }
        built += cells * CELL_BYTES;
        index = (index + 7) % LISTS;
    }
    Ok(())
}
