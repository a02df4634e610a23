//! What to compare.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to run, on what, and how often.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The `atoll` executable.
    pub atoll: PathBuf,
    /// An `.erl` file, a `.beam` file or the name of a module.
    pub program: OsString,
    /// The strings that `main/1` gets.
    pub arguments: Vec<OsString>,
    /// Heap architectures as `--heap` takes them, in the order in which they run and are shown.
    pub architectures: Vec<String>,
    /// The architecture that the others are held against; the first contender if it does not take part.
    pub baseline: String,
    /// Whether stock `erl` takes part, if it is installed.
    pub with_erl: bool,
    /// Where OTP is installed; without it, the `erl` and `erlc` on PATH are used.
    pub otp: Option<PathBuf>,
    /// How often each contender runs the program.
    pub runs: usize,
    /// How often each contender runs an empty program, which shows what starting it costs.
    pub startup_runs: usize,
    /// A run that takes longer is ended, and its contender counts as failed.
    pub timeout: Option<Duration>,
    /// Options that atoll and `erl` both understand, such as `+S 2`, `+hms 4096` or `-pa DIR`.
    pub runtime_options: Vec<OsString>,
    /// Options of `atoll run` alone, such as `--verify-heap`.
    pub atoll_options: Vec<OsString>,
}

impl CompareOptions {
    /// Five runs of `program` on stock `erl` beside the architectures given, at most ten minutes a run.
    pub fn new(
        atoll: impl Into<PathBuf>,
        program: impl Into<OsString>,
        architectures: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        CompareOptions {
            atoll: atoll.into(),
            program: program.into(),
            arguments: Vec::new(),
            architectures: architectures.into_iter().map(Into::into).collect(),
            baseline: "private".to_owned(),
            with_erl: true,
            otp: None,
            runs: 5,
            startup_runs: 3,
            timeout: Some(Duration::from_secs(600)),
            runtime_options: Vec::new(),
            atoll_options: Vec::new(),
        }
    }
}
