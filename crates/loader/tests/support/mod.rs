//! What the tests share: an assembler for small files, and the files of an installed OTP.

#![allow(dead_code, reason = "no test file uses all of it")]

pub mod assembler;
pub mod mutate;
pub mod walk;

use std::path::{Path, PathBuf};

/// All `.beam` files of OTP and Elixir on this machine, and of the directories in
/// `ATOLL_TEST_BEAMS` (separated by colons). Empty if there are none.
pub fn installed() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["ATOLL_OTP", "ATOLL_TEST_BEAMS"]
        .iter()
        .filter_map(std::env::var_os)
        .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>())
        .collect();
    for place in ["/usr/lib", "/usr/local/lib", "/opt"] {
        for name in ["erlang/lib", "elixir/lib"] {
            roots.push(Path::new(place).join(name));
        }
    }
    let mut files = Vec::new();
    for root in roots {
        collect(&root, &mut files);
    }
    files.sort();
    files.dedup();
    files
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "beam") {
            files.push(path);
        }
    }
}

/// A small generator of pseudo-random numbers (xorshift), so that a seed repeats a run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}
