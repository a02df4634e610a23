//! BLUR: an image of 2.5 MB is blurred, stroke by stroke, as in a paint program that can undo: the pixels under each stroke are copied first.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::Memory;

const WIDTH: usize = 1024;
const HEIGHT: usize = 814;
const DEPTH: usize = 3;
const VOLUME: usize = 209_000_000;
const UNDO_BYTES: usize = 1_800_000;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(212);
    let image = memory.allocate(0, WIDTH * HEIGHT * DEPTH)?;
    fill(memory.data(image), 5);
    let image = memory.root(image);
    let mut undo = Queue::new();
    let (mut kept, mut allocated) = (0, 0);
    while allocated < VOLUME {
        let (width, height) = (numbers.size(4, 300), numbers.size(4, 200));
        let (x, y) = (numbers.below(WIDTH - width), numbers.below(HEIGHT - height));
        let bytes = width * height * DEPTH;
        let copy = memory.allocate(0, 32 + bytes)?;
        let copy = memory.root(copy);
        let blurred = memory.allocate(0, bytes)?;
        for row in 0..height {
            let from = ((y + row) * WIDTH + x) * DEPTH;
            let source = memory.rooted(image);
            let old = memory.data(source)[from..from + width * DEPTH].to_vec();
            let keep = memory.rooted(copy);
            memory.data(keep)[32 + row * width * DEPTH..][..width * DEPTH].copy_from_slice(&old);
            blur_row(&old, &mut memory.data(blurred)[row * width * DEPTH..][..width * DEPTH]);
        }
        for row in 0..height {
            let new = memory.data(blurred)[row * width * DEPTH..][..width * DEPTH].to_vec();
            let target = memory.rooted(image);
            memory.data(target)[((y + row) * WIDTH + x) * DEPTH..][..width * DEPTH].copy_from_slice(&new);
        }
        memory.free(blurred);
        undo.push(memory, copy)?;
        memory.unroot(copy);
        kept += bytes;
        allocated += 2 * bytes + 80;
        while kept > UNDO_BYTES
            && let Some(oldest) = undo.pop(memory)
        {
            kept -= memory.bytes_of(oldest) - 32;
            memory.free(oldest);
        }
    }
    undo.clear(memory);
    let object = memory.rooted(image);
    let sum = mix(0, memory.data(object));
    memory.free(object);
    memory.unroot(image);
    Ok(sum)
}

/// Each pixel becomes the mean of itself and its neighbours.
fn blur_row(old: &[u8], new: &mut [u8]) {
    let last = old.len() - DEPTH;
    for index in 0..old.len() {
        let left = old[index.max(DEPTH) - DEPTH] as u16;
        let right = old[if index < last { index + DEPTH } else { index }] as u16;
        new[index] = ((left + 2 * old[index] as u16 + right) / 4) as u8;
    }
}
