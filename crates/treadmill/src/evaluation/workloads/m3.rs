//! M3: a compiler that builds 37 modules of together 10,000 lines, and keeps most of what it allocates until near its
//! end.
//!
//! Each line is parsed into a tree; identifiers enter the module's scope; the trees are typed, and code is generated
//! for each procedure into a buffer. Tokens, types of subexpressions and unfinished code are garbage; trees, scopes and
//! code stay.

use super::{Numbers, Queue, mix, source};
use crate::error::OutOfMemory;
use crate::evaluation::memory::{Memory, Object, references_of};

const MODULES: usize = 37;
const LINES: usize = 270;
const BUCKETS: usize = 61;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(37);
    let modules = memory.allocate(MODULES, 0)?;
    let modules = memory.root(modules);
    let mut sum = 0;
    for module in 0..MODULES {
        sum = compile(memory, modules, module, &mut numbers, sum)?;
    }
    for module in 0..MODULES {
        if let Some(object) = memory.follow(memory.rooted(modules), module) {
            sum = free_tree(memory, object, sum);
        }
    }
    let object = memory.rooted(modules);
    memory.free(object);
    memory.unroot(modules);
    Ok(sum)
}

/// A module refers to its trees by line, then to the buckets of its scope, then to its code.
fn compile<M: Memory>(
    memory: &mut M,
    modules: usize,
    module: usize,
    numbers: &mut Numbers,
    sum: u64,
) -> Result<u64, OutOfMemory> {
    let unit = memory.allocate(LINES + BUCKETS + LINES / 30, 64)?;
    memory.link(memory.rooted(modules), module, Some(unit));
    let unit = memory.root(unit);
    let (mut text, mut depth, mut sum) = (String::new(), 0, sum);
    for line in 0..LINES {
        source::line(numbers, &mut depth, &mut text);
        let tree = parse(memory, unit, &text, line)?;
        memory.link(memory.rooted(unit), line, tree);
        sum = check(memory, unit, line, sum)?;
        if line % 30 == 29 {
            generate(memory, unit, line, numbers)?;
        }
    }
    memory.unroot(unit);
    Ok(sum)
}

/// The tree of a line: a node for each token that leads to what came before, built over a list of tokens that is
/// garbage then.
fn parse<M: Memory>(memory: &mut M, unit: usize, text: &str, line: usize) -> Result<Option<Object>, OutOfMemory> {
    let mut tokens = Queue::new();
    for token in source::tokens(text).filter(|token| token.as_bytes()[0].is_ascii_alphanumeric()) {
        let object = memory.allocate(0, 16 + token.len())?;
        memory.data(object)[16..].copy_from_slice(token.as_bytes());
        let root = memory.root(object);
        tokens.push(memory, root)?;
        memory.unroot(root);
    }
    let mut tree: Option<usize> = None;
    while let Some(token) = tokens.pop(memory) {
        let bytes = memory.data(token)[16..].to_vec();
        memory.free(token);
        let named = bytes[0].is_ascii_alphabetic();
        let node = memory.allocate(3, 8)?;
        memory.data(node)[..4].copy_from_slice(&(line as u32).to_le_bytes());
        memory.data(node)[4] = bytes[0];
        memory.link(node, 0, tree.map(|tree| memory.rooted(tree)));
        let node = match tree {
            Some(tree) => {
                memory.set_root(tree, node);
                tree
            }
            None => *tree.insert(memory.root(node)),
        };
        if named {
            enter(memory, unit, &bytes, node, line)?;
        }
    }
    Ok(tree.map(|tree| {
        let object = memory.rooted(tree);
        memory.unroot(tree);
        object
    }))
}

/// Finds or makes the scope's entry for a name: one for each seven lines, as if scopes were nested. The node's second
/// reference becomes the entry.
fn enter<M: Memory>(memory: &mut M, unit: usize, name: &[u8], node: usize, line: usize) -> Result<(), OutOfMemory> {
    let bucket = LINES + (mix(0, name) % BUCKETS as u64) as usize;
    let scope = (line / 7) as u8;
    let mut at = memory.follow(memory.rooted(unit), bucket);
    while let Some(entry) = at {
        let data = memory.data(entry);
        if data[0] == scope && &data[1..] == name {
            memory.link(memory.rooted(node), 1, Some(entry));
            return Ok(());
        }
        at = memory.follow(entry, 0);
    }
    let entry = memory.allocate(2, 1 + name.len())?;
    let data = memory.data(entry);
    data[0] = scope;
    data[1..].copy_from_slice(name);
    memory.link(entry, 0, memory.follow(memory.rooted(unit), bucket));
    memory.link(memory.rooted(unit), bucket, Some(entry));
    memory.link(memory.rooted(node), 1, Some(entry));
    Ok(())
}

/// Types a tree: a type for each node, all garbage but the last, which the tree keeps.
fn check<M: Memory>(memory: &mut M, unit: usize, line: usize, sum: u64) -> Result<u64, OutOfMemory> {
    let Some(tree) = memory.follow(memory.rooted(unit), line) else { return Ok(sum) };
    let at = memory.root(tree);
    let mut sum = sum;
    loop {
        let kind = memory.allocate(1, 24)?;
        let node = memory.rooted(at);
        let letter = memory.data(node)[4];
        memory.data(kind)[0] = letter;
        sum = mix(sum, &[letter]);
        match memory.follow(node, 0) {
            Some(next) => {
                memory.set_root(at, next);
                memory.free(kind);
            }
            None => {
                memory.link(node, 2, Some(kind));
                break;
            }
        }
    }
    memory.unroot(at);
    Ok(sum)
}

/// Generates code for the last 30 lines into a buffer that grows twice, and keeps a copy of the right size.
fn generate<M: Memory>(memory: &mut M, unit: usize, line: usize, numbers: &mut Numbers) -> Result<(), OutOfMemory> {
    let size = 3200 + numbers.below(2500);
    for growth in [4, 2] {
        let buffer = memory.allocate(0, size / growth)?;
        super::fill(memory.data(buffer), line as u64);
        memory.free(buffer);
    }
    let code = memory.allocate(0, size)?;
    super::fill(memory.data(code), line as u64);
    memory.link(memory.rooted(unit), LINES + BUCKETS + line / 30, Some(code));
    Ok(())
}

/// Frees a module and all that only it refers to.
fn free_tree<M: Memory>(memory: &mut M, unit: Object, sum: u64) -> u64 {
    let mut sum = sum;
    for index in 0..references_of(unit) {
        let mut at = memory.follow(unit, index);
        while let Some(object) = at {
            // Trees and entries are lists by their first reference; a tree's last node owns its type, entries are freed
            // by their bucket.
            let references = references_of(object);
            at = if references > 0 { memory.follow(object, 0) } else { None };
            if references == 3
                && let Some(kind) = memory.follow(object, 2)
            {
                memory.free(kind);
            }
            if references == 0 {
                sum = mix(sum, &memory.data(object)[..64]);
            }
            memory.free(object);
        }
    }
    memory.free(unit);
    sum
}
