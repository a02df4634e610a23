//! BLUR: an image of 2.5 MB is blurred, stroke by stroke, as in a paint program that can undo: the pixels under each
//! stroke are copied first.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::Memory;

const WIDTH: usize = 1024;
/// The image is kept in strips of so many rows.
const STRIP: usize = 42;
const STRIPS: usize = 20;
const HEIGHT: usize = STRIP * STRIPS;
const DEPTH: usize = 3;
const VOLUME: usize = 209_000_000;
const UNDO_BYTES: usize = 1_800_000;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(212);
    let image = memory.allocate(STRIPS, 0)?;
    let image = memory.root(image);
    for strip in 0..STRIPS {
        let rows = memory.allocate(0, WIDTH * STRIP * DEPTH)?;
        fill(memory.data(rows), strip as u64);
        memory.link(memory.rooted(image), strip, Some(rows));
    }
    let mut undo = Queue::new();
    let (mut kept, mut allocated) = (0, 0);
    while allocated < VOLUME {
        let (width, height) = (numbers.size(12, 190), numbers.size(12, 150));
        let (x, y) = (numbers.below(WIDTH - width), numbers.below(HEIGHT - height));
        let bytes = width * height * DEPTH;
        let copy = memory.allocate(0, 32 + bytes)?;
        let copy = memory.root(copy);
        let blurred = memory.allocate(0, bytes)?;
        for row in 0..height {
            let old = pixels(memory, image, x, y + row, width).to_vec();
            let keep = memory.rooted(copy);
            memory.data(keep)[32 + row * width * DEPTH..][..width * DEPTH].copy_from_slice(&old);
            blur_row(&old, &mut memory.data(blurred)[row * width * DEPTH..][..width * DEPTH]);
        }
        for row in 0..height {
            let new = memory.data(blurred)[row * width * DEPTH..][..width * DEPTH].to_vec();
            pixels(memory, image, x, y + row, width).copy_from_slice(&new);
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
    let mut sum = 0;
    for strip in 0..STRIPS {
        if let Some(rows) = memory.follow(memory.rooted(image), strip) {
            sum = mix(sum, memory.data(rows));
            memory.free(rows);
        }
    }
    let object = memory.rooted(image);
    memory.free(object);
    memory.unroot(image);
    Ok(sum)
}

/// Pixels of one row of the image.
fn pixels<M: Memory>(memory: &mut M, image: usize, x: usize, y: usize, width: usize) -> &mut [u8] {
    match memory.follow(memory.rooted(image), y / STRIP) {
        Some(strip) => &mut memory.data(strip)[(y % STRIP * WIDTH + x) * DEPTH..][..width * DEPTH],
        None => &mut [],
    }
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
