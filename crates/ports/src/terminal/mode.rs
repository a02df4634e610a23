//! The modes of the terminal: raw while the driver has it, as they were whenever the machine lets go of it.

use std::os::fd::BorrowedFd;

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// Columns and rows of a terminal that does not say.
pub const DEFAULT_SIZE: (usize, usize) = (80, 24);

struct Modes {
    before: Termios,
    own: Termios,
}

static MODES: Mutex<Option<Modes>> = Mutex::new(None);

/// Held by the thread that reads what is typed.
static READING: Mutex<()> = Mutex::new(());

/// Keeps others from reading what is typed, as long as the guard lives.
pub fn reading() -> MutexGuard<'static, ()> {
    READING.lock()
}

/// Takes the terminal: `-c` lets single characters through, `-e` turns the echo off, `-s` signals; `+` the opposite.
///
/// # Errors
/// It is taken already (`EBUSY`), or what the system says.
pub fn take<'a>(flags: impl Iterator<Item = &'a str>) -> Result<(), Errno> {
    let mut modes = MODES.lock();
    if modes.is_some() {
        return Err(Errno::BUSY);
    }
    let before = tcgetattr(stdin())?;
    let own = changed(&before, flags);
    tcsetattr(stdin(), OptionalActions::Now, &own)?;
    *modes = Some(Modes { before, own });
    Ok(())
}

/// As [`take`], where the terminal may be taken already: its first modes stay those that it gets back.
///
/// # Errors
/// What the system says.
pub fn set<'a>(flags: impl Iterator<Item = &'a str>) -> Result<(), Errno> {
    let mut modes = MODES.lock();
    let before = match &*modes {
        Some(modes) => modes.before.clone(),
        None => tcgetattr(stdin())?,
    };
    let own = changed(&before, flags);
    tcsetattr(stdin(), OptionalActions::Now, &own)?;
    *modes = Some(Modes { before, own });
    Ok(())
}

/// The modes with what these flags change.
fn changed<'a>(before: &Termios, flags: impl Iterator<Item = &'a str>) -> Termios {
    let mut own = before.clone();
    own.input_modes.remove(InputModes::ISTRIP);
    for flag in flags {
        let raw = InputModes::BRKINT | InputModes::IGNPAR | InputModes::ICRNL | InputModes::IXON | InputModes::IXANY;
        match flag {
            "-c" => {
                own.input_modes.remove(InputModes::ICRNL);
                own.local_modes.remove(LocalModes::ICANON);
                own.output_modes.remove(OutputModes::OPOST);
                own.special_codes[SpecialCodeIndex::VMIN] = 1;
                own.special_codes[SpecialCodeIndex::VTIME] = 0;
            }
            "+c" => {
                own.input_modes.insert(InputModes::ICRNL);
                own.local_modes.insert(LocalModes::ICANON);
                own.output_modes.insert(OutputModes::OPOST);
            }
            "-e" => own.local_modes.remove(LocalModes::ECHO),
            "+e" => own.local_modes.insert(LocalModes::ECHO),
            "-s" => {
                own.input_modes.remove(raw);
                own.local_modes.remove(LocalModes::ISIG | LocalModes::IEXTEN);
            }
            "+s" => {
                own.input_modes.insert(raw);
                own.local_modes.insert(LocalModes::ISIG | LocalModes::IEXTEN);
            }
            _ => {}
        }
    }
    own
}

/// Gives the terminal back for good.
pub fn give_back() {
    if let Some(modes) = MODES.lock().take() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes.before);
    }
}

/// The terminal's own modes, for a while or because the machine is about to end; also where nothing can be waited for.
pub fn lend() {
    if let Some(modes) = MODES.try_lock()
        && let Some(modes) = &*modes
    {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes.before);
    }
}

/// Back to the driver's modes, after [`lend`] or when the machine was stopped and goes on.
pub fn take_again() {
    if let Some(modes) = &*MODES.lock() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes.own);
    }
}

/// Columns and rows, if the terminal says.
pub fn window_size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdin()).ok()?;
    let or = |count: u16, other: usize| if count == 0 { other } else { usize::from(count) };
    Some((or(size.ws_col, DEFAULT_SIZE.0), or(size.ws_row, DEFAULT_SIZE.1)))
}

/// Columns and rows as the first of these says that is a terminal; -1 for what it does not say.
pub fn stated_size(descriptors: &[BorrowedFd<'_>]) -> Option<(i64, i64)> {
    let size = descriptors.iter().find_map(|descriptor| tcgetwinsize(descriptor).ok())?;
    let stated = |count: u16| if count == 0 { -1 } else { i64::from(count) };
    Some((stated(size.ws_col), stated(size.ws_row))).filter(|size| *size != (-1, -1))
}

/// Reads what is typed, and waits for it also where a port has made reading return at once; for who holds
/// [`reading`]'s guard.
///
/// # Errors
/// What the system says.
pub fn read(bytes: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::retry_on_intr(|| rustix::io::read(stdin(), &mut *bytes)) {
            Err(Errno::AGAIN) => {
                let stdin = stdin();
                let mut input = [PollFd::new(&stdin, PollFlags::IN)];
                rustix::io::retry_on_intr(|| poll(&mut input, None))?;
            }
            other => return other,
        }
    }
}
