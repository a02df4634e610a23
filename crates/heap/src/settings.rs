//! Settings of a heap that hold for all of its processes.

use std::time::Duration;

/// What an architecture with a message area puts there: which lists and tuples it builds there at once, and which
/// messages it copies there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuildInArea {
    /// Builds all. Copies all long messages.
    Always,
    /// Builds those of allocation sites of which the message analysis knows that their objects are sent, and are part
    /// of something that grows; feedback corrects it. Copies all long messages.
    Analysis,
    /// Builds those of allocation sites whose objects turn out to be sent. Copies all long messages.
    Feedback,
    /// As `Feedback`, but copies no messages of kinds that are sent on or stored again too seldom.
    #[default]
    Use,
    /// Builds none. Copies all long messages.
    Never,
}

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
    /// `--heap-size`: bytes that one heap of all processes has, which then neither grows nor shrinks; `None`: it
    /// follows what lives.
    pub heap_size: Option<usize>,
    /// `--area`: what is put into the message area.
    pub area: BuildInArea,
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
            heap_size: None,
            area: BuildInArea::default(),
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
