//! Runs one command to its end, or to its time limit.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use process_control::{ChildExt, Control};

/// Output beyond this is thrown away: a program that prints for ever must not fill the memory.
const OUTPUT_BYTES: usize = 16 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with an exit status.
    Exited(i64),
    /// By a signal.
    Signalled(i32),
    /// By us, at the time limit.
    TimedOut(Duration),
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(out, "exit status {status}"),
            End::Signalled(signal) => write!(out, "killed by signal {signal}"),
            End::TimedOut(limit) => write!(out, "not finished after {} s", limit.as_secs()),
        }
    }
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command with nothing on its standard input.
///
/// # Errors
/// It cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    command.env("LC_ALL", "C.UTF-8").env_remove("ERL_FLAGS").env_remove("ERL_LIBS").env_remove("ERL_CRASH_DUMP");
    command.env("ERL_CRASH_DUMP_BYTES", "0");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut left = OUTPUT_BYTES;
    let finished = child
        .controlled_with_output()
        .time_limit(limit)
        .terminate_for_timeout()
        .stdout_filter(move |bytes| {
            let keep = bytes.len() <= left;
            left = left.saturating_sub(bytes.len());
            Ok(keep)
        })
        .wait()?;
    // A command that is ended at its limit gives no output.
    let Some(output) = finished else {
        return Ok(Finished { end: End::TimedOut(limit), stdout: Vec::new(), stderr: Vec::new() });
    };
    let end = match (output.status.code(), output.status.signal()) {
        (Some(status), _) => End::Exited(status),
        (None, signal) => End::Signalled(signal.unwrap_or(0)),
    };
    Ok(Finished { end, stdout: output.stdout, stderr: output.stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Finished {
        run(Command::new("sh").args(["-c", script]), Duration::from_millis(500)).unwrap()
    }

    #[test]
    fn ends_are_told_apart() {
        let finished = shell("echo out; echo err >&2; exit 3");
        assert_eq!(
            (finished.end, &*finished.stdout, &*finished.stderr),
            (End::Exited(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(shell("kill -9 $$").end, End::Signalled(9));
        assert!(matches!(shell("exec sleep 20").end, End::TimedOut(_)));
    }

    #[test]
    fn endless_output_is_cut() {
        let finished = shell("exec yes");
        assert!(finished.stdout.len() <= OUTPUT_BYTES);
    }
}
