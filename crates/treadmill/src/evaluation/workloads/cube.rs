//! CUBE: a demonstration of a user interface that rotates a cube in a window.
//!
//! The window keeps its image, fonts and widgets. Each frame allocates an event, a matrix, the turned corners,
//! projected points, and a display list of edges, which the next frame replaces.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::{Memory, Object};

const FRAMES: usize = 1600;
const WIDGETS: usize = 900;
const IMAGE: usize = 256 * 192 * 4;
const CORNERS: usize = 8;
const EDGES: [(usize, usize); 12] =
    [(0, 1), (1, 3), (3, 2), (2, 0), (4, 5), (5, 7), (7, 6), (6, 4), (0, 4), (1, 5), (2, 6), (3, 7)];

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(4);
    let image = memory.allocate(0, IMAGE)?;
    memory.data(image).fill(0);
    let image = memory.root(image);
    let mut widgets = Queue::new();
    for _ in 0..WIDGETS {
        let widget = memory.allocate(3, numbers.size(40, 640))?;
        fill(memory.data(widget), 1);
        let root = memory.root(widget);
        widgets.push(memory, root)?;
        memory.unroot(root);
    }
    let list = memory.allocate(EDGES.len(), 0)?;
    let list = memory.root(list);
    for frame in 0..FRAMES {
        let event = memory.allocate(1, 48)?;
        memory.data(event)[..8].copy_from_slice(&(frame as u64).to_le_bytes());
        memory.free(event);
        free_list(memory, list);
        let points = project(memory, frame)?;
        let points = memory.root(points);
        display(memory, points, list)?;
        draw(memory, list, image);
        let object = memory.rooted(points);
        for corner in 0..CORNERS {
            if let Some(point) = memory.follow(object, corner) {
                memory.free(point);
            }
        }
        memory.free(object);
        memory.unroot(points);
    }
    free_list(memory, list);
    let object = memory.rooted(image);
    let sum = mix(0, memory.data(object));
    widgets.clear(memory);
    for root in [image, list] {
        let object = memory.rooted(root);
        memory.free(object);
        memory.unroot(root);
    }
    Ok(sum)
}

fn numbers_of<const N: usize>(data: &[u8]) -> [f64; N] {
    std::array::from_fn(|index| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&data[index * 8..index * 8 + 8]);
        f64::from_le_bytes(bytes)
    })
}

fn put(data: &mut [u8], numbers: &[f64]) {
    for (chunk, number) in data.chunks_mut(8).zip(numbers) {
        chunk.copy_from_slice(&number.to_le_bytes());
    }
}

/// The cube's corners, turned and projected: an object that refers to the points.
fn project<M: Memory>(memory: &mut M, frame: usize) -> Result<Object, OutOfMemory> {
    let points = memory.allocate(CORNERS, 0)?;
    let points = memory.root(points);
    let matrix = memory.allocate(0, 72)?;
    let (sin, cos) = (frame as f64 * 0.02).sin_cos();
    put(memory.data(matrix), &[cos, sin, 0.0, -sin * 0.8, cos * 0.8, 0.6, sin * 0.6, -cos * 0.6, 0.8]);
    let matrix = memory.root(matrix);
    for corner in 0..CORNERS {
        let sign = |bit: usize| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
        let turned = memory.allocate(0, 24)?;
        let object = memory.rooted(matrix);
        let m: [f64; 9] = numbers_of(memory.data(object));
        let row = |r: usize| m[r] * sign(0) + m[r + 3] * sign(1) + m[r + 6] * sign(2);
        put(memory.data(turned), &[row(0), row(1), row(2)]);
        let [x, y, z]: [f64; 3] = numbers_of(memory.data(turned));
        memory.free(turned);
        let point = memory.allocate(0, 16)?;
        put(memory.data(point), &[128.0 + 200.0 * x / (z + 5.0), 96.0 + 200.0 * y / (z + 5.0)]);
        memory.link(memory.rooted(points), corner, Some(point));
    }
    let object = memory.rooted(matrix);
    memory.free(object);
    memory.unroot(matrix);
    let object = memory.rooted(points);
    memory.unroot(points);
    Ok(object)
}

/// The display list: an item with both ends for each edge.
fn display<M: Memory>(memory: &mut M, points: usize, list: usize) -> Result<(), OutOfMemory> {
    for (index, (from, to)) in EDGES.iter().enumerate() {
        let item = memory.allocate(2, 96)?;
        let corners = [*from, *to].map(|corner| memory.follow(memory.rooted(points), corner));
        let mut ends = [0.0; 4];
        for (end, corner) in corners.iter().enumerate() {
            memory.link(item, end, *corner);
            if let Some(point) = corner {
                ends[end * 2..end * 2 + 2].copy_from_slice(&numbers_of::<2>(memory.data(*point)));
            }
        }
        put(memory.data(item), &ends);
        memory.link(memory.rooted(list), index, Some(item));
    }
    Ok(())
}

fn draw<M: Memory>(memory: &mut M, list: usize, image: usize) {
    for index in 0..EDGES.len() {
        let Some(item) = memory.follow(memory.rooted(list), index) else { continue };
        let [x0, y0, x1, y1]: [f64; 4] = numbers_of(memory.data(item));
        let target = memory.rooted(image);
        let pixels = memory.data(target);
        for step in 0..64 {
            let t = step as f64 / 63.0;
            let (x, y) = ((x0 + (x1 - x0) * t) as usize, (y0 + (y1 - y0) * t) as usize);
            let at = (y.min(191) * 256 + x.min(255)) * 4;
            pixels[at] = pixels[at].wrapping_add(17);
        }
    }
}

fn free_list<M: Memory>(memory: &mut M, list: usize) {
    for index in 0..EDGES.len() {
        if let Some(item) = memory.follow(memory.rooted(list), index) {
            memory.free(item);
            memory.link(memory.rooted(list), index, None);
        }
    }
}
