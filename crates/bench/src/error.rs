//! Why a comparison could not be made. Every message names the file or the option, and what to do.

use std::io;
use std::path::PathBuf;

/// Why a comparison could not be made at all. A contender that fails is no error: it is a row of the table.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The program is a file that is not there.
    #[error("{}: no such file; give an .erl file, a .beam file or the name of a module", .0.display())]
    NoSuchProgram(PathBuf),
    /// The program is a file of a kind that nobody can run.
    #[error("{}: neither an .erl nor a .beam file; give one of these or the name of a module", .0.display())]
    UnknownProgram(PathBuf),
    /// The program or an argument holds bytes that are no UTF-8.
    #[error("{0:?} is not valid UTF-8: rename the file or the module")]
    NotUtf8(PathBuf),
    /// The `atoll` executable is missing.
    #[error("{}: there is no atoll executable here; build it with `cargo build --release`", .0.display())]
    NoAtoll(PathBuf),
    /// The program is a source file and there is no compiler.
    #[error("{}: compiling it needs `erlc`, which was not found; install it (on Debian: apt-get install erlang-base) \
             or give a .beam file", .0.display())]
    NoCompiler(PathBuf),
    /// The compiler refused the program.
    #[error("{}: `erlc` refused it:\n{report}", .file.display())]
    Compile {
        /// The source file.
        file: PathBuf,
        /// What the compiler printed.
        report: String,
    },
    /// The options leave nothing to compare.
    #[error("{0}")]
    Options(&'static str),
    /// The operating system refused something.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl CompareError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> CompareError {
        let path = path.into();
        move |source| CompareError::Io { action, path, source }
    }
}
