//! What a user can choose for a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use atoll_bifs::ClockFlags;
use atoll_heap::{BuildInArea, Settings};
use atoll_process::table::DEFAULT_PROCESSES;
use atoll_scheduler::{Order, Scheduling};

/// Options of one run.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--heap`: name of the architecture.
    pub heap: String,
    /// `+S`: schedulers.
    pub schedulers: usize,
    /// `+SDcpu`: threads for dirty calls of the processor, at most as many as schedulers.
    pub dirty_processor: Option<usize>,
    /// `--check-natives`: check the terms that native libraries make.
    pub check_natives: bool,
    /// `+SDio`: threads for dirty calls of input and output.
    pub dirty_input_output: usize,
    /// What runs the processes; by default so many schedulers on threads of their own. Of one machine alone.
    pub scheduling: Option<&'static dyn Scheduling>,
    /// `+P`: process limit.
    pub processes: usize,
    /// `--scheduler`: which process runs first.
    pub order: Order,
    /// `+hms`: `min_heap_size` in words.
    pub minimum_heap_words: usize,
    /// `+hmbs`: `min_bin_vheap_size` in words.
    pub minimum_binary_words: usize,
    /// `+hmax`: `max_heap_size` in words; 0: no limit.
    pub maximum_heap_words: usize,
    /// `+hmaxk`: whether a process that reaches it is killed.
    pub kills_at_heap_limit: bool,
    /// `+hmaxel`: whether a message tells of it.
    pub tells_heap_limit: bool,
    /// `+hmqd`: whether messages wait outside of heaps.
    pub off_heap_messages: bool,
    /// `+c` and `+C`: what programs are told of the clock.
    pub clock: ClockFlags,
    /// `+Q`: port limit.
    pub ports: Option<usize>,
    /// `+t`: atom limit.
    pub atoms: Option<usize>,
    /// `-pa`: folders searched for modules first.
    pub code_path: Vec<PathBuf>,
    /// `--otp`: OTP's root, the folder with `lib`.
    pub otp: Option<PathBuf>,
    /// `--root`: the folder that OTP's libraries take for their root, if it is another one: a release's.
    pub root: Option<PathBuf>,
    /// The program that is Atoll: OTP starts other nodes with it.
    pub program: Option<PathBuf>,
    /// Variables with the options of this run, for programs that it starts.
    pub handed_on: Vec<(OsString, OsString)>,
    /// `--stats`: where to write what the run cost.
    pub statistics: Option<PathBuf>,
    /// `--max-pause`: the longest time for which an incremental collector may keep a scheduler at once.
    pub longest_pause: Duration,
    /// `--old-generation mark-sweep`: what is old is not moved, where the architecture can do so.
    pub mark_sweep: bool,
    /// `--area-limit`: bytes that the message area of `hybrid` may have; by default as much as the machine has memory.
    pub area_limit: Option<usize>,
    /// `--heap-size`: bytes of the heap of `unified`, which then neither grows nor shrinks.
    pub heap_size: Option<usize>,
    /// `--area`: which lists and tuples are built in the message area of `hybrid` at once, instead of being copied
    /// there when they are sent.
    pub area: BuildInArea,
    /// `--gc-stress`: collect at every Nth allocation point; 0 is off.
    pub stress: u32,
    /// `--verify-heap`: check heaps after every collection.
    pub verify: bool,
    /// `--trace-gc`: a line for every collection.
    pub trace: bool,
    /// `--native`: which functions are compiled to machine code; if it is not given, those that turn out to be hot, and
    /// none in a simulated run, which is short.
    pub native: Option<Native>,
    /// `--native-exits`: one in so many instructions of machine code is left to the interpreter; 0: none.
    pub native_exits: u32,
    /// `--perf-map`, `+JPperf`: name machine code for `perf`.
    pub perf_map: bool,
    /// `--gdb-names`: tell debuggers of machine code.
    pub gdb_names: bool,
    /// `--native-cache`: folder for machine code that later runs use again.
    pub native_cache: Option<PathBuf>,
    /// `--native-limit`: bytes that machine code may take.
    pub native_limit: usize,
    /// `+pc unicode`: all printable characters of Unicode count as text, not those of Latin-1 alone.
    pub printable_unicode: bool,
    /// `+zdbbl`: bytes that may wait for a connection to another node before senders have to.
    pub busy_limit: usize,
    /// `+We`, `+Wi`: what `error_logger` makes of warnings, `error` or `info`.
    pub warnings_as: Option<&'static str>,
}

/// Which functions are compiled to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// None.
    Off,
    /// Those that turn out to be hot.
    On,
    /// All, each when it is first called.
    Eager,
}

/// Default of `--native-limit`.
pub const NATIVE_LIMIT: usize = 64 << 20;

/// Default `min_heap_size` in words.
const MINIMUM_HEAP: usize = 233;
/// Default `min_bin_vheap_size` in words.
const MINIMUM_BINARY: usize = 46_422;

impl Options {
    /// What the heap's architecture is made with.
    pub(crate) fn heap_settings(&self) -> Settings {
        Settings {
            stress: self.stress,
            verify: self.verify,
            mark_sweep: self.mark_sweep,
            max_pause: self.longest_pause,
            area_limit: self.area_limit,
            heap_size: self.heap_size,
            area: self.area,
            trace: self.trace,
            timed: self.statistics.is_some(),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            heap: atoll_architectures::NAMES[0].to_owned(),
            schedulers: std::thread::available_parallelism().map_or(1, usize::from),
            dirty_processor: None,
            dirty_input_output: 10,
            check_natives: false,
            scheduling: None,
            order: Order::default(),
            processes: DEFAULT_PROCESSES,
            minimum_heap_words: MINIMUM_HEAP,
            minimum_binary_words: MINIMUM_BINARY,
            maximum_heap_words: 0,
            kills_at_heap_limit: true,
            tells_heap_limit: true,
            off_heap_messages: false,
            clock: ClockFlags { correction: true, warp: None },
            ports: None,
            atoms: None,
            code_path: Vec::new(),
            otp: None,
            root: None,
            program: None,
            handed_on: Vec::new(),
            statistics: None,
            longest_pause: Duration::from_millis(1),
            mark_sweep: false,
            area_limit: None,
            heap_size: None,
            area: BuildInArea::default(),
            stress: 0,
            verify: false,
            trace: false,
            native: None,
            native_exits: 0,
            native_cache: None,
            perf_map: false,
            gdb_names: false,
            native_limit: NATIVE_LIMIT,
            printable_unicode: false,
            busy_limit: atoll_distribution::BUSY_LIMIT,
            warnings_as: None,
        }
    }
}
