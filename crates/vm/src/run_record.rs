//! The record of what a run cost (`--stats`).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::counters::{self, AreaCounters, PauseRecord, area_slices, counters, helps, pauses, pauses_count_from};
use atoll_heap::lanes::{Kind, Level};
use atoll_platform::clock;
use atoll_process::System;
use atoll_scheduler::Scheduling;
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
    // Other threads have numbers, too.
    histograms.retain(|histogram| histogram.count() > 0);
    histograms
}

/// Of so many words, the part that samples say was never sent.
fn never_sent(area: &AreaCounters) -> Option<u64> {
    let [built, sent, kept] = [&area.words_built, &area.samples_sent, &area.samples_kept].map(read);
    (built as u128 * u128::from(kept)).checked_div(u128::from(sent + kept)).map(|words| words as u64)
}

/// Writes the record if one is asked for; `started` is the monotonic time of the run's start, `booted` that of the call
/// of the program (0: never).
///
/// # Errors
/// The file cannot be written.
pub fn write(options: &Options, scheduling: &dyn Scheduling, started: i64, booted: i64) -> Result<(), String> {
    let Some(file) = &options.statistics else { return Ok(()) };
    write_to(file, options, scheduling, started, booted).map_err(|error| format!("--stats {}: {error}", file.display()))
}

fn write_to(file: &Path, options: &Options, scheduling: &dyn Scheduling, started: i64, booted: i64) -> io::Result<()> {
    let (counters, figures) = (counters(), counters::area());
    let total = (clock::monotonic() - started) as u64;
    let lanes = &counters.lanes;
    let (messages, words_copied) = lanes.messages();
    let [minor, major] = [Kind::Minor, Kind::Major].map(|kind| lanes.collections(kind));
    let collecting = minor.time + major.time;
    let (size_ns, copied_ns) = (read(&counters.size_time), read(&counters.copy_time));
    let sending = read(&counters.send_time);
    // Messages that were copied were measured first, and the time of both is in that of sending.
    let copy_ns = copied_ns.saturating_sub(size_ns);
    let [mut histogram, mut cpu_histogram, mut help] = [(); 3].map(|()| Histogram::new());
    let [mut stops, mut cpu_stops] = [(); 2].map(|()| Vec::new());
    let (now, from) = (clock::monotonic(), started.max(pauses_count_from()));
    let counted = (now - from) as u64;
    let stop =
        |end: i64, length_ns| Pause { start_ns: ((end - from).max(0) as u64).saturating_sub(length_ns), length_ns };
    for PauseRecord { end, length, used } in pauses() {
        histogram.record(length);
        cpu_histogram.record(used);
        stops.push(stop(end, length));
        cpu_stops.push(stop(end, used));
    }
    helps().iter().for_each(|record| help.record(record.used));
    let mut sizes = Histogram::new();
    for (class, count) in counters.message_sizes.iter().enumerate() {
        sizes.record_times(if class == 0 { 0 } else { 1 << (class - 1) }, read(count));
    }
    let table = &System::get().table;
    let area = |counter| (options.heap == "hybrid").then(|| read(counter));
    let native = atoll_native::compilations();
    let record = RunStatistics {
        heap: options.heap.clone(),
        schedulers: scheduling.count() as u32,
        total_ns: total,
        mutator_ns: Some((clock::process_cpu() as u64).saturating_sub(collecting + sending)),
        boot_ns: (booted > 0).then(|| (booted - started).max(0) as u64),
        send_ns: Some(sending.saturating_sub(copy_ns + size_ns)),
        size_ns: Some(size_ns),
        copy_ns: Some(copy_ns),
        minor_gc_ns: Some(minor.time),
        major_gc_ns: Some(major.time),
        minor_collections: minor.count,
        major_collections: major.count,
        longest_minor_pause_ns: Some(minor.longest),
        longest_major_pause_ns: Some(major.longest),
        pauses_counted_ns: Some(counted),
        pause_histogram: Some(histogram),
        pause_cpu_histogram: Some(cpu_histogram),
        help_cpu_histogram: Some(help),
        minimum_mutator_utilisation: Some(minimum_mutator_utilisation(&stops, counted, &WINDOWS)),
        minimum_mutator_utilisation_cpu: Some(minimum_mutator_utilisation(&cpu_stops, counted, &WINDOWS)),
        messages: Some(messages),
        words_copied_messages: Some(words_copied),
        message_size_histogram: Some(sizes),
        spawned_processes: Some(table.spawned() as u64),
        highest_process_count: Some(table.highest_count() as u64),
        live_words: Some(read(&counters.live_words)),
        live_words_in_minor_collections: Some(minor.live_words),
        live_words_in_major_collections: Some(major.live_words),
        heap_words_used_highest: Some(lanes.highest(Level::Used)),
        pointers_to_old: Some(read(&counters.pointers_to_old)),
        pointers_to_young: Some(read(&counters.pointers_to_young)),
        heap_words_allocated_highest: Some(lanes.highest(Level::Heap)),
        area_words_built: area(&figures.words_built),
        area_words_never_sent: area(&figures.words_built).and_then(|_| never_sent(figures)),
        area_sites_switched: area(&figures.switched_to_area),
        area_sites_switched_back: area(&figures.switched_back),
        area_words_copied: area(&figures.words_copied),
        area_copies_found: area(&figures.found),
        area_cycles: area(&figures.cycles),
        area_words_scanned: area(&figures.words_scanned),
        area_slices: (options.heap == "hybrid").then(slices),
        peak_rss_bytes: Some(atoll_platform::peak_resident_bytes()),
        reductions: Some(System::get().reductions.total()),
        native_functions: native.map(|native| native.functions),
        native_refused: native.map(|native| native.refused),
        native_kept: native.map(|native| native.kept),
        native_code_bytes: native.map(|native| native.code_bytes),
        native_held_bytes: native.map(|native| native.held_bytes),
        native_compile_ns: native.map(|native| native.micros * 1000),
        native_exits: native.map(|native| native.exits.room + native.exits.operands + native.exits.other),
        native_exits_for_room: native.map(|native| native.exits.room),
        native_exits_for_operands: native.map(|native| native.exits.operands),
        native_lent: native.map(|native| native.exits.lent),
        context_switches: Some(scheduling.context_switches() as u64),
        ..RunStatistics::default()
    };
    let text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
    std::fs::write(file, text + "\n")
}
