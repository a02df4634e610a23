//! The record of one run.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::utilisation::WindowUtilisation;

/// What one run of a program cost on one heap architecture: the figures of Wilhelmsson's Appendix C and those that came
/// after them, as written by `atoll run --stats FILE.json`.
///
/// Units are in the names: `_ns` nanoseconds, `_words` or `words_` words of 8 bytes, `_bytes` bytes; all else are
/// counts. A field is `None` (`null`) when it was not measured: the timers were off, or the architecture has no such
/// thing. It is never 0 in place of "unknown". A reader accepts a record that lacks any of them, so old files stay
/// readable.
///
/// The times `mutator_ns`, `send_ns`, `size_ns`, `copy_ns`, `minor_gc_ns` and `major_gc_ns` never overlap and are
/// summed over all schedulers; with one scheduler that never idles they add up to about `total_ns`. (The thesis counts
/// copying as a part of sending; here the two stand apart.)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunStatistics {
    /// The architecture's name as `--heap` takes it.
    pub heap: String,
    /// How many schedulers ran (`+S`).
    pub schedulers: u32,

    /// Real time from the start of the machine to its end.
    pub total_ns: u64,
    /// Real time from the start of the machine to the call of the program's `main/1`.
    pub boot_ns: Option<u64>,
    /// Time in the program itself: busy schedulers, less everything below.
    pub mutator_ns: Option<u64>,
    /// Time in sending, without sizing and copying: queues, locks, waking the receiver.
    pub send_ns: Option<u64>,
    /// Time in finding out how large messages, spawn arguments and ETS rows are.
    pub size_ns: Option<u64>,
    /// Time in copying them.
    pub copy_ns: Option<u64>,
    /// Time in minor collections.
    pub minor_gc_ns: Option<u64>,
    /// Time in major collections; of a concurrent collector, what it took from schedulers.
    pub major_gc_ns: Option<u64>,

    /// Minor collections, of all heaps together.
    pub minor_collections: u64,
    /// Major collections, of all heaps together.
    pub major_collections: u64,
    /// The longest time for which a minor collection stopped a process (or all of them).
    pub longest_minor_pause_ns: Option<u64>,
    /// The longest time for which a major collection, or a slice of one, stopped a process (or all of them).
    pub longest_major_pause_ns: Option<u64>,
    /// How long pauses were counted for the two fields below: the run, or from the last
    /// `atoll_heap:count_pauses_from_now()` on.
    pub pauses_counted_ns: Option<u64>,
    /// Every pause, minor or major, in nanoseconds.
    pub pause_histogram: Option<Histogram>,
    /// The same by the processor time of the threads that worked, which other work on the machine does not lengthen.
    pub pause_cpu_histogram: Option<Histogram>,
    /// What schedulers without processes did at once for a collector, in nanoseconds of processor time.
    pub help_cpu_histogram: Option<Histogram>,
    /// Minimum mutator utilisation, for windows of growing length.
    pub minimum_mutator_utilisation: Option<Vec<WindowUtilisation>>,
    /// The same by the processor time of the pauses.
    pub minimum_mutator_utilisation_cpu: Option<Vec<WindowUtilisation>>,

    /// Messages sent.
    pub messages: Option<u64>,
    /// Words copied because of messages.
    pub words_copied_messages: Option<u64>,
    /// Sizes of the messages sent, in words copied for each: none for an immediate or where a pointer was passed, else
    /// counted as the next power of two.
    pub message_size_histogram: Option<Histogram>,

    /// Processes spawned, from first to last.
    pub spawned_processes: Option<u64>,
    /// The most processes alive at once.
    pub highest_process_count: Option<u64>,

    /// Live words after the last major collection.
    pub live_words: Option<u64>,
    /// Live words that minor collections found, summed over all of them.
    pub live_words_in_minor_collections: Option<u64>,
    /// Live words that major collections found, summed over all of them.
    pub live_words_in_major_collections: Option<u64>,
    /// Words in use in all heaps together, stacks excluded, at the highest.
    pub heap_words_used_highest: Option<u64>,
    /// Words that all heaps together had taken from the system, at the highest.
    pub heap_words_allocated_highest: Option<u64>,
    /// Pointers, met by collections in live data, that lead into an old generation.
    pub pointers_to_old: Option<u64>,
    /// Pointers, met by collections in live data, that lead into a young generation.
    pub pointers_to_young: Option<u64>,

    /// Words built in a message area directly.
    pub area_words_built: Option<u64>,
    /// Words built in a message area that were never sent, as far as the samples of the sites that built them tell;
    /// none without samples.
    pub area_words_never_sent: Option<u64>,
    /// Allocation sites that were switched to build in the area, because what they built was sent.
    pub area_sites_switched: Option<u64>,
    /// Allocation sites that were switched back.
    pub area_sites_switched_back: Option<u64>,
    /// Words copied into a message area.
    pub area_words_copied: Option<u64>,
    /// Terms, or parts of small ones, that were sent or stored by pointer because a copy of them was in the area.
    pub area_copies_found: Option<u64>,
    /// Cycles of the area's collector.
    pub area_cycles: Option<u64>,
    /// Words of processes and messages looked at to find the area's roots.
    pub area_words_scanned: Option<u64>,
    /// What the area's collector did at once, in nanoseconds of processor time, for each thread that worked for it.
    pub area_slices: Option<Vec<Histogram>>,

    /// The highest resident memory of the whole operating system process, as it read it itself.
    pub peak_rss_bytes: Option<u64>,
    /// Reductions spent.
    pub reductions: Option<u64>,
    /// Functions compiled to machine code.
    pub native_functions: Option<u64>,
    /// Functions that were hot and stay interpreted.
    pub native_refused: Option<u64>,
    /// Bytes of machine code.
    pub native_code_bytes: Option<u64>,
    /// Bytes of the pages that hold it.
    pub native_held_bytes: Option<u64>,
    /// Regions of functions whose machine code an earlier run had made.
    pub native_kept: Option<u64>,
    /// Time spent compiling, in nanoseconds of the compiler's thread.
    pub native_compile_ns: Option<u64>,
    /// How often machine code left to the interpreter where it met what it was not made for: no room on heap or stack,
    /// other operands than small integers, or what raises.
    pub native_exits: Option<u64>,
    /// Of these: for lack of room.
    pub native_exits_for_room: Option<u64>,
    /// Of these: for operands that are no small integers.
    pub native_exits_for_operands: Option<u64>,
    /// How often machine code had the interpreter carry out an instruction that it does not know.
    pub native_lent: Option<u64>,
    /// How often a scheduler took up a process.
    pub context_switches: Option<u64>,
    /// Cache misses, where the machine counts them.
    pub cache_misses: Option<u64>,
}

/// Where the busy time of the schedulers went, in the parts that Johansson's Figures 7 to 12 stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// The program itself.
    pub mutator_ns: u64,
    /// Sending, with sizing, without copying.
    pub send_ns: u64,
    /// Copying.
    pub copy_ns: u64,
    /// Minor collections.
    pub minor_ns: u64,
    /// Major collections.
    pub major_ns: u64,
}

impl PhaseTimes {
    /// All parts together.
    pub fn total_ns(&self) -> u64 {
        [self.mutator_ns, self.send_ns, self.copy_ns, self.minor_ns, self.major_ns]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl RunStatistics {
    /// Where the time went, or `None` if the timers were off. A part that the architecture does not have counts as 0.
    pub fn phases(&self) -> Option<PhaseTimes> {
        Some(PhaseTimes {
            mutator_ns: self.mutator_ns?,
            send_ns: self.send_and_size_ns().unwrap_or(0),
            copy_ns: self.copy_ns.unwrap_or(0),
            minor_ns: self.minor_gc_ns.unwrap_or(0),
            major_ns: self.major_gc_ns.unwrap_or(0),
        })
    }

    /// Time in sending and sizing together, or `None` if neither was measured.
    pub fn send_and_size_ns(&self) -> Option<u64> {
        match (self.send_ns, self.size_ns) {
            (None, None) => None,
            (send, size) => Some(send.unwrap_or(0).saturating_add(size.unwrap_or(0))),
        }
    }

    /// The longest pause of any kind.
    pub fn longest_pause_ns(&self) -> Option<u64> {
        self.longest_minor_pause_ns.max(self.longest_major_pause_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmeasured_is_null_and_missing_is_accepted() {
        let statistics = RunStatistics { heap: "private".into(), total_ns: 12, ..RunStatistics::default() };
        let text = serde_json::to_string(&statistics).unwrap();
        assert!(text.contains(r#""mutator_ns":null"#), "{text}");
        assert_eq!(serde_json::from_str::<RunStatistics>(r#"{"heap":"private","total_ns":12}"#).unwrap(), statistics);
    }

    #[test]
    fn phases_need_the_timers() {
        let mut statistics = RunStatistics::default();
        assert_eq!(statistics.phases(), None);
        assert_eq!(statistics.longest_pause_ns(), None);
        statistics.mutator_ns = Some(10);
        statistics.send_ns = Some(1);
        statistics.size_ns = Some(2);
        statistics.longest_minor_pause_ns = Some(7);
        let phases = statistics.phases().unwrap();
        assert_eq!((phases.send_ns, phases.total_ns()), (3, 13));
        assert_eq!(statistics.longest_pause_ns(), Some(7));
    }
}
