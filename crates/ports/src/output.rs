//! Bytes on their way to a file descriptor: written as far as that does not block, the rest when it is ready.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A write of at most this many bytes to a pipe that is ready does not block (`PIPE_BUF`).
const PIECE: usize = 4096;

/// What is not written yet.
#[derive(Default)]
pub struct Queue {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that are written.
    written: usize,
    bytes: usize,
    /// Writing never blocks: nobody else depends on the descriptor's mode.
    never_blocks: bool,
}

impl Queue {
    /// A queue for a descriptor in the mode in which writing does not block.
    pub fn of_nonblocking() -> Queue {
        Queue { never_blocks: true, ..Queue::default() }
    }

    /// Bytes that are not written yet.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds bytes.
    pub fn push(&mut self, data: Vec<u8>) {
        self.bytes += data.len();
        if !data.is_empty() {
            self.pieces.push_back(data);
        }
    }

    /// Writes as much as can be written without waiting.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn write(&mut self, descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
        while let Some(first) = self.pieces.front() {
            if !self.never_blocks && !is_ready(descriptor)? {
                return Ok(());
            }
            let rest = &first[self.written..];
            let piece = if self.never_blocks { rest } else { &rest[..rest.len().min(PIECE)] };
            match rustix::io::write(descriptor, piece) {
                Ok(count) => {
                    self.bytes -= count;
                    self.written += count;
                    if self.written == first.len() {
                        self.written = 0;
                        self.pieces.pop_front();
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_ready(descriptor: BorrowedFd<'_>) -> Result<bool, Errno> {
    let mut one = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
    match poll(&mut one, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}
