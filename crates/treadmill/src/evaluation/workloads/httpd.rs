//! HTTPD: a web server with the cache of its files, serving 65 files of together 5 MB, 14 times over, to 10 clients at
//! once.
//!
//! The server runs in a kernel that has data of its own, which lives throughout and does not count as allocated by the
//! program. A file is read at its first request, block by block, and its text stays in the server's cache. A request
//! allocates a connection, its text, parsed headers and a chain of packet descriptors that a client acknowledges some
//! requests later.

use super::{Numbers, Queue, fill, mix};
use crate::error::OutOfMemory;
use crate::evaluation::memory::{Memory, Object, references_of};

const FILES: usize = 65;
const COPIES: usize = 14;
const CLIENTS: usize = 10;
const BLOCK: usize = 36_000;
const HEADERS: usize = 9;
/// Bytes of the kernel's own data, and the objects that they are in.
const KERNEL: usize = 3_700_000;
const KERNEL_OBJECTS: usize = 2_400;

pub(super) fn run<M: Memory>(memory: &mut M) -> Result<u64, OutOfMemory> {
    let mut numbers = Numbers::new(65);
    let sizes = file_sizes(&mut numbers);
    let kernel = boot(memory)?;
    memory.restart_clock();
    let cache = memory.allocate(FILES, 0)?;
    let cache = memory.root(cache);
    let clients = memory.allocate(CLIENTS, 0)?;
    let clients = memory.root(clients);
    let mut served = Queue::new();
    let mut sum = 0;
    for request in 0..FILES * COPIES {
        let client = request % CLIENTS;
        let file = (request * 7 + request / FILES) % FILES;
        if memory.follow(memory.rooted(cache), file).is_none() {
            read(memory, cache, file, sizes[file])?;
        }
        let connection = connect(memory, client, file, &mut numbers)?;
        let connection = memory.root(connection);
        sum = respond(memory, cache, file, connection, sum)?;
        let old = memory.follow(memory.rooted(clients), client);
        memory.link(memory.rooted(clients), client, Some(memory.rooted(connection)));
        memory.unroot(connection);
        if let Some(old) = old {
            let old = memory.root(old);
            served.push(memory, old)?;
            memory.unroot(old);
        }
        if served.length > 2 * CLIENTS
            && let Some(connection) = served.pop(memory)
        {
            close(memory, connection);
        }
    }
    while let Some(connection) = served.pop(memory) {
        close(memory, connection);
    }
    for client in 0..CLIENTS {
        if let Some(connection) = memory.follow(memory.rooted(clients), client) {
            close(memory, connection);
        }
    }
    for file in 0..FILES {
        if let Some(text) = memory.follow(memory.rooted(cache), file) {
            memory.free(text);
        }
    }
    for object in 0..KERNEL_OBJECTS {
        if let Some(object) = memory.follow(memory.rooted(kernel), object) {
            memory.free(object);
        }
    }
    for root in [kernel, cache, clients] {
        let object = memory.rooted(root);
        memory.free(object);
        memory.unroot(root);
    }
    Ok(sum)
}

/// Few large files and many small ones, together 5 MB.
fn file_sizes(numbers: &mut Numbers) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..FILES).map(|_| numbers.size(8_000, 300_000)).collect();
    let total: usize = sizes.iter().sum();
    for size in &mut sizes {
        *size = (*size as u64 * 4_800_000 / total as u64) as usize + 100;
    }
    sizes
}

/// The kernel's data, of all sizes up to some pages.
fn boot<M: Memory>(memory: &mut M) -> Result<usize, OutOfMemory> {
    let mut numbers = Numbers::new(22);
    let sizes: Vec<usize> = (0..KERNEL_OBJECTS).map(|_| numbers.size(64, 30_000)).collect();
    let total: usize = sizes.iter().sum();
    let table = memory.allocate(KERNEL_OBJECTS, 0)?;
    let table = memory.root(table);
    for (index, size) in sizes.into_iter().enumerate() {
        let object = memory.allocate(0, (size as u64 * KERNEL as u64 / total as u64) as usize)?;
        memory.link(memory.rooted(table), index, Some(object));
    }
    Ok(table)
}

/// Reads a file into the cache: its blocks one by one, garbage once the text is whole.
fn read<M: Memory>(memory: &mut M, cache: usize, file: usize, size: usize) -> Result<(), OutOfMemory> {
    let blocks = size.div_ceil(BLOCK);
    let index = memory.allocate(blocks, 64)?;
    let index = memory.root(index);
    for block in 0..blocks {
        let data = memory.allocate(0, BLOCK.min(size - block * BLOCK))?;
        fill(memory.data(data), (file * 1000 + block) as u64);
        memory.link(memory.rooted(index), block, Some(data));
    }
    let text = memory.allocate(0, size)?;
    let mut at = 0;
    for block in 0..blocks {
        let Some(data) = memory.follow(memory.rooted(index), block) else { break };
        let bytes = memory.data(data).to_vec();
        memory.data(text)[at..at + bytes.len()].copy_from_slice(&bytes);
        at += bytes.len();
    }
    memory.link(memory.rooted(cache), file, Some(text));
    let done = memory.rooted(index);
    free_blocks(memory, done);
    memory.unroot(index);
    Ok(())
}

/// A connection: request text, headers, packets.
fn connect<M: Memory>(
    memory: &mut M,
    client: usize,
    file: usize,
    numbers: &mut Numbers,
) -> Result<Object, OutOfMemory> {
    let connection = memory.allocate(2 + HEADERS, 120)?;
    let connection = memory.root(connection);
    let text = format!("GET /tree/file{file}.html HTTP/1.0\r\nHost: client{client}\r\n");
    let request = memory.allocate(0, 512 + numbers.below(200))?;
    memory.data(request)[..text.len()].copy_from_slice(text.as_bytes());
    memory.link(memory.rooted(connection), 0, Some(request));
    for header in 0..HEADERS {
        let value = memory.allocate(0, 24 + numbers.below(60))?;
        fill(memory.data(value), header as u64);
        memory.link(memory.rooted(connection), 2 + header, Some(value));
    }
    let object = memory.rooted(connection);
    memory.unroot(connection);
    Ok(object)
}

/// Sends the file as packets: descriptors that share its text, with copied heads.
fn respond<M: Memory>(
    memory: &mut M,
    cache: usize,
    file: usize,
    connection: usize,
    sum: u64,
) -> Result<u64, OutOfMemory> {
    let mut sum = sum;
    let Some(text) = memory.follow(memory.rooted(cache), file) else { return Ok(sum) };
    let packets = (memory.bytes_of(text) / 4380).clamp(1, 40);
    for packet in 0..packets {
        let descriptor = memory.allocate(2, 360)?;
        memory.link(descriptor, 0, memory.follow(memory.rooted(connection), 1));
        memory.link(memory.rooted(connection), 1, Some(descriptor));
        let Some(text) = memory.follow(memory.rooted(cache), file) else { break };
        memory.link(descriptor, 1, Some(text));
        let from = (packet * 4380).min(memory.bytes_of(text));
        let to = (from + 256).min(memory.bytes_of(text));
        let head = memory.data(text)[from..to].to_vec();
        memory.data(descriptor)[..head.len()].copy_from_slice(&head);
        sum = mix(sum, &memory.data(text)[from..to]);
    }
    Ok(sum)
}

fn close<M: Memory>(memory: &mut M, connection: Object) {
    let mut packet = memory.follow(connection, 1);
    while let Some(descriptor) = packet {
        packet = memory.follow(descriptor, 0);
        memory.free(descriptor);
    }
    for part in std::iter::once(0).chain(2..2 + HEADERS) {
        if let Some(object) = memory.follow(connection, part) {
            memory.free(object);
        }
    }
    memory.free(connection);
}

/// Frees an index with its blocks.
fn free_blocks<M: Memory>(memory: &mut M, object: Object) {
    for block in 0..references_of(object) {
        if let Some(data) = memory.follow(object, block) {
            memory.free(data);
        }
    }
    memory.free(object);
}
