//! `prim_buffer`: queues of bytes that programs change in place. Writing copies nothing that lies outside of heaps.

use std::collections::VecDeque;

use atoll_operations::list;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::results::ok;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_buffer", "new", 0, new),
    BuiltIn::new("prim_buffer", "size", 1, size),
    BuiltIn::new("prim_buffer", "peek_head", 1, peek_head),
    BuiltIn::new("prim_buffer", "copying_read", 2, copying_read),
    BuiltIn::new("prim_buffer", "write", 2, write),
    BuiltIn::new("prim_buffer", "skip", 2, skip),
    BuiltIn::new("prim_buffer", "find_byte_index", 2, find_byte_index),
    BuiltIn::new("prim_buffer", "try_lock", 1, try_lock),
    BuiltIn::new("prim_buffer", "unlock", 1, unlock),
];

static ACQUIRED: LazyAtom = LazyAtom::new("acquired");
static BUSY: LazyAtom = LazyAtom::new("busy");
static LOCK_ORDER_VIOLATION: LazyAtom = LazyAtom::new("lock_order_violation");
static NOT_FOUND: LazyAtom = LazyAtom::new("not_found");

#[derive(Default)]
struct Buffer {
    pieces: VecDeque<Bytes>,
    size: usize,
    locked: bool,
}

impl Buffer {
    /// Drops the first `count` bytes, of which there are enough.
    fn advance(&mut self, count: usize) {
        self.size -= count;
        let mut left = count;
        while left > 0
            && let Some(head) = self.pieces.front_mut()
        {
            if head.len() > left {
                let _ = head.split_to(left);
                return;
            }
            left -= head.len();
            self.pieces.pop_front();
        }
    }
}

fn buffer(reference: &Term) -> Result<&Mutex<Buffer>, atoll_process::Interrupt> {
    reference.magic().ok_or_else(badarg)
}

/// A count of bytes that the buffer has.
fn count(buffer: &Buffer, term: Term) -> Result<usize, atoll_process::Interrupt> {
    let count = term.as_small().and_then(|count| usize::try_from(count).ok());
    count.filter(|count| *count <= buffer.size).ok_or_else(badarg)
}

fn new(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(ReferenceId::of_value(caller.heap(), Mutex::new(Buffer::default())))
}

fn size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::small(buffer(&arguments[0])?.lock().size as i64))
}

fn peek_head(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let buffer = buffer(&arguments[0])?.lock();
    let head = buffer.pieces.front().ok_or_else(badarg)?;
    Ok(caller.heap().binary(head))
}

fn copying_read(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut buffer = buffer(&arguments[0])?.lock();
    let count = count(&buffer, arguments[1])?;
    let mut bytes = Vec::with_capacity(count);
    for piece in &buffer.pieces {
        let wanted = piece.len().min(count - bytes.len());
        bytes.extend_from_slice(&piece[..wanted]);
        if bytes.len() == count {
            break;
        }
    }
    buffer.advance(count);
    Ok(caller.heap().binary(&bytes))
}

/// `write(Buffer, [Binary])`
fn write(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let buffer = buffer(&arguments[0])?;
    let mut pieces = Vec::new();
    for element in list::elements_or_badarg(arguments[1])? {
        let bits = element.bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
        pieces.push(Bytes::copy_from_slice(&bits.to_bytes()));
    }
    let mut buffer = buffer.lock();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        buffer.size += piece.len();
        buffer.pieces.push_back(piece);
    }
    Ok(atoms::OK)
}

fn skip(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut buffer = buffer(&arguments[0])?.lock();
    let count = count(&buffer, arguments[1])?;
    buffer.advance(count);
    Ok(atoms::OK)
}

fn find_byte_index(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let buffer = buffer(&arguments[0])?.lock();
    let needle = arguments[1].as_small().and_then(|byte| u8::try_from(byte).ok()).ok_or_else(badarg)?;
    let mut before = 0;
    for piece in &buffer.pieces {
        if let Some(index) = memchr::memchr(needle, piece) {
            return ok(caller, Term::small((before + index) as i64));
        }
        before += piece.len();
    }
    Ok(NOT_FOUND.get())
}

fn try_lock(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut buffer = buffer(&arguments[0])?.lock();
    let was_locked = std::mem::replace(&mut buffer.locked, true);
    Ok(if was_locked { BUSY.get() } else { ACQUIRED.get() })
}

fn unlock(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut buffer = buffer(&arguments[0])?.lock();
    match std::mem::replace(&mut buffer.locked, false) {
        true => Ok(atoms::OK),
        false => Err(atoll_operations::Exception::error(LOCK_ORDER_VIOLATION.get()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advancing_leaves_what_was_not_read() {
        let mut buffer = Buffer::default();
        for piece in [&b"abc"[..], b"defg"] {
            buffer.pieces.push_back(Bytes::from_static(piece));
            buffer.size += piece.len();
        }
        buffer.advance(4);
        assert_eq!(buffer.size, 3);
        assert_eq!(buffer.pieces, [Bytes::from_static(b"efg")]);
        buffer.advance(3);
        assert_eq!((buffer.size, buffer.pieces.len()), (0, 0));
    }
}
