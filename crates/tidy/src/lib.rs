//! House rules, as tests over the files of the repository: a rule that no test enforces is no rule.
//!
//! * `tests/files.rs`: what files may contain
//! * `tests/terms.rs`: what types cannot say of terms
//! * `tests/rooms.rs`: which crate may see which, and what each must say of itself
//! * `tests/imports.rs`: which files of a crate import which others
//! * `tests/statics.rs`: what belongs to the process of the operating system, and not to a machine
//! * `tests/pages.rs`: documentation that names what is there
//!
//! This library finds the files and the crates; it knows no rule.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// A file that git keeps.
#[derive(Clone, Debug)]
pub struct TrackedFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// What it holds; bytes that are no UTF-8 are replaced.
    pub text: String,
}

impl TrackedFile {
    /// Whether the name ends with a dot and `extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// The crate that it belongs to: `NAME` of `crates/NAME/...`.
    pub fn room(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Its lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether all of it is for tests: it lies below a folder of tests, examples or benchmarks, or is a module `tests`.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| ["tests", "tests.rs", "examples", "benches", "oracle.rs"].contains(&part))
    }

    /// The lines of a Rust file in front of its test module.
    pub fn lines_without_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
    }
}

/// One crate of the workspace.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// Its licence, as an SPDX expression.
    pub license: Option<String>,
    /// What it depends on.
    pub dependencies: Vec<Dependency>,
    /// Its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// Libraries, binaries, tests and so on.
    pub targets: Vec<Target>,
}

impl Package {
    /// The folder below `crates/`.
    pub fn room(&self) -> String {
        let folder = self.manifest_path.parent().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }
}

/// One dependency of a crate.
#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    /// The crate's name.
    pub name: String,
    /// `dev` or `build`, or `None` for what the crate itself needs.
    pub kind: Option<String>,
    /// Its folder, if it lies in this repository.
    pub path: Option<PathBuf>,
}

/// Something that a crate builds.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// `lib`, `bin`, `proc-macro`, `test` and so on.
    pub kind: Vec<String>,
    /// Its root file.
    pub src_path: PathBuf,
}

/// The repository's root. Cargo names the folder of the crate when it runs a test; the folder where the test was
/// compiled may be another one, if a build was copied.
pub fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&own).ancestors().nth(2).expect("this crate lies in crates/tidy").to_owned()
}

/// All files that git keeps and that are there, in order.
pub fn tracked_files() -> Vec<TrackedFile> {
    let root = root();
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().expect("git is installed");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let files: Vec<TrackedFile> = names
        .split_terminator('\0')
        .filter_map(|path| {
            let bytes = std::fs::read(root.join(path)).ok()?;
            Some(TrackedFile { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
        })
        .collect();
    assert!(files.iter().any(|file| file.path == "Cargo.toml"), "no Cargo.toml among {} files", files.len());
    files
}

/// The text of one file of the repository.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates of the workspace.
pub fn packages() -> Vec<Package> {
    metadata(&["--no-deps"])
}

/// All libraries that the workspace needs on this system, indirect ones included, and the workspace itself.
pub fn libraries() -> Vec<Package> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc is installed");
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    metadata(&["--filter-platform", host])
}

fn metadata(options: &[&str]) -> Vec<Package> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(options)
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata.packages
}

/// Fails with all that breaks a rule, one a line.
pub fn report(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}\n  {}\n", broken.join("\n  "));
}
