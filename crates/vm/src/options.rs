//! What a user can choose for a run.

use std::path::PathBuf;
use std::time::Duration;

use atoll_process::table::DEFAULT_PROCESSES;

/// Options of one run.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--heap`: name of the architecture.
    pub heap: String,
    /// `+S`: schedulers.
    pub schedulers: usize,
    /// `+P`: process limit.
    pub processes: usize,
    /// `+hms`: `min_heap_size` in words.
    pub minimum_heap_words: usize,
    /// `+hmbs`: `min_bin_vheap_size` in words.
    pub minimum_binary_words: usize,
    /// `+t`: atom limit.
    pub atoms: Option<usize>,
    /// `-pa`: folders searched for modules first.
    pub code_path: Vec<PathBuf>,
    /// `--otp`: OTP's root, the folder with `lib`.
    pub otp: Option<PathBuf>,
    /// `--root`: what OTP is told to be its root, if that is another folder: a release's.
    pub root: Option<PathBuf>,
    /// `--stats`: where to write what the run cost.
    pub statistics: Option<PathBuf>,
    /// `--max-pause`: the longest time for which an incremental collector may keep a scheduler at once.
    pub longest_pause: Duration,
    /// `--old-generation mark-sweep`: what is old is not moved, where the architecture can do so.
    pub mark_sweep: bool,
    /// `--area-limit`: bytes that the message area of `hybrid` may have; by default as much as the machine has memory.
    pub area_limit: Option<usize>,
    /// `--build-in-area`: lists and tuples are built in the message area of `hybrid` at once, instead of being copied
    /// there when they are sent.
    pub build_in_area: bool,
    /// `--gc-stress`: collect at every Nth allocation point; 0 is off.
    pub stress: u32,
    /// `--verify-heap`: check heaps after every collection.
    pub verify: bool,
    /// `--trace-gc`: a line for every collection.
    pub trace: bool,
}

/// Default `min_heap_size` in words.
const MINIMUM_HEAP: usize = 233;
/// Default `min_bin_vheap_size` in words.
const MINIMUM_BINARY: usize = 46_422;

impl Default for Options {
    fn default() -> Self {
        Options {
            heap: atoll_architectures::NAMES[0].to_owned(),
            schedulers: std::thread::available_parallelism().map_or(1, usize::from),
            processes: DEFAULT_PROCESSES,
            minimum_heap_words: MINIMUM_HEAP,
            minimum_binary_words: MINIMUM_BINARY,
            atoms: None,
            code_path: Vec::new(),
            otp: None,
            root: None,
            statistics: None,
            longest_pause: Duration::from_millis(1),
            mark_sweep: false,
            area_limit: None,
            build_in_area: false,
            stress: 0,
            verify: false,
            trace: false,
        }
    }
}
