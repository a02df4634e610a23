//! M3PP: a pretty printer over 1.5 MB of source text, which keeps only the procedure at hand.
//!
//! Each line becomes a list of boxes: groups and possible breaks, two to four words each. A procedure's boxes are laid
//! out and printed, and forgotten.

use super::{Numbers, Queue, mix, source};
use crate::error::OutOfMemory;
use crate::evaluation::memory::Memory;

const SOURCE: usize = 1_500_000;
const PROCEDURE: usize = 700;
const SYMBOLS: usize = 900;
const MARGIN: usize = 78;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(15);
    let (mut text, mut depth, mut read, mut sum) = (String::new(), 0, 0, 0);
    let lines = memory.allocate(PROCEDURE, 0)?;
    let lines = memory.root(lines);
    let mut symbols = Queue::new();
    for symbol in 0..SYMBOLS {
        let entry = memory.allocate(1, 24 + symbol % 40)?;
        super::fill(memory.data(entry), symbol as u64);
        let root = memory.root(entry);
        symbols.push(memory, root)?;
        memory.unroot(root);
    }
    let mut count = 0;
    while read < SOURCE {
        source::line(&mut numbers, &mut depth, &mut text);
        read += text.len() + 1;
        // A line's first box leads to the others, newest first.
        let head = memory.allocate(1, 8)?;
        memory.data(head)[..8].copy_from_slice(&(depth as u64).to_le_bytes());
        memory.link(memory.rooted(lines), count, Some(head));
        let mut column = 0;
        for token in source::tokens(&text) {
            column += token.len() + 1;
            if token.len() == 1 || column % 3 == 0 {
                continue;
            }
            let references = if token.len() > 5 { 2 } else { 1 };
            let item = memory.allocate(references, if token.len() > 3 { 8 } else { 2 })?;
            memory.data(item)[..2].copy_from_slice(&(column as u16).to_le_bytes());
            let Some(head) = memory.follow(memory.rooted(lines), count) else { break };
            memory.link(item, 0, memory.follow(head, 0));
            memory.link(head, 0, Some(item));
        }
        count += 1;
        if count == PROCEDURE {
            sum = print(memory, lines, count, sum);
            count = 0;
        }
    }
    sum = print(memory, lines, count, sum);
    symbols.clear(memory);
    let object = memory.rooted(lines);
    memory.free(object);
    memory.unroot(lines);
    Ok(sum)
}

/// Breaks the lines where they are too long, and forgets them.
fn print<M: Memory>(memory: &mut M, lines: usize, count: usize, sum: u64) -> u64 {
    let mut sum = sum;
    for line in 0..count {
        let Some(head) = memory.follow(memory.rooted(lines), line) else { continue };
        let mut item = memory.follow(head, 0);
        while let Some(at) = item {
            let data = memory.data(at);
            let column = u16::from_le_bytes([data[0], data[1]]) as usize;
            sum = mix(sum, &[(column > MARGIN) as u8, column as u8]);
            item = memory.follow(at, 0);
            memory.free(at);
        }
        memory.link(memory.rooted(lines), line, None);
        memory.free(head);
    }
    sum
}
