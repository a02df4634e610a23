//! LFS: the Andrew benchmark on a log-structured file system.
//!
//! Directories are made, files are copied, looked at, read and compiled. What is written goes, block by block, into the
//! segment being filled, which is written out when full; the cache keeps more and more blocks, for its policy is poor.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::Memory;

const FILES: usize = 420;
const OPERATIONS: usize = 1306;
const BLOCK: usize = 4000;
const SEGMENT: usize = 60_000;

struct System {
    /// Inodes by file.
    inodes: usize,
    cache: Queue,
    segment: usize,
    filled: usize,
    sum: u64,
}

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(99);
    let inodes = memory.allocate(FILES, 0)?;
    let inodes = memory.root(inodes);
    let segment = memory.allocate(0, SEGMENT)?;
    let segment = memory.root(segment);
    let mut system = System { inodes, cache: Queue::new(), segment, filled: 0, sum: 0 };
    for file in 0..FILES {
        system.write_inode(memory, file, 0)?;
    }
    // What the disk holds already is partly cached.
    for block in 0..240 {
        let data = memory.allocate(0, BLOCK)?;
        fill(memory.data(data), block);
        let root = memory.root(data);
        system.cache.push(memory, root)?;
        memory.unroot(root);
    }
    for operation in 0..OPERATIONS {
        let file = numbers.below(FILES);
        system.look_up(memory, file, &mut numbers)?;
        match operation % 8 {
            0 | 4 | 6 => system.copy(memory, file, numbers.size(2_000, 64_000), operation)?,
            1 | 5 | 7 => system.read(memory, numbers.size(4_000, 120_000), operation)?,
            2 => system.look_at(memory, &mut numbers)?,
            _ => system.compile(memory, file, operation, &mut numbers)?,
        }
    }
    system.cache.clear(memory);
    for file in 0..FILES {
        if let Some(inode) = memory.follow(memory.rooted(inodes), file) {
            memory.free(inode);
        }
    }
    for root in [system.inodes, system.segment] {
        let object = memory.rooted(root);
        memory.free(object);
        memory.unroot(root);
    }
    Ok(system.sum)
}

impl System {
    /// Inodes are never overwritten: a new one enters the table.
    fn write_inode<M: Memory>(&mut self, memory: &mut M, file: usize, seed: u64) -> Result<(), OutOfMemory> {
        let inode = memory.allocate(0, 240)?;
        fill(memory.data(inode), seed);
        let old = memory.follow(memory.rooted(self.inodes), file);
        memory.link(memory.rooted(self.inodes), file, Some(inode));
        if let Some(old) = old {
            memory.free(old);
        }
        Ok(())
    }

    /// Resolves a path: a string for each part.
    fn look_up<M: Memory>(&mut self, memory: &mut M, file: usize, numbers: &mut Numbers) -> Result<(), OutOfMemory> {
        for part in 0..4 {
            let name = memory.allocate(0, 12 + numbers.below(20))?;
            fill(memory.data(name), (file * 4 + part) as u64);
            self.sum = mix(self.sum, memory.data(name));
            memory.free(name);
        }
        Ok(())
    }

    /// Writes a file: its blocks come in buffers, go into the segment, and some stay in the cache.
    fn copy<M: Memory>(&mut self, memory: &mut M, file: usize, size: usize, seed: usize) -> Result<(), OutOfMemory> {
        let mut at = 0;
        while at < size {
            let length = BLOCK.min(size - at);
            let buffer = memory.allocate(0, length)?;
            fill(memory.data(buffer), (seed + at) as u64);
            let bytes = memory.data(buffer).to_vec();
            memory.free(buffer);
            let block = memory.allocate(0, length)?;
            memory.data(block).copy_from_slice(&bytes);
            let block = memory.root(block);
            self.append(memory, &bytes)?;
            if (seed + at / BLOCK) % 5 < 2 && seed.is_multiple_of(2) {
                self.cache.push(memory, block)?;
            } else {
                let object = memory.rooted(block);
                memory.free(object);
            }
            memory.unroot(block);
            at += length;
        }
        self.write_inode(memory, file, seed as u64)
    }

    /// Adds bytes to the segment; a full one is written out, and another begun.
    fn append<M: Memory>(&mut self, memory: &mut M, bytes: &[u8]) -> Result<(), OutOfMemory> {
        if self.filled + bytes.len() > SEGMENT {
            let full = memory.rooted(self.segment);
            self.sum = mix(self.sum, &memory.data(full)[..512]);
            let next = memory.allocate(0, SEGMENT)?;
            let full = memory.rooted(self.segment);
            memory.set_root(self.segment, next);
            memory.free(full);
            self.filled = 0;
        }
        let segment = memory.rooted(self.segment);
        memory.data(segment)[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    /// Reads a file: each block into a buffer of the system's, and from there into one of the program's.
    fn read<M: Memory>(&mut self, memory: &mut M, size: usize, seed: usize) -> Result<(), OutOfMemory> {
        let mut at = 0;
        while at < size {
            let length = BLOCK.min(size - at);
            let block = memory.allocate(0, length)?;
            fill(memory.data(block), (seed + at) as u64);
            let bytes = memory.data(block).to_vec();
            memory.free(block);
            let buffer = memory.allocate(0, length)?;
            memory.data(buffer).copy_from_slice(&bytes);
            self.sum = mix(self.sum, &memory.data(buffer)[..length.min(64)]);
            memory.free(buffer);
            at += length;
        }
        Ok(())
    }

    /// Looks at the attributes of many files.
    fn look_at<M: Memory>(&mut self, memory: &mut M, numbers: &mut Numbers) -> Result<(), OutOfMemory> {
        for _ in 0..24 {
            let file = numbers.below(FILES);
            let attributes = memory.allocate(1, 88)?;
            let inode = memory.follow(memory.rooted(self.inodes), file);
            memory.link(attributes, 0, inode);
            if let Some(inode) = inode {
                self.sum = mix(self.sum, &memory.data(inode)[..64]);
            }
            memory.free(attributes);
        }
        Ok(())
    }

    /// Compiles a file: reads it, allocates tables of odd sizes, writes an object file.
    fn compile<M: Memory>(
        &mut self,
        memory: &mut M,
        file: usize,
        seed: usize,
        numbers: &mut Numbers,
    ) -> Result<(), OutOfMemory> {
        let mut tables = Queue::new();
        for _ in 0..10 {
            let table = memory.allocate(0, numbers.size(200, 9_000))?;
            fill(memory.data(table), seed as u64);
            let root = memory.root(table);
            tables.push(memory, root)?;
            memory.unroot(root);
        }
        tables.clear(memory);
        self.read(memory, numbers.size(4_000, 30_000), seed)?;
        self.copy(memory, file, numbers.size(4_000, 30_000), seed | 1)
    }
}
