//! Copies of this process of the operating system (`fork`), each for one piece of work. A copy begins where this one
//! is, in a few milliseconds, and what it does to its memory nobody else sees.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, set_parent_process_death_signal, waitpid,
};

/// Exit status of a copy whose work has panicked.
const PANICKED: i32 = 101;

/// A copy, until it is waited for. It is ended when this is dropped before.
#[derive(Debug)]
pub struct Copied {
    pid: Pid,
    process: OwnedFd,
    is_over: bool,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit status.
    Exited(i32),
    /// By a signal of this number.
    Signalled(i32),
}

/// Makes a copy of this process, which does the work and then ends with the exit status that the work returns. It is
/// killed if the thread that made it ends before.
///
/// # Errors
/// This process has other threads, which a copy would not have; or the system makes no more processes.
pub fn copy(work: impl FnOnce() -> i32) -> io::Result<Copied> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a process with one thread can be copied"));
    }
    // SAFETY: this is the only thread, so the copy has all of the process, and no lock that nobody can open.
    let pid = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            // If that does not work, it ends later than the original.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
            // SAFETY: ends the copy, without what the original will do at its end.
            unsafe { libc::_exit(status & 0xff) }
        }
        pid => Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?,
    };
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(Copied { pid, process, is_over: false })
}

impl Copied {
    /// Waits until it has ended.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(mut self) -> io::Result<End> {
        self.is_over = true;
        self.reap()
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // It may have ended already.
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }

    fn reap(&self) -> io::Result<End> {
        let (_, status) = loop {
            match waitpid(Some(self.pid), WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?.ok_or(io::ErrorKind::Other)?,
            }
        };
        Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(status), _) => End::Exited(status),
            (None, signal) => End::Signalled(signal.unwrap_or(0)),
        })
    }
}

/// Becomes readable when the copy has ended.
impl AsFd for Copied {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
            let _ = self.reap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_other_threads_is_not_copied() {
        std::thread::scope(|scope| {
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || stopped.recv());
            assert!(copy(|| 0).is_err());
            drop(stop);
        });
    }
}
