//! Compiles many programs with one `erlc`.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why programs could not be compiled.
#[derive(Debug)]
pub enum CompileError {
    /// `erlc` cannot be started.
    Start(io::Error),
    /// `erlc` refused a file; its report.
    Refused(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Start(error) => write!(out, "cannot run erlc: {error}; install Debian's erlang-base"),
            CompileError::Refused(report) => write!(out, "erlc:\n{report}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Compiles into `folder`, so that the same source always gives the same bytes.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(sources: &[PathBuf], folder: &Path) -> Result<(), CompileError> {
    if sources.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(CompileError::Start)?;
    let mut command = Command::new("erlc");
    command.args(["-W0", "+deterministic", "-o"]).arg(folder).args(sources).stdin(Stdio::null());
    let output = command.output().map_err(CompileError::Start)?;
    if output.status.success() {
        return Ok(());
    }
    let report = [output.stdout, output.stderr].concat();
    Err(CompileError::Refused(String::from_utf8_lossy(&report).into_owned()))
}

/// Whether `source` has changed since `beam` was made of it.
pub fn is_newer(source: &Path, beam: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    modified(beam).is_none_or(|made| modified(source).is_none_or(|changed| changed >= made))
}
