//! Settings of a heap that hold for all of its processes.

use std::time::Duration;

/// What a user can choose for the heap of one machine. An architecture is made with them, and they do not change
/// afterwards.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `--gc-stress N`: collect at every Nth allocation point; 0 is off.
    pub stress: u32,
    /// `--verify-heap`: check heaps after every collection.
    pub verify: bool,
    /// `--old-generation mark-sweep`: an architecture with generations does not move what is old, if it can do so.
    pub mark_sweep: bool,
    /// `--max-pause`: the longest time that an incremental collector may keep a scheduler at once.
    pub max_pause: Duration,
    /// `--area-limit`: bytes that a message area may have; `None` leaves it to the architecture.
    pub area_limit: Option<usize>,
    /// `--build-in-area`: lists and tuples are built in the message area at once, where their parts allow it.
    pub build_in_area: bool,
    /// `--trace-gc`: a line on standard error for every collection.
    pub trace: bool,
    /// `--stats`: sends are timed, and pauses recorded; reading a clock at every send is not free.
    pub timed: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stress: 0,
            verify: false,
            mark_sweep: false,
            max_pause: Duration::from_millis(1),
            area_limit: None,
            build_in_area: false,
            trace: false,
            timed: false,
        }
    }
}

impl Settings {
    /// Whether allocation points collect.
    pub fn is_stressed(&self) -> bool {
        self.stress > 0
    }
}
