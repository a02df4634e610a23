//! Runs one command to its end, or to its time limit.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wait_timeout::ChildExt;

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

/// Reports of `--verify-heap` begin with this, whichever verifier writes them.
const VIOLATION: &str = "heap invariant";

impl Finished {
    /// What the verifier reported, if it did: no output and no status excuses that.
    pub fn violation(&self) -> Option<String> {
        let lines = self.stderr.split(|byte| *byte == b'\n').chain(self.stdout.split(|byte| *byte == b'\n'));
        lines.map(String::from_utf8_lossy).find(|line| line.contains(VIOLATION)).map(|line| line.into_owned())
    }
}

/// Runs a command with nothing on its standard input.
///
/// # Errors
/// It cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    command.env("LC_ALL", "C.UTF-8").env_remove("ERL_FLAGS").env_remove("ERL_LIBS").env_remove("ERL_CRASH_DUMP");
    command.env("ERL_CRASH_DUMP_BYTES", "0");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
    let Some(status) = child.wait_timeout(limit)? else {
        child.kill()?;
        child.wait()?;
        // A command that is ended at its limit gives no output: programs that it started may hold its pipes for long.
        return Ok(Finished { end: End::TimedOut(limit), stdout: Vec::new(), stderr: Vec::new() });
    };
    let end = match status.code() {
        Some(status) => End::Exited(i64::from(status)),
        None => End::Signalled(status.signal().unwrap_or(0)),
    };
    let collected =
        |reader: Option<JoinHandle<Vec<u8>>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok(Finished { end, stdout: collected(stdout), stderr: collected(stderr) })
}

/// Reads to the end of the output and keeps the first part of it.
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        // An error is an end as well.
        let _ = pipe.by_ref().take(OUTPUT_BYTES as u64).read_to_end(&mut kept);
        let _ = io::copy(&mut pipe, &mut io::sink());
        kept
    })
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
    fn a_word_of_the_verifier_is_found_wherever_it_is() {
        assert_eq!(shell("echo all right").violation(), None);
        for script in ["echo a; echo 'atoll: heap invariant P1' >&2; echo b >&2", "echo 'x heap invariant P1'; exit 1"]
        {
            assert!(shell(script).violation().is_some_and(|line| line.ends_with("heap invariant P1")), "{script}");
        }
    }

    #[test]
    fn a_command_that_is_stopped_for_a_while_has_not_ended() {
        let script = "(while ! grep -q 'State:.*T' /proc/$$/status; do :; done; kill -CONT $$) & kill -STOP $$; exit 3";
        let finished = run(Command::new("bash").args(["-c", script]), Duration::from_secs(30)).unwrap();
        assert_eq!(finished.end, End::Exited(3));
    }

    #[test]
    fn endless_output_is_cut() {
        let finished = shell("exec yes");
        assert!(finished.stdout.len() <= OUTPUT_BYTES);
    }
}
