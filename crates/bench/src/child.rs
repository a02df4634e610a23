//! Runs one command to its end as a process of its own and measures it from outside.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wait4::{ResUse, Wait4};

/// How often a running process is looked at for having printed too much.
const WATCH: Duration = Duration::from_millis(250);

/// What a process may use before it is ended.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Real time.
    pub timeout: Option<Duration>,
    /// Bytes printed to standard output and standard error, each.
    pub output_bytes: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with an exit status.
    Exited(i32),
    /// By a signal of this number.
    Signalled(i32),
    /// By us, after this time.
    TimedOut(Duration),
    /// By us, for having printed more than this number of bytes.
    PrintedTooMuch(u64),
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(out, "exit status {status}"),
            End::Signalled(signal) => write!(out, "killed by signal {signal}"),
            End::TimedOut(limit) => write!(out, "ended after the time limit of {} s", limit.as_secs_f64()),
            End::PrintedTooMuch(limit) => write!(out, "ended after printing more than {} MB", limit / 1_000_000),
        }
    }
}

/// What one process did and used.
#[derive(Debug)]
pub struct Measured {
    /// How it ended.
    pub end: End,
    /// Real time from before its start to its end.
    pub wall: Duration,
    /// Processor time in user mode, its own children included.
    pub user: Duration,
    /// Processor time in the kernel, its own children included.
    pub system: Duration,
    /// Its largest resident set. See [`Measured::peak_is_its_own`].
    pub peak_rss_bytes: u64,
    /// Whether the figure above is larger than our own largest resident set. The kernel lets a process inherit the peak
    /// of the one that started it, so that a smaller figure would be ours.
    pub peak_is_its_own: bool,
    /// What it printed.
    pub stdout: File,
    /// What it printed to standard error.
    pub stderr: File,
}

impl Measured {
    /// The beginning of what it printed, at most `limit` bytes.
    pub fn stdout_excerpt(&mut self, limit: u64) -> String {
        excerpt(&mut self.stdout, limit)
    }

    /// The beginning of what it printed to standard error, at most `limit` bytes.
    pub fn stderr_excerpt(&mut self, limit: u64) -> String {
        excerpt(&mut self.stderr, limit)
    }
}

/// What `--verify-heap` says has this in it.
const VIOLATION: &str = "heap invariant";

impl Measured {
    /// What the verifier reported on standard error, if it did.
    pub fn violation(&mut self) -> io::Result<Option<String>> {
        self.stderr.seek(SeekFrom::Start(0))?;
        for line in BufReader::new(&self.stderr).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            if line.contains(VIOLATION) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

fn excerpt(file: &mut File, limit: u64) -> String {
    let mut bytes = Vec::new();
    match file.seek(SeekFrom::Start(0)).and_then(|_| file.take(limit).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("(the output could not be read: {error})"),
    }
}

/// Runs `command` to its end, its standard input empty. What it prints goes to unnamed files in `folder`, so that no
/// reader competes with it for a processor and a child that it leaves behind cannot keep us waiting.
pub fn run(command: &mut Command, folder: &Path, limits: Limits) -> io::Result<Measured> {
    let stdout = tempfile::tempfile_in(folder)?;
    let stderr = tempfile::tempfile_in(folder)?;
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);

    let begun = Instant::now();
    let mut child = command.spawn()?;
    let ended = match wait(&child, begun, limits, [&stdout, &stderr]) {
        Ok(ended) => ended,
        Err(error) => {
            // The child must not outlive a failure to watch it; the first error is the one to tell.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let wall = begun.elapsed();
    if ended.is_some() {
        child.kill()?;
    }
    let used = reap(&mut child)?;
    Ok(Measured {
        end: ended.unwrap_or_else(|| end_of(used.status)),
        wall,
        user: used.rusage.utime,
        system: used.rusage.stime,
        peak_rss_bytes: used.rusage.maxrss,
        peak_is_its_own: own_peak_rss_bytes().is_none_or(|own| used.rusage.maxrss > own),
        stdout,
        stderr,
    })
}

/// Waits until the child has ended (`None`) or has to be.
fn wait(child: &Child, begun: Instant, limits: Limits, printed: [&File; 2]) -> io::Result<Option<End>> {
    let process: OwnedFd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = limits.timeout.map(|limit| limit.saturating_sub(begun.elapsed()));
        let pause = left.map_or(WATCH, |left| left.min(WATCH));
        let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
        let mut watched = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        match poll(&mut watched, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if let Some(limit) = limits.timeout
            && begun.elapsed() >= limit
        {
            return Ok(Some(End::TimedOut(limit)));
        }
        for file in printed {
            if file.metadata()?.len() > limits.output_bytes {
                return Ok(Some(End::PrintedTooMuch(limits.output_bytes)));
            }
        }
    }
}

fn reap(child: &mut Child) -> io::Result<ResUse> {
    loop {
        match child.wait4() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or(0)),
    }
}

/// Our own largest resident set, which a child inherits until it has a larger one.
fn own_peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { timeout: Some(Duration::from_secs(20)), output_bytes: 100_000 };

    fn shell(script: &str, limits: Limits) -> Measured {
        let folder = tempfile::tempdir().unwrap();
        run(Command::new("/bin/sh").args(["-c", script]), folder.path(), limits).unwrap()
    }

    #[test]
    fn status_and_output_are_kept() {
        let mut measured = shell("echo out; echo problem >&2; exit 3", LIMITS);
        assert_eq!(measured.end, End::Exited(3));
        assert_eq!(measured.stderr_excerpt(100), "problem\n");
        assert_eq!(measured.stdout_excerpt(3), "out");
    }

    #[test]
    fn time_and_memory_are_those_of_the_child() {
        let measured = shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05", LIMITS);
        assert_eq!(measured.end, End::Exited(0));
        assert!(measured.wall >= Duration::from_millis(50), "{:?}", measured.wall);
        assert!(measured.user + measured.system > Duration::ZERO);
        assert!(measured.peak_rss_bytes > 100_000);
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended() {
        let limit = Duration::from_millis(100);
        let measured = shell("exec sleep 60", Limits { timeout: Some(limit), ..LIMITS });
        assert_eq!(measured.end, End::TimedOut(limit));
        assert!(measured.wall < Duration::from_secs(20));
    }

    #[test]
    fn a_child_that_prints_without_end_is_ended() {
        let measured = shell("exec yes", LIMITS);
        assert_eq!(measured.end, End::PrintedTooMuch(100_000));
    }

    #[test]
    fn a_signal_is_told_from_a_status() {
        assert_eq!(shell("kill -9 $$", LIMITS).end, End::Signalled(9));
    }
}
