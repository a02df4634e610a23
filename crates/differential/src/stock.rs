//! What stock `erl` does with a program, remembered between runs.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run::{End, Finished, run};

/// Stock `erl` and the folder where its results are kept.
#[derive(Clone, Debug)]
pub struct Stock {
    version: String,
    cache: PathBuf,
}

impl Stock {
    /// Finds `erl` on PATH; results are kept in `cache`.
    ///
    /// # Errors
    /// There is none, or the folder cannot be made.
    pub fn find(cache: &Path) -> io::Result<Stock> {
        fs::create_dir_all(cache)?;
        let found = run(Command::new("erl").arg("+V"), Duration::from_secs(20))?;
        let version = String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).trim().to_owned();
        Ok(Stock { version, cache: cache.to_owned() })
    }

    /// Runs `main([])` of a module in `folder`. It ends with 0 if the function returns and with 1 if it fails, as
    /// `atoll run` does.
    ///
    /// # Errors
    /// `erl` cannot be started.
    pub fn run(&self, folder: &Path, module: &str, timeout: Duration) -> io::Result<Finished> {
        let mut command = Command::new("erl");
        command
            .args(["-noshell", "-noinput", "-kernel", "logger_level", "none", "-pa"])
            .arg(folder)
            .args(["-eval", &expression(module)]);
        run(&mut command, timeout)
    }

    /// As [`Stock::run`], but not again for a module that has not changed.
    ///
    /// # Errors
    /// A file cannot be read or written, or `erl` cannot be started.
    pub fn run_once(&self, folder: &Path, module: &str, timeout: Duration) -> io::Result<Finished> {
        let expression = expression(module);
        let mut hash = DefaultHasher::new();
        (&self.version, &expression, fs::read(folder.join(module).with_extension("beam"))?).hash(&mut hash);
        let file = self.cache.join(format!("{module}-{:016x}", hash.finish()));
        if let Some(remembered) = fs::read(&file).ok().and_then(|bytes| decode(&bytes)) {
            return Ok(remembered);
        }
        let finished = self.run(folder, module, timeout)?;
        if let End::Exited(status) = finished.end {
            let made = file.with_extension(std::process::id().to_string());
            fs::write(&made, encode(status, &finished.stdout))?;
            fs::rename(&made, &file)?;
        }
        Ok(finished)
    }
}

/// The program runs in a process of its own, with nothing below `main/1` on its stack: that of `-eval` traps exits, is
/// linked, and evaluates.
fn expression(module: &str) -> String {
    format!(
        "{{_, Ref}} = spawn_monitor('{module}', main, [[]]), \
         receive {{'DOWN', Ref, _, _, normal}} -> halt(0); {{'DOWN', Ref, _, _, _}} -> halt(1) end."
    )
}

fn encode(status: i64, stdout: &[u8]) -> Vec<u8> {
    [format!("{status}\n").as_bytes(), stdout].concat()
}

fn decode(bytes: &[u8]) -> Option<Finished> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let status = std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    Some(Finished { end: End::Exited(status), stdout: bytes[end + 1..].to_vec(), stderr: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_read_back() {
        let finished = decode(&encode(7, b"a\nb")).unwrap();
        assert_eq!((finished.end, &*finished.stdout), (End::Exited(7), &b"a\nb"[..]));
        assert_eq!(decode(b""), None);
        assert_eq!(decode(b"x\n"), None);
    }
}
