//! `tty_sl`: the driver of a terminal with a line that can be edited. OTP's shell does the editing; the driver puts
//! characters where they belong on the screen, and hands on what is typed.
//!
//! * [`line`]: the line on the screen, and the bytes that change it
//! * [`screen`]: what the terminal can do
//! * [`mode`]: the terminal's modes, and how it gets its old ones back

mod line;
pub mod mode;
mod screen;

use std::os::fd::BorrowedFd;

use atoll_term::Build;
use atoll_term::atoms::known_atom;
use rustix::io::Errno;
use rustix::termios::isatty;

use crate::driver::{Driver, Event, Failure, Opened};
use crate::open::Settings;
use crate::output::Queue;
use crate::port::{Port, State};
use line::Line;
use screen::Screen;

/// Name of the driver.
pub const NAME: &str = "tty_sl";

/// First bytes of commands.
const PUT: u8 = 0;
const MOVE: u8 = 1;
const INSERT: u8 = 2;
const DELETE: u8 = 3;
const BEEP: u8 = 4;
const PUT_AND_ANSWER: u8 = 5;

/// Operations of `port_control`.
const CONTROL: u32 = 0x018b_0900;
const WINDOW_SIZE: u32 = CONTROL + 100;
const IS_UNICODE: u32 = CONTROL + 101;
const SET_UNICODE: u32 = CONTROL + 102;

/// Bytes read at once.
const BUFFER: usize = 1024;

struct Terminal {
    input: BorrowedFd<'static>,
    output: BorrowedFd<'static>,
    line: Line,
    queue: Queue,
    /// Bytes of a character whose end has not come yet.
    partial: Vec<u8>,
    /// Answers that are owed when everything is written.
    answers: usize,
}

/// Takes the terminal over, if standard input and output are one.
///
/// # Errors
/// They are not, or the terminal cannot move its cursor, or is taken.
pub fn open(command: &str, _: &Settings) -> Result<Opened, Failure> {
    let not_there = Failure::System(Errno::NOTSUP);
    let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    if !isatty(input) || !isatty(output) {
        return Err(not_there);
    }
    let screen = Screen::of_environment().ok_or(not_there)?;
    mode::take(command.split(' ').skip(1)).map_err(Failure::System)?;
    let terminal = Terminal {
        input,
        output,
        line: Line::new(screen, is_unicode()),
        queue: Queue::default(),
        partial: Vec::new(),
        answers: 0,
    };
    Ok(Opened { driver: Box::new(terminal), name: command.to_owned() })
}

pub use screen::without_delays;

/// Whether the environment says that the terminal understands UTF-8.
pub fn is_unicode() -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    said.is_some_and(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

impl Driver for Terminal {
    fn start(&mut self, port: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(port.wait_for(self.input, Event::Input)?)
    }

    fn output(&mut self, port: &Port, state: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        let Some((operation, rest)) = data.split_first() else { return Ok(()) };
        if let Some((columns, _)) = mode::window_size() {
            self.line.set_columns(columns);
        }
        let distance = || rest.first_chunk().map_or(0, |bytes| isize::from(i16::from_be_bytes(*bytes)));
        match *operation {
            PUT => self.line.put(rest),
            PUT_AND_ANSWER => {
                self.line.put(rest);
                self.answers += 1;
            }
            MOVE => self.line.move_by(distance()),
            INSERT => self.line.insert(rest),
            DELETE => self.line.delete(distance()),
            BEEP => self.line.beep(),
            _ => {}
        }
        self.queue.push(self.line.take_output());
        self.write(port, state)
    }

    fn ready(&mut self, port: &Port, state: &mut State, event: Event) -> Result<(), Errno> {
        match event {
            Event::Input => self.read(port, state),
            Event::Output => self.write(port, state),
            Event::Error => Ok(()),
        }
    }

    fn control(&mut self, _: &Port, _: &mut State, operation: u32, data: &[u8]) -> Result<Vec<u8>, Failure> {
        match operation {
            WINDOW_SIZE => {
                let (columns, rows) = mode::window_size().unwrap_or(mode::DEFAULT_SIZE);
                Ok([(columns as u32).to_ne_bytes(), (rows as u32).to_ne_bytes()].concat())
            }
            IS_UNICODE => Ok(vec![u8::from(self.line.is_unicode())]),
            SET_UNICODE => {
                let wanted = data.first().ok_or(Failure::BadArgument)?;
                let before = self.line.is_unicode();
                self.line.set_unicode(*wanted != 0);
                Ok(vec![u8::from(before)])
            }
            _ => Err(Failure::BadArgument),
        }
    }

    fn pending(&self) -> usize {
        self.queue.bytes()
    }

    fn stop(&mut self, _: &Port, _: &mut State) {
        mode::give_back();
    }
}

impl Terminal {
    fn write(&mut self, port: &Port, state: &mut State) -> Result<(), Errno> {
        self.queue.write(self.output)?;
        if self.queue.bytes() > 0 {
            return port.wait_for(self.output, Event::Output);
        }
        port.stop_waiting(self.output, Event::Output);
        for _ in 0..std::mem::take(&mut self.answers) {
            port.tell(state.connected, |heap| heap.tuple(&[port.id, known_atom("ok")]));
        }
        Ok(())
    }

    fn read(&mut self, port: &Port, state: &mut State) -> Result<(), Errno> {
        let mut bytes = [0; BUFFER];
        let _turn = mode::reading();
        match rustix::io::read(self.input, &mut bytes) {
            Ok(0) => {
                port.stop_waiting(self.input, Event::Input);
                port.tell_owner(state, |_| known_atom("eof"));
            }
            Ok(count) => {
                let text = self.whole_characters(&bytes[..count]);
                if !text.is_empty() {
                    port.tell_data(state, &text);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What was typed, in UTF-8, without the beginning of a character that is not complete.
    fn whole_characters(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.partial);
        text.extend_from_slice(bytes);
        if self.line.is_unicode() {
            match std::str::from_utf8(&text) {
                Ok(_) => return text,
                Err(error) if error.error_len().is_none() => {
                    self.partial = text.split_off(error.valid_up_to());
                    return text;
                }
                // This terminal does not speak UTF-8.
                Err(_) => self.line.set_unicode(false),
            }
        }
        text.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes()
    }
}
