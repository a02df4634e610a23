//! TRANS: transactions over recoverable memory, as in the RVM benchmark.
//!
//! The recoverable memory is 40 segments of different sizes. A transaction declares ranges: the old content of each is
//! copied into an undo record; the range is changed; at commit the new content is copied into redo records, which a log
//! writer gathers into a buffer. Every tenth transaction aborts and puts the old content back. The log keeps its last
//! buffers until they are applied.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::Memory;

const SEGMENTS: usize = 40;
const TRANSACTIONS: usize = 2365;
const RANGES: usize = 4;
const LOG_BUFFERS: usize = 20;
const LOG_BYTES: usize = 32_000;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(43);
    let table = memory.allocate(SEGMENTS, 0)?;
    let table = memory.root(table);
    for index in 0..SEGMENTS {
        let segment = memory.allocate(0, 56_000 + index * 230)?;
        fill(memory.data(segment), index as u64);
        memory.link(memory.rooted(table), index, Some(segment));
    }
    let mut log = Queue::new();
    let mut pending = Queue::new();
    let mut pending_bytes = 0;
    let mut sum = 0;
    for transaction in 0..TRANSACTIONS {
        let aborts = transaction % 10 == 9;
        let mut undo = Queue::new();
        for _ in 0..RANGES {
            let index = numbers.below(SEGMENTS);
            let length = numbers.size(100, 6_000);
            change(memory, table, &mut undo, index, length, &mut numbers)?;
        }
        while let Some(record) = undo.pop(memory) {
            if aborts {
                restore(memory, table, record);
                memory.free(record);
                continue;
            }
            let record = memory.root(record);
            let length = memory.bytes_of(memory.rooted(record)) - RECORD;
            if pending_bytes + length > LOG_BYTES {
                sum = flush(memory, &mut pending, &mut log, pending_bytes, sum)?;
                pending_bytes = 0;
            }
            pending_bytes += redo(memory, table, &mut pending, record)?;
            let done = memory.rooted(record);
            memory.free(done);
            memory.unroot(record);
        }
        while log.length > LOG_BUFFERS {
            if let Some(applied) = log.pop(memory) {
                memory.free(applied);
            }
        }
    }
    for index in 0..SEGMENTS {
        if let Some(segment) = memory.follow(memory.rooted(table), index) {
            sum = mix(sum, memory.data(segment));
            memory.free(segment);
        }
    }
    pending.clear(memory);
    log.clear(memory);
    let done = memory.rooted(table);
    memory.free(done);
    memory.unroot(table);
    Ok(sum)
}

/// A record is the segment's index, the offset, and the bytes.
const RECORD: usize = 16;

fn record_place(data: &[u8]) -> (usize, usize) {
    let number = |at: usize| data[at..at + 8].iter().rev().fold(0usize, |sum, byte| sum << 8 | *byte as usize);
    (number(0), number(8))
}

/// Copies a range into an undo record and changes it.
fn change<M: Memory>(
    memory: &mut M,
    table: usize,
    undo: &mut Queue,
    index: usize,
    length: usize,
    numbers: &mut Numbers,
) -> Result<(), OutOfMemory> {
    let record = memory.allocate(0, RECORD + length)?;
    let root = memory.root(record);
    let Some(segment) = memory.follow(memory.rooted(table), index) else { return Ok(()) };
    let offset = numbers.below(memory.bytes_of(segment) - length);
    let old = memory.data(segment)[offset..offset + length].to_vec();
    fill(&mut memory.data(segment)[offset..offset + length], numbers.next());
    let data = memory.data(record);
    data[..8].copy_from_slice(&(index as u64).to_le_bytes());
    data[8..16].copy_from_slice(&(offset as u64).to_le_bytes());
    data[RECORD..].copy_from_slice(&old);
    undo.push(memory, root)?;
    memory.unroot(root);
    Ok(())
}

fn restore<M: Memory>(memory: &mut M, table: usize, record: super::Object) {
    let old = memory.data(record).to_vec();
    let (index, offset) = record_place(&old);
    if let Some(segment) = memory.follow(memory.rooted(table), index) {
        memory.data(segment)[offset..offset + old.len() - RECORD].copy_from_slice(&old[RECORD..]);
    }
}

/// Copies the new content of an undo record's range into a redo record; its bytes.
fn redo<M: Memory>(memory: &mut M, table: usize, pending: &mut Queue, undo: usize) -> Result<usize, OutOfMemory> {
    let (index, offset) = record_place(memory.data(memory.rooted(undo)));
    let length = memory.bytes_of(memory.rooted(undo)) - RECORD;
    let record = memory.allocate(0, length)?;
    if let Some(segment) = memory.follow(memory.rooted(table), index) {
        let new = memory.data(segment)[offset..offset + length].to_vec();
        memory.data(record).copy_from_slice(&new);
    }
    let root = memory.root(record);
    pending.push(memory, root)?;
    memory.unroot(root);
    Ok(length)
}

/// Gathers the redo records into a buffer of the log.
fn flush<M: Memory>(
    memory: &mut M,
    pending: &mut Queue,
    log: &mut Queue,
    bytes: usize,
    sum: u64,
) -> Result<u64, OutOfMemory> {
    let buffer = memory.allocate(0, bytes)?;
    let root = memory.root(buffer);
    let mut at = 0;
    while let Some(record) = pending.pop(memory) {
        let bytes = memory.data(record).to_vec();
        memory.free(record);
        memory.data(buffer)[at..at + bytes.len()].copy_from_slice(&bytes);
        at += bytes.len();
    }
    log.push(memory, root)?;
    let sum = mix(sum, &memory.data(memory.rooted(root))[..at.min(512)]);
    memory.unroot(root);
    Ok(sum)
}
