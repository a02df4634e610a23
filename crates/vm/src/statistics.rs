//! The record of what a run cost (`--stats`).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::statistics::{AREA, COUNTERS, PauseRecord, area_slices, pauses};
use atoll_platform::clock;
use atoll_process::System;
use atoll_scheduler::Schedulers;
use atoll_statistics::{Histogram, Pause, RunStatistics, minimum_mutator_utilisation};

use crate::options::Options;

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Windows for which the minimum mutator utilisation is given, in nanoseconds.
const WINDOWS: [u64; 7] = [1_000_000, 2_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000, 1_000_000_000];

/// The slices of the message area's collector, by thread.
fn slices() -> Vec<Histogram> {
    let mut histograms = Vec::new();
    for (thread, nanoseconds) in area_slices() {
        if histograms.len() <= thread {
            histograms.resize_with(thread + 1, Histogram::new);
        }
        histograms[thread].record(nanoseconds);
    }
    histograms
}

/// Of so many words, the part that samples say was never sent.
fn never_sent(built: u64) -> Option<u64> {
    let (sent, kept) = (AREA.samples_sent.load(Ordering::Relaxed), AREA.samples_kept.load(Ordering::Relaxed));
    (built as u128 * u128::from(kept)).checked_div(u128::from(sent + kept)).map(|words| words as u64)
}

/// Writes the record; `started` is the monotonic time of the run's start, `booted` that of the call of the program (0:
/// never).
pub fn write(file: &Path, options: &Options, schedulers: &Schedulers, started: i64, booted: i64) -> io::Result<()> {
    let counters = &COUNTERS;
    let total = (clock::monotonic() - started) as u64;
    let collecting = read(&counters.minor_time) + read(&counters.major_time);
    let (size_ns, copied_ns) = (read(&counters.size_time), read(&counters.copy_time));
    let sending = read(&counters.send_time);
    // Messages that were copied were measured first, and the time of both is in that of sending.
    let copy_ns = copied_ns.saturating_sub(size_ns);
    let mut histogram = Histogram::new();
    let mut stops = Vec::new();
    for PauseRecord { end, length } in pauses() {
        histogram.record(length);
        stops.push(Pause { start_ns: ((end - started).max(0) as u64).saturating_sub(length), length_ns: length });
    }
    let mut sizes = Histogram::new();
    for (class, count) in counters.message_sizes.iter().enumerate() {
        sizes.record_times(if class == 0 { 0 } else { 1 << (class - 1) }, read(count));
    }
    let table = &System::get().table;
    let area = |counter| (options.heap == "hybrid").then(|| read(counter));
    let record = RunStatistics {
        heap: options.heap.clone(),
        schedulers: options.schedulers as u32,
        total_ns: total,
        mutator_ns: Some((clock::process_cpu() as u64).saturating_sub(collecting + sending)),
        boot_ns: (booted > 0).then(|| (booted - started).max(0) as u64),
        send_ns: Some(sending.saturating_sub(copy_ns + size_ns)),
        size_ns: Some(size_ns),
        copy_ns: Some(copy_ns),
        minor_gc_ns: Some(read(&counters.minor_time)),
        major_gc_ns: Some(read(&counters.major_time)),
        minor_collections: read(&counters.minor_collections),
        major_collections: read(&counters.major_collections),
        longest_minor_pause_ns: Some(read(&counters.longest_minor)),
        longest_major_pause_ns: Some(read(&counters.longest_major)),
        pause_histogram: Some(histogram),
        minimum_mutator_utilisation: Some(minimum_mutator_utilisation(&stops, total, &WINDOWS)),
        messages: Some(read(&counters.messages)),
        words_copied_messages: Some(read(&counters.words_copied)),
        message_size_histogram: Some(sizes),
        spawned_processes: Some(table.spawned() as u64),
        highest_process_count: Some(table.highest_count() as u64),
        live_words: Some(read(&counters.live_words)),
        live_words_in_minor_collections: Some(read(&counters.minor_live_words)),
        live_words_in_major_collections: Some(read(&counters.major_live_words)),
        heap_words_used_highest: Some(read(&counters.highest_used_words)),
        pointers_to_old: Some(read(&counters.pointers_to_old)),
        pointers_to_young: Some(read(&counters.pointers_to_young)),
        heap_words_allocated_highest: Some(read(&counters.highest_heap_words)),
        area_words_built: area(&AREA.words_built),
        area_words_never_sent: area(&AREA.words_built).and_then(never_sent),
        area_sites_switched: area(&AREA.switched_to_area),
        area_sites_switched_back: area(&AREA.switched_back),
        area_words_copied: area(&AREA.words_copied),
        area_copies_found: area(&AREA.found),
        area_cycles: area(&AREA.cycles),
        area_words_scanned: area(&AREA.words_scanned),
        area_slices: (options.heap == "hybrid").then(slices),
        peak_rss_bytes: Some(atoll_platform::peak_resident_bytes()),
        reductions: Some(System::get().reductions.total()),
        context_switches: Some(schedulers.context_switches() as u64),
        ..RunStatistics::default()
    };
    let text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
    std::fs::write(file, text + "\n")
}
