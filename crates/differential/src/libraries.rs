//! Compiles native libraries against the headers of the installed OTP.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::compile;
use crate::run::{End, run};

/// How long the compiler may take for one library.
const COMPILER_LIMIT: Duration = Duration::from_secs(120);

/// Where the headers of native libraries are.
///
/// # Errors
/// Stock `erl` cannot be run.
pub fn headers() -> io::Result<PathBuf> {
    let mut erl = Command::new("erl");
    erl.args(["-noshell", "-noinput", "-eval", "io:put_chars(code:root_dir()), halt()."]);
    let finished = run(&mut erl, COMPILER_LIMIT)?;
    Ok(Path::new(String::from_utf8_lossy(&finished.stdout).trim()).join("usr/include"))
}

/// Compiles a module, and the library of the same name that it loads, in C beside it.
///
/// # Errors
/// As of [`compile`], [`headers`] and [`compile_library`].
pub fn compile_with_library(source: &Path, folder: &Path) -> io::Result<()> {
    compile(&[source.to_path_buf()], folder).map_err(io::Error::other)?;
    let library = folder.join(source.file_stem().unwrap_or_default()).with_extension("so");
    compile_library(&source.with_extension("c"), &library, &headers()?)
}

/// Makes a library of one file in C.
///
/// # Errors
/// `cc` cannot be run, or refuses the file; then its report.
pub fn compile_library(source: &Path, library: &Path, headers: &Path) -> io::Result<()> {
    let mut command = Command::new("cc");
    command.args(["-w", "-shared", "-fPIC", "-O1", "-pthread", "-I"]).arg(headers).arg("-o").arg(library).arg(source);
    let finished = run(&mut command, COMPILER_LIMIT)?;
    if finished.end == End::Exited(0) {
        return Ok(());
    }
    let report = String::from_utf8_lossy(&finished.stderr).into_owned();
    Err(io::Error::other(format!("cc: {}: {}: {report}", source.display(), finished.end)))
}
