//! `{fd, In, Out}`: file descriptors that are open already, and are not closed when the port ends; and files that are
//! opened by their names alone.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use atoll_platform::descriptor;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::driver::{Driver, Event, Failure, Opened};
use crate::framing::Frames;
use crate::open::Settings;
use crate::output::Queue;
use crate::port::{Port, State};

/// Bytes read at once.
const BUFFER: usize = 64 << 10;

struct Descriptors {
    input: Option<BorrowedFd<'static>>,
    output: Option<BorrowedFd<'static>>,
    queue: Queue,
    frames: Frames,
    /// The file, if the port has opened it.
    file: Option<OwnedFd>,
}

/// Opens the descriptors of these numbers.
///
/// # Errors
/// One of them is not open.
pub fn open(input: i32, output: i32, settings: &Settings) -> Result<Opened, Failure> {
    let number = |wanted: bool, number: i32| match wanted {
        true => descriptor::borrow(number).map(Some).ok_or(Failure::System(Errno::BADF)),
        false => Ok(None),
    };
    let driver = Descriptors {
        input: number(settings.input, input)?,
        output: number(settings.output, output)?,
        queue: Queue::default(),
        frames: Frames::default(),
        file: None,
    };
    Ok(Opened { driver: Box::new(driver), name: format!("{input}/{output}") })
}

/// Opens a file for what the settings want of it. It is made if it is to be written, and emptied if only that.
///
/// # Errors
/// `EINVAL`, whatever the system says.
pub fn open_file(file: &OsStr, settings: &Settings) -> Result<Opened, Failure> {
    if file.is_empty() {
        return Err(Failure::BadArgument);
    }
    let flags = match (settings.input, settings.output) {
        (true, false) => OFlags::RDONLY,
        (false, _) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
        (true, true) => OFlags::RDWR | OFlags::CREATE,
    };
    let refused = Failure::System(Errno::INVAL);
    let opened = rustix::fs::open(file, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666)).map_err(|_| refused)?;
    let borrowed = descriptor::borrow(opened.as_raw_fd()).ok_or(refused)?;
    let driver = Descriptors {
        input: settings.input.then_some(borrowed),
        output: settings.output.then_some(borrowed),
        queue: Queue::default(),
        frames: Frames::default(),
        file: Some(opened),
    };
    Ok(Opened { driver: Box::new(driver), name: file.to_string_lossy().into_owned() })
}

impl Driver for Descriptors {
    fn start(&mut self, port: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(self.input.map_or(Ok(()), |input| port.wait_for(input, Event::Input))?)
    }

    fn output(&mut self, port: &Port, _: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        let Some(output) = self.output else { return Ok(()) };
        self.queue.push(data);
        self.queue.write(output)?;
        if self.queue.bytes() > 0 {
            port.wait_for(output, Event::Output)?;
        }
        Ok(())
    }

    fn ready(&mut self, port: &Port, state: &mut State, event: Event) -> Result<(), Errno> {
        match event {
            Event::Input => self.read(port, state),
            Event::Output => {
                let Some(output) = self.output else { return Ok(()) };
                self.queue.write(output)?;
                if self.queue.bytes() == 0 {
                    port.stop_waiting(output, Event::Output);
                }
                Ok(())
            }
            Event::Error => Ok(()),
        }
    }

    fn pending(&self) -> usize {
        self.queue.bytes()
    }

    fn stop(&mut self, _: &Port, _: &mut State) {
        (self.input, self.output) = (None, None);
        self.file = None;
    }
}

impl Descriptors {
    fn read(&mut self, port: &Port, state: &mut State) -> Result<(), Errno> {
        let Some(input) = self.input else { return Ok(()) };
        let mut bytes = vec![0; BUFFER];
        match rustix::io::read(input, &mut bytes) {
            Ok(0) => {
                port.stop_waiting(input, Event::Input);
                self.input = None;
                self.frames.finish(port, state);
                port.reached_end(state, self);
            }
            Ok(count) => self.frames.receive(port, state, &bytes[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A terminal that has gone says so by this error.
            Err(Errno::IO) => {
                port.stop_waiting(input, Event::Input);
                self.input = None;
                port.reached_end(state, self);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
