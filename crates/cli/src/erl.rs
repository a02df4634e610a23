//! `atoll erl`

use std::ffi::OsString;
use std::path::PathBuf;

use atoll_vm::Options;

/// Variable that names the heap architecture, for programs that are started by others.
const HEAP: &str = "ATOLL_HEAP";

/// Boots OTP with the words of an `erl` command line; returns the exit status. `--heap NAME` and `--otp DIR` may
/// stand in front.
pub fn erl(words: impl Iterator<Item = OsString>) -> Result<i32, String> {
    let mut options = Options::default();
    if let Some(heap) = std::env::var_os(HEAP).filter(|heap| !heap.is_empty()) {
        options.heap = heap.to_string_lossy().into_owned();
    }
    let mut words = words.peekable();
    loop {
        match words.peek().and_then(|word| word.to_str()) {
            Some("--heap") => {
                options.heap = value(&mut words)?.to_string_lossy().into_owned();
            }
            Some("--otp") => options.otp = Some(PathBuf::from(value(&mut words)?)),
            _ => break,
        }
    }
    atoll_vm::erl::run(options, words.collect()).map_err(|error| error.to_string())
}

fn value(words: &mut impl Iterator<Item = OsString>) -> Result<OsString, String> {
    let name = words.next().unwrap_or_default();
    words.next().ok_or_else(|| format!("{}: a value is missing", name.display()))
}
