//! `atoll erl`, and what `atoll erlc` and `atoll escript` share with it: OTP is booted with the words of an `erl`
//! command line. `--heap NAME`, `--old-generation HOW`, `--otp DIR` and `--root DIR` may stand in front of them.

use std::ffi::OsString;
use std::path::PathBuf;

use atoll_vm::Options;
use clap::ValueEnum;

use crate::arguments::OldGeneration;

/// Variable that names the heap architecture, for programs that are started by others.
const HEAP: &str = "ATOLL_HEAP";

/// Takes Atoll's own options from the front of the words.
///
/// # Errors
/// A value is missing.
pub fn own_options(mut words: Vec<OsString>) -> Result<(Options, Vec<OsString>), String> {
    let mut options = Options::default();
    if let Some(heap) = std::env::var_os(HEAP).filter(|heap| !heap.is_empty()) {
        options.heap = heap.to_string_lossy().into_owned();
    }
    let is_own = |name: &str| matches!(name, "--heap" | "--otp" | "--root" | "--old-generation");
    while let Some(name) = words.first().and_then(|word| word.to_str()).filter(|name| is_own(name)) {
        let value = words.get(1).cloned().ok_or_else(|| format!("{name}: a value is missing"))?;
        match name {
            "--heap" => options.heap = value.to_string_lossy().into_owned(),
            "--root" => options.root = Some(PathBuf::from(value)),
            "--otp" => options.otp = Some(PathBuf::from(value)),
            _ => {
                options.mark_sweep = OldGeneration::from_str(&value.to_string_lossy(), false)
                    .map_err(|_| format!("{name} {}: choose copying or mark-sweep", value.to_string_lossy()))?
                    == OldGeneration::MarkSweep;
            }
        }
        words.drain(..2);
    }
    Ok((options, words))
}

/// Boots OTP; returns the exit status.
///
/// # Errors
/// What keeps it from starting.
pub fn boot(options: Options, words: Vec<OsString>) -> Result<i32, String> {
    atoll_vm::erl::run(options, words).map_err(|error| error.to_string())
}

/// `atoll erl`
pub fn erl(words: Vec<OsString>) -> Result<i32, String> {
    let (options, words) = own_options(words)?;
    boot(options, words)
}
