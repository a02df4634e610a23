//! Names of generated code for `perf`: a file `perf-PID.map` with a line for each function, `START SIZE NAME`, start
//! and size in hexadecimal, as `tools/perf/Documentation/jit-interface.txt` of Linux says.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::ptr::NonNull;

use parking_lot::Mutex;

/// The file.
pub struct PerfMap {
    file: Mutex<File>,
}

impl PerfMap {
    /// Makes this process's file in the folder where `perf` looks for it.
    ///
    /// # Errors
    /// It cannot be made; the file's name stands in the text.
    pub fn new() -> Result<PerfMap, String> {
        let path = PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(PerfMap { file: Mutex::new(file) })
    }

    /// Adds a function. That the disk is full keeps nothing from running.
    pub fn add(&self, start: NonNull<u8>, size: usize, name: &str) {
        let line = format!("{:x} {size:x} ${name}\n", start.addr());
        let _ = self.file.lock().write_all(line.as_bytes());
    }
}
