//! `trace_file_drv`: writes what tracing tells to a file, or to a number of files in turn. A record is a byte 0, its
//! length as 4 bytes, and a term in the external format.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use rustix::io::Errno;

use crate::driver::{Driver, Event, Failure, Opened};
use crate::open::Settings;
use crate::poller;
use crate::port::{Port, State};

/// The driver's name.
pub const NAME: &str = "trace_file_drv";

/// `port_control`: write what is kept back.
const FLUSH: u32 = b'f' as u32;

/// Bytes kept back before they are written.
const KEPT_BACK: usize = 65_536;

/// Files that are written in turn.
#[derive(Debug, PartialEq, Eq)]
struct Wrap {
    /// Names are this, a number, and [`Wrap::tail`].
    head: String,
    tail: String,
    /// Bytes after which the next file is begun, unless that is a matter of time.
    size: u64,
    /// Milliseconds after which the next file is begun; 0: that is a matter of size.
    time: u32,
    /// The highest number.
    last: u32,
    /// Number of the file that is written.
    current: u32,
    /// Number of the oldest file, which is the next to be deleted.
    oldest: u32,
    /// Files that may still be begun before one has to be deleted.
    left: u32,
    /// Bytes in this file.
    written: u64,
}

impl Wrap {
    fn name(&self, number: u32) -> String {
        format!("{}{number}{}", self.head, self.tail)
    }

    fn after(&self, number: u32) -> u32 {
        if number >= self.last { 0 } else { number + 1 }
    }

    /// Goes on to the next file, and says which one is to be deleted for that.
    fn advance(&mut self) -> Option<String> {
        self.written = 0;
        self.left = self.left.saturating_sub(1);
        let deleted = (self.left == 0).then(|| self.name(self.oldest));
        if deleted.is_some() {
            self.oldest = self.after(self.oldest);
        }
        self.current = self.after(self.current);
        deleted
    }
}

/// A number at the front, and what follows its space.
fn number<N: std::str::FromStr>(text: &str) -> Option<(N, &str)> {
    let text = text.trim_start_matches(' ');
    let (digits, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some((digits.parse().ok()?, rest))
}

/// The file named by a command, or the files: `["w <Size> <Count> <Time> <LengthOfHead> "] "n <Name>"`.
fn read_command(command: &str) -> Option<(String, Option<Wrap>)> {
    let rest = command.strip_prefix(NAME)?.strip_prefix(' ')?.trim_start_matches(' ');
    let Some(rest) = rest.strip_prefix("w ") else {
        let name = rest.strip_prefix("n ")?;
        return (!name.is_empty()).then(|| (name.to_owned(), None));
    };
    let (size, rest) = number(rest)?;
    let (last, rest) = number(rest)?;
    let (time, rest) = number(rest)?;
    let (length, rest) = number::<usize>(rest)?;
    let name = rest.trim_start_matches(' ').strip_prefix("n ")?;
    // The length counts characters, and something has to follow, as OTP has it.
    let split = name.char_indices().nth(length)?.0;
    let (head, tail) = name.split_at(split);
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let wrap = Wrap { head, tail, size, time, last, current: 0, oldest: 0, left: last, written: 0 };
    Some((wrap.name(0), Some(wrap)))
}

fn create(name: &str) -> Result<File, Errno> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o777);
    options.open(OsString::from(name)).map_err(|error| errno(&error))
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

struct TraceFile {
    file: File,
    kept_back: Vec<u8>,
    wrap: Option<Wrap>,
}

/// Opens the file that the command names.
///
/// # Errors
/// The command names none, or it cannot be opened.
pub fn open(command: &str, _: &Settings) -> Result<Opened, Failure> {
    let (name, wrap) = read_command(command).ok_or(Failure::BadArgument)?;
    let file = create(&name).map_err(Failure::System)?;
    let driver = TraceFile { file, kept_back: Vec::new(), wrap };
    Ok(Opened { driver: Box::new(driver), name: command.to_owned() })
}

impl TraceFile {
    fn flush(&mut self) -> Result<(), Errno> {
        let written = self.file.write_all(&self.kept_back);
        self.kept_back.clear();
        written.map_err(|error| errno(&error))
    }

    fn next_file(&mut self) -> Result<(), Errno> {
        self.flush()?;
        let Some(wrap) = &mut self.wrap else { return Ok(()) };
        if let Some(deleted) = wrap.advance() {
            // A file that another program has deleted is no loss.
            let _ = std::fs::remove_file(deleted);
        }
        self.file = create(&wrap.name(wrap.current))?;
        Ok(())
    }

    fn set_timer(&self, port: &Port) {
        if let Some(time) = self.wrap.as_ref().map(|wrap| wrap.time).filter(|time| *time > 0) {
            poller::start_timer(port.id, Duration::from_millis(time.into()), 0);
        }
    }
}

impl Driver for TraceFile {
    fn start(&mut self, port: &Port, _: &mut State) -> Result<(), Failure> {
        self.set_timer(port);
        Ok(())
    }

    fn output(&mut self, _: &Port, _: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        self.kept_back.push(0);
        self.kept_back.extend_from_slice(&(data.len() as u32).to_be_bytes());
        self.kept_back.extend_from_slice(&data);
        if self.kept_back.len() >= KEPT_BACK {
            self.flush()?;
        }
        let Some(wrap) = &mut self.wrap else { return Ok(()) };
        wrap.written += data.len() as u64 + 5;
        if wrap.time == 0 && wrap.written >= wrap.size { self.next_file() } else { Ok(()) }
    }

    fn ready(&mut self, _: &Port, _: &mut State, _: Event) -> Result<(), Errno> {
        Ok(())
    }

    fn timeout(&mut self, port: &Port, _: &mut State, _: u32) -> Result<(), Errno> {
        self.next_file()?;
        self.set_timer(port);
        Ok(())
    }

    fn control(&mut self, port: &Port, state: &mut State, operation: u32, _: &[u8]) -> Result<Vec<u8>, Failure> {
        if operation != FLUSH {
            return Err(Failure::BadArgument);
        }
        if let Err(error) = self.flush() {
            port.end_with(state, self, error);
        }
        Ok(vec![0])
    }

    fn library(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn at_end(&mut self) {
        // The port ends, so no process gets an error.
        let _ = self.flush();
    }

    fn stop(&mut self, _: &Port, _: &mut State) {
        self.at_end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_a_file_or_files() {
        assert_eq!(read_command("trace_file_drv n /a b"), Some(("/a b".to_owned(), None)));
        let (name, wrap) = read_command("trace_file_drv w 10 2 0 2 n /a.log").unwrap();
        let wrap = wrap.unwrap();
        assert_eq!((name.as_str(), wrap.size, wrap.last, wrap.time), ("/a0.log", 10, 2, 0));
        for wrong in
            ["trace_file_drv", "trace_file_drv ", "trace_file_drv /a", "trace_file_drv w 1 2 n /a", "trace_file_drv n "]
        {
            assert_eq!(read_command(wrong), None, "{wrong}");
        }
        assert_eq!(read_command("trace_file_drv w 10 2 0 2 n /a"), None);
    }

    #[test]
    fn files_are_written_in_turn_and_the_oldest_deleted() {
        let mut wrap = read_command("trace_file_drv w 10 2 0 2 n /a.log").unwrap().1.unwrap();
        let deleted: Vec<_> = (0..5).map(|_| (wrap.advance(), wrap.current)).collect();
        let name = |number: u32| Some(format!("/a{number}.log"));
        assert_eq!(deleted, [(None, 1), (name(0), 2), (name(1), 0), (name(2), 1), (name(0), 2)]);
    }
}
