//! `ram_file_drv`: a file in memory, for OTP's module `ram_file`. A command is an operation's byte and its operands;
//! the answer, a message to the owner, a byte that says which kind it is and what belongs to that.

use atoll_platform::allocator::may_fail;
use rustix::io::Errno;

use crate::driver::{Driver, Event, Failure, Opened};
use crate::errors::error_name;
use crate::open::Settings;
use crate::port::{Port, State};

/// The driver's name.
pub const NAME: &str = "ram_file_drv";

/// Bits of the mode with which a file is opened.
const MODE_READ: u32 = 1;
const MODE_WRITE: u32 = 2;

/// First byte of a command.
mod operation {
    pub const OPEN: u8 = 1;
    pub const READ: u8 = 2;
    pub const SEEK: u8 = 3;
    pub const WRITE: u8 = 4;
    pub const SYNC: u8 = 9;
    pub const TRUNCATE: u8 = 14;
    pub const READ_AT: u8 = 17;
    pub const WRITE_AT: u8 = 18;
    pub const DATA_SYNC: u8 = 19;
    pub const GET: u8 = 30;
    pub const SIZE: u8 = 37;
    pub const ADVISE: u8 = 38;
    pub const ALLOCATE: u8 = 39;
}

/// First byte of an answer.
mod response {
    pub const OK: u8 = 0;
    pub const ERROR: u8 = 1;
    pub const DATA: u8 = 2;
    pub const NUMBER: u8 = 3;
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Number(u32),
    Data(Vec<u8>),
}

/// A file: its bytes, and where the next one is read or written, which may be behind their end.
#[derive(Default)]
struct RamFile {
    mode: u32,
    bytes: Vec<u8>,
    position: usize,
}

/// Opens a file that gets its bytes by a command.
///
/// # Errors
/// None.
pub fn open(command: &str, _: &Settings) -> Result<Opened, Failure> {
    Ok(Opened { driver: Box::new(RamFile::default()), name: command.to_owned() })
}

impl Driver for RamFile {
    fn start(&mut self, _: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(())
    }

    fn output(&mut self, port: &Port, state: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        match self.command(&data) {
            // As in OTP, what is no command gets no answer.
            None => {}
            Some(Ok(Answer::Done)) => port.tell_headed(state, &[response::OK], None),
            Some(Ok(Answer::Number(number))) => {
                let [a, b, c, d] = number.to_be_bytes();
                port.tell_headed(state, &[response::NUMBER, a, b, c, d], None);
            }
            Some(Ok(Answer::Data(bytes))) => {
                let [a, b, c, d] = (bytes.len() as u32).to_be_bytes();
                port.tell_headed(state, &[response::DATA, a, b, c, d], Some(&bytes));
            }
            Some(Err(error)) => {
                let name = atoll_term::atoms::atom_name(error_name(error));
                port.tell_headed(state, &[&[response::ERROR], name.as_bytes()].concat(), None);
            }
        }
        Ok(())
    }

    fn ready(&mut self, _: &Port, _: &mut State, _: Event) -> Result<(), Errno> {
        Ok(())
    }

    fn stop(&mut self, _: &Port, _: &mut State) {
        self.bytes = Vec::new();
    }
}

/// A 32-bit number at the front, and what follows it.
fn number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i32::from_be_bytes(*number), rest))
}

fn place(number: i32) -> Result<usize, Errno> {
    usize::try_from(number).map_err(|_| Errno::INVAL)
}

impl RamFile {
    /// Carries a command out; nothing if it is none.
    fn command(&mut self, data: &[u8]) -> Option<Result<Answer, Errno>> {
        let (code, operands) = data.split_first()?;
        Some(match *code {
            operation::OPEN => {
                let (mode, bytes) = number(operands)?;
                *self = RamFile { mode: mode as u32, bytes: bytes.to_vec(), position: 0 };
                Ok(Answer::Number(0))
            }
            operation::READ => {
                let (count, _) = number(operands)?;
                self.read(None, count)
            }
            operation::READ_AT => {
                let (at, rest) = number(operands)?;
                let (count, _) = number(rest)?;
                self.read(Some(at), count)
            }
            operation::WRITE => self.write(None, operands),
            operation::WRITE_AT => {
                let (at, bytes) = number(operands)?;
                self.write(Some(at), bytes)
            }
            operation::SEEK => {
                let (offset, rest) = number(operands)?;
                let (origin, _) = number(rest)?;
                self.seek(offset, origin)
            }
            operation::TRUNCATE => self.truncate(),
            operation::SYNC | operation::DATA_SYNC | operation::ADVISE | operation::ALLOCATE => {
                if self.mode == 0 {
                    Err(Errno::BADF)
                } else {
                    Ok(Answer::Done)
                }
            }
            operation::GET => Ok(Answer::Data(self.bytes.clone())),
            operation::SIZE => Ok(Answer::Number(self.bytes.len() as u32)),
            _ => return None,
        })
    }

    fn read(&mut self, at: Option<i32>, count: i32) -> Result<Answer, Errno> {
        if self.mode & MODE_READ == 0 {
            return Err(Errno::BADF);
        }
        let from = at.map_or(Ok(self.position), place)?;
        let rest = self.bytes.get(from..).unwrap_or_default();
        let read = rest[..place(count)?.min(rest.len())].to_vec();
        if at.is_none() {
            self.position = from + read.len();
        }
        Ok(Answer::Data(read))
    }

    fn write(&mut self, at: Option<i32>, bytes: &[u8]) -> Result<Answer, Errno> {
        if self.mode & MODE_WRITE == 0 {
            return Err(Errno::BADF);
        }
        let from = at.map_or(Ok(self.position), place)?;
        let end = from.checked_add(bytes.len()).ok_or(Errno::INVAL)?;
        if end > self.bytes.len() {
            self.resize(end)?;
        }
        self.bytes[from..end].copy_from_slice(bytes);
        if at.is_none() {
            self.position = end;
        }
        Ok(Answer::Number(bytes.len() as u32))
    }

    fn seek(&mut self, offset: i32, origin: i32) -> Result<Answer, Errno> {
        let base = match origin {
            _ if self.mode == 0 => return Err(Errno::BADF),
            0 => 0,
            1 => self.position,
            2 => self.bytes.len(),
            _ => return Err(Errno::INVAL),
        };
        self.position = base.checked_add_signed(offset as isize).ok_or(Errno::INVAL)?;
        Ok(Answer::Number(self.position as u32))
    }

    fn truncate(&mut self) -> Result<Answer, Errno> {
        if self.mode & MODE_WRITE == 0 {
            return Err(Errno::ACCESS);
        }
        self.resize(self.position)?;
        Ok(Answer::Done)
    }

    /// New bytes are 0.
    fn resize(&mut self, size: usize) -> Result<(), Errno> {
        let more = size.saturating_sub(self.bytes.len());
        may_fail(|| self.bytes.try_reserve(more)).map_err(|_| Errno::NOMEM)?;
        self.bytes.resize(size, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(mode: u32, bytes: &[u8]) -> RamFile {
        let mut file = RamFile::default();
        let command = [&[operation::OPEN], &mode.to_be_bytes()[..], bytes].concat();
        assert_eq!(file.command(&command), Some(Ok(Answer::Number(0))));
        file
    }

    #[test]
    fn what_is_written_behind_the_end_leaves_zeros() {
        let mut file = opened(MODE_READ | MODE_WRITE, b"ab");
        assert_eq!(file.write(Some(4), b"c"), Ok(Answer::Number(1)));
        assert_eq!(file.read(None, 10), Ok(Answer::Data(b"ab\0\0c".to_vec())));
        assert_eq!(file.read(None, 1), Ok(Answer::Data(Vec::new())));
        assert_eq!(file.seek(-3, 2), Ok(Answer::Number(2)));
        assert_eq!(file.truncate(), Ok(Answer::Done));
        assert_eq!(file.command(&[operation::GET]), Some(Ok(Answer::Data(b"ab".to_vec()))));
    }

    #[test]
    fn what_the_mode_or_the_numbers_forbid_is_refused() {
        let mut file = opened(MODE_READ, b"ab");
        assert_eq!(file.write(None, b"c"), Err(Errno::BADF));
        assert_eq!(file.truncate(), Err(Errno::ACCESS));
        assert_eq!(file.read(Some(-1), 0), Err(Errno::INVAL));
        assert_eq!(file.seek(-1, 0), Err(Errno::INVAL));
        assert_eq!(file.command(&[operation::READ, 0]), None);
        assert_eq!(file.command(&[]), None);
    }
}
