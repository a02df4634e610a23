//! The paper's evaluation: its seven programs, its tables 2, 4, 5 and 7 and figures 5, 7, 8, 9, 10 and 11, published
//! beside measured.
//!
//! [`run`] does all of it. Sizes are in megabytes of 1,000,000 bytes. What was measured on a 266 MHz Alpha in a kernel
//! cannot be compared in seconds; ratios between collectors can, and sizes.

mod fragment;
mod live;
mod measure;
mod memory;
mod pauses;
pub mod published;
mod report;
mod svg;
mod workloads;

pub use report::{Cell, Claim, Plot, Report, Table};
pub use workloads::Workload;

use crate::config::Preset;
use crate::statistics::{Pause, Statistics, Usage};
use measure::{Observe, Run};
use mimalloc::MiMalloc;
use pauses::Pauses;
use std::time::Duration;
use svg::Bars;

/// The collectors of the paper's kernel experiments, and `best`.
const KERNEL: [Preset; 6] = [Preset::TmBl, Preset::TmPm, Preset::TmRm, Preset::TmRt, Preset::Cp, Preset::Best];
/// Those of its user-level experiments, and `best`.
const USER: [Preset; 7] =
    [Preset::Fls, Preset::FlsPh, Preset::Als, Preset::AlsPh, Preset::FlsPf, Preset::FlsPf2, Preset::Best];

/// What to evaluate, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs of which the one with the median time counts.
    pub repeats: usize,
    /// The smallest heaps are found within one part in this many.
    pub parts: usize,
    /// Bytes kept live in the test of pauses with much live data; 0 leaves it out.
    pub live: usize,
    /// Whether to look for the smallest heaps (Tables 2 and 7), which takes most of the time.
    pub smallest_heaps: bool,
    /// Whether to make the other tables and the figures of the paper.
    pub figures: bool,
    /// The programs to run in the comparison with malloc; none leaves it out.
    pub malloc: Vec<Workload>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            repeats: 7,
            parts: 100,
            live: 1_000_000_000,
            smallest_heaps: true,
            figures: true,
            malloc: Workload::ALL.to_vec(),
        }
    }
}

impl Options {
    /// A quick look: single runs, coarse sizes, little live data.
    pub fn quick() -> Options {
        Options { repeats: 1, parts: 12, live: 20_000_000, ..Options::default() }
    }
}

/// Spells of the control for the test of pauses: one for so many bytes kept live, about as many as the test has pauses.
const BYTES_PER_SPELL: usize = 10_000;

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn bytes(megabytes: f64) -> usize {
    (megabytes * 1e6) as usize
}

fn names(presets: &[Preset]) -> Vec<String> {
    presets.iter().map(|preset| preset.name().to_string()).collect()
}

fn workload(name: &str) -> Option<Workload> {
    Workload::ALL.into_iter().find(|workload| workload.name() == name)
}

/// Where a program gets its memory from in [`repeat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A heap of this crate of so many bytes.
    Heap(Preset, usize),
    /// mimalloc and free.
    Mimalloc,
}

/// Runs one program several times in a row on one heap, or on malloc and free, for a profiler: what the heap counted.
///
/// `None` if memory ran out.
pub fn repeat(workload: Workload, source: Source, runs: usize) -> Option<Statistics> {
    match source {
        Source::Heap(preset, limit) => measure::repeat(&measure::configure(preset, limit, workload), workload, runs),
        Source::Mimalloc => {
            measure::malloc(&MiMalloc, workload, runs);
            Some(Statistics::default())
        }
    }
}

/// How much longer a program takes on `best`, on it without the reuse of temporaries, and on it backed at once, than on
/// mimalloc: medians over so many pairs of runs.
///
/// `None` if memory ran out.
pub fn compare(workload: Workload, pairs: usize) -> Option<[f64; 3]> {
    let config = measure::configure(Preset::Best, bytes(published::AMPLE), workload);
    measure::compare(&config, workload, pairs).map(|compared| compared.ratios)
}

/// The smallest limit in bytes, within one part in `parts`, in which a program survives; `None` if there is none below
/// a gigabyte.
pub fn smallest_heap(workload: Workload, preset: Preset, parts: usize) -> Option<usize> {
    measure::smallest_heap(preset, workload, parts)
}

/// Runs the evaluation.
pub fn run(options: &Options) -> Report {
    let mut evaluation = Evaluation { options, report: Report::default() };
    if options.smallest_heaps {
        evaluation.smallest_heaps();
    }
    if options.figures {
        evaluation.ample();
        evaluation.times("figure-5", &published::TABLE_3, &KERNEL);
        evaluation.times("figure-9", &published::TABLE_6, &USER);
        evaluation.usage_figures();
    }
    if !options.malloc.is_empty() {
        evaluation.malloc();
    }
    if options.live > 0 {
        evaluation.live();
    }
    evaluation.report
}

struct Evaluation<'a> {
    options: &'a Options,
    report: Report,
}

impl Evaluation<'_> {
    fn claim(&mut self, statement: impl Into<String>, measured: impl Into<String>, holds: bool) {
        self.report.claims.push(Claim { statement: statement.into(), measured: measured.into(), holds });
    }

    /// Tables 2 and 7.
    fn smallest_heaps(&mut self) {
        let table_2: Vec<_> = published::TABLE_2.iter().map(|(name, row)| (*name, row.as_slice())).collect();
        let table_7: Vec<_> = published::TABLE_7
            .iter()
            .map(|(name, row)| (*name, row.as_slice()))
            .chain([("CUBE", [].as_slice())])
            .collect();
        self.smallest("table-2", &table_2, &KERNEL);
        self.powers();
        self.smallest("table-7", &table_7, &USER);
    }

    /// Why `TM_BL` needs what it needs.
    fn powers(&mut self) {
        let rows = Workload::KERNEL.into_iter().map(|workload| {
            let blocks = measure::blocks(workload);
            let cells =
                [blocks.at_once, blocks.each].map(|bytes| Cell { published: None, measured: Some(bytes as f64 / 1e6) });
            (workload.name().to_string(), cells.to_vec())
        });
        self.report.tables.push(Table {
            name: "powers".into(),
            title: "live blocks of powers of two in MB: the most at one moment, and the sum of the most of each power"
                .into(),
            columns: vec!["at once".into(), "each power".into()],
            rows: rows.collect(),
        });
    }

    fn smallest(&mut self, name: &str, rows: &[(&str, &[f64])], presets: &[Preset]) {
        let mut table = Table {
            name: name.into(),
            title: "smallest heap in MB, published / measured".into(),
            columns: names(presets),
            rows: Vec::new(),
        };
        for (program, published) in rows {
            let Some(workload) = workload(program) else { continue };
            let cells: Vec<Cell> = presets
                .iter()
                .enumerate()
                .map(|(column, preset)| Cell {
                    published: published.get(column).copied().filter(|_| *preset != Preset::Best),
                    measured: measure::smallest_heap(*preset, workload, self.options.parts).map(megabytes),
                })
                .collect();
            self.judge_smallest(program, presets, &cells);
            table.rows.push((program.to_string(), cells));
        }
        self.report.tables.push(table);
    }

    fn judge_smallest(&mut self, program: &str, presets: &[Preset], cells: &[Cell]) {
        let of = |preset| {
            let column = presets.iter().position(|other| *other == preset)?;
            cells[column].measured
        };
        let rivals = presets.iter().filter(|preset| **preset != Preset::Best);
        let least = rivals.filter_map(|preset| of(*preset)).fold(f64::INFINITY, f64::min);
        if let Some(best) = of(Preset::Best) {
            self.claim(
                format!("{program}: the smallest heap of best is at or below the best of the paper's collectors"),
                format!("{best:.2} MB, theirs {least:.2} MB"),
                best <= least,
            );
        }
        if let (Some(base), Some(remapped)) = (of(Preset::TmBl), of(Preset::TmRm)) {
            let saved = 100.0 * (1.0 - remapped / base);
            self.claim(
                format!("{program}: the smallest heap of TM_RM is 25% to 60% below that of TM_BL"),
                format!("{saved:.0}% below"),
                (25.0..=60.0).contains(&saved),
            );
        }
    }

    /// Tables 4 and 5 and Figure 8, all with ample memory, and the utilisation of pages at collections.
    fn ample(&mut self) {
        let columns = names(&KERNEL);
        let table = |name: &str, title: &str| Table {
            name: name.into(),
            title: title.into(),
            columns: columns.clone(),
            rows: Vec::new(),
        };
        let mut frequency = table("table-4", "collections per MB allocated in 22.7 MB, published / measured");
        let mut pauses = table("table-5", "longest pause in ms of processor time in 22.7 MB, published / measured");
        let mut pages =
            table("utilisation", "pages in use at the beginning of collections, mean, in percent of the heap");
        for workload in Workload::ALL {
            let row = |rows: &[(&str, [f64; 5])], column: usize| {
                let found = rows.iter().find(|(name, _)| *name == workload.name());
                found.and_then(|(_, row)| row.get(column).copied())
            };
            let (mut frequencies, mut longest, mut used) = (Vec::new(), Vec::new(), Vec::new());
            for (column, preset) in KERNEL.into_iter().enumerate() {
                let config = measure::configure(preset, bytes(published::AMPLE), workload);
                let runs: Vec<Run> = (0..self.options.repeats.max(1))
                    .filter_map(|_| measure::run(&config, workload, Observe { pauses: true, ..Observe::default() }))
                    .collect();
                let last = runs.last();
                let per_megabyte =
                    last.map(|run| run.statistics.collections as f64 / (run.statistics.bytes as f64 / 1e6));
                let pause = Pauses::of(&runs);
                self.judge_pause(workload, preset, pause);
                let share = last.and_then(page_share);
                if preset == Preset::TmRm
                    && Workload::KERNEL.contains(&workload)
                    && let Some(share) = share
                {
                    let statement =
                        format!("{}: above 95% of pages are in use at collections of TM_RM", workload.name());
                    self.claim(statement, format!("{share:.1}%"), share > 95.0);
                }
                frequencies.push(Cell { published: row(&published::TABLE_4, column), measured: per_megabyte });
                longest.push(Cell {
                    published: row(&published::TABLE_5, column),
                    measured: pause.map(|pause| pause.processor),
                });
                used.push(Cell { published: None, measured: share });
            }
            frequency.rows.push((workload.name().into(), frequencies));
            pauses.rows.push((workload.name().into(), longest));
            pages.rows.push((workload.name().into(), used));
        }
        self.report.tables.extend([frequency, pauses, pages]);
        self.overhead();
    }

    fn judge_pause(&mut self, workload: Workload, preset: Preset, pauses: Option<Pauses>) {
        let bound = match preset {
            Preset::TmRt => 15.0,
            Preset::Best => 0.2,
            _ => return,
        };
        let Some(pauses) = pauses else { return };
        self.claim(
            format!("{}: the longest pause of {} is at most {bound} ms in 22.7 MB", workload.name(), preset.name()),
            pauses.describe(),
            pauses.processor <= bound && pauses.undisturbed <= bound,
        );
    }

    /// Figure 8.
    fn overhead(&mut self) {
        let parts = ["init", "getmem", "migration", "barrier", "collection"];
        let mut table = Table {
            name: "figure-8".into(),
            title: "overhead of TM_BL, TM_PM, TM_RM, TM_RT in percent of the program's own time, with ample memory"
                .into(),
            columns: parts.iter().map(|part| part.to_string()).collect(),
            rows: Vec::new(),
        };
        let mut groups = Vec::new();
        for workload in Workload::KERNEL {
            for preset in [Preset::TmBl, Preset::TmPm, Preset::TmRm, Preset::TmRt] {
                let config = measure::configure(preset, bytes(published::AMPLE), workload);
                let observe = Observe { timing: true, pauses: true, ..Observe::default() };
                let run = measure::median(&config, workload, observe, self.options.repeats);
                let shares = run.map(|run| {
                    let times = run.statistics.times;
                    let collecting = run.statistics.paused;
                    let own = run
                        .time
                        .saturating_sub(collecting + times.init + times.getmem + times.migration + times.barrier);
                    let percent = |time: Duration| 100.0 * time.as_secs_f64() / own.as_secs_f64().max(1e-9);
                    [times.init, times.getmem, times.migration, times.barrier, collecting].map(percent).to_vec()
                });
                let label = format!("{} {}", workload.name(), preset.name());
                let cells = match &shares {
                    Some(shares) => {
                        shares.iter().map(|share| Cell { published: None, measured: Some(*share) }).collect()
                    }
                    None => vec![Cell::default(); parts.len()],
                };
                table.rows.push((label.clone(), cells));
                groups.push(Bars { label, bars: vec![shares] });
            }
        }
        let svg =
            svg::bars("Figure 8: overhead with ample memory", "percent of the program's own time", &parts, &groups);
        self.report.plots.push(Plot { name: "figure-8".into(), svg });
        self.report.tables.push(table);
    }

    /// Figures 5 and 9: time at three heap sizes.
    fn times(&mut self, name: &str, sizes: &[(&str, [f64; 3])], presets: &[Preset]) {
        let mut table = Table {
            name: name.into(),
            title: "processor time in ms at each heap size (- where memory ran out)".into(),
            columns: names(presets),
            rows: Vec::new(),
        };
        for (program, limits) in sizes {
            let Some(workload) = workload(program) else { continue };
            let mut groups: Vec<Bars> =
                presets.iter().map(|preset| Bars { label: preset.name().into(), bars: Vec::new() }).collect();
            for limit in limits {
                let mut cells = Vec::new();
                for (preset, group) in presets.iter().zip(&mut groups) {
                    let config = measure::configure(*preset, bytes(*limit), workload);
                    let observe = Observe { pauses: true, ..Observe::default() };
                    let run = measure::median(&config, workload, observe, self.options.repeats);
                    let time = run.as_ref().map(|run| run.time.as_secs_f64() * 1e3);
                    cells.push(Cell { published: None, measured: time });
                    group.bars.push(run.map(|run| {
                        let paused = run.statistics.paused.as_secs_f64() * 1e3;
                        vec![paused, run.time.as_secs_f64() * 1e3 - paused]
                    }));
                }
                table.rows.push((format!("{program} {limit}"), cells));
            }
            let title = format!("{name}: {program} in {} / {} / {} MB", limits[0], limits[1], limits[2]);
            let svg = svg::bars(&title, "milliseconds", &["allocation and collection", "program"], &groups);
            self.report.plots.push(Plot { name: format!("{name}-{program}"), svg });
        }
        self.report.tables.push(table);
    }

    /// Figures 7, 10 and 11: the use of memory over the allocation clock.
    fn usage_figures(&mut self) {
        for workload in Workload::KERNEL {
            for preset in KERNEL {
                self.usage_figure("figure-7", preset, workload, published::AMPLE);
            }
        }
        for (workload, limit) in [(Workload::M3pp, 1.5), (Workload::M3, 10.6)] {
            let mut rows = Vec::new();
            for preset in USER {
                rows.push((preset, self.usage_figure("figure-10", preset, workload, limit)));
            }
            self.internal(workload, &rows);
        }
        self.external();
    }

    fn usage_figure(&mut self, figure: &str, preset: Preset, workload: Workload, limit: f64) -> Option<Usage> {
        let config = measure::configure(preset, bytes(limit), workload);
        let every = published::TABLE_1.iter().find(|(name, ..)| *name == workload.name());
        let every = every.map_or(10_000, |(_, allocated, _)| (allocated * 1e6 / 600.0) as u64);
        let run = measure::run(&config, workload, Observe { samples: Some(every), ..Observe::default() })?;
        let title = format!("{figure}: {} on {} in {limit} MB", workload.name(), preset.name());
        let svg = svg::usage(&title, &run.samples);
        self.report.plots.push(Plot { name: format!("{figure}-{}-{}", workload.name(), preset.name()), svg });
        run.samples.iter().max_by_key(|usage| usage.useful + usage.header + usage.padding).copied()
    }

    /// The split of what is in use at the peak, which Figure 10 shows and the paper's text quotes for `FLS`.
    fn internal(&mut self, workload: Workload, peaks: &[(Preset, Option<Usage>)]) {
        let quoted = published::FIGURE_10.iter().find(|(name, ..)| *name == workload.name());
        let share = |part: u64, usage: &Usage| {
            100.0 * part as f64 / (usage.useful + usage.header + usage.padding).max(1) as f64
        };
        let rows = peaks
            .iter()
            .map(|(preset, usage)| {
                let of = |part: fn(&Usage) -> u64| usage.as_ref().map(|usage| share(part(usage), usage));
                let published =
                    |value: fn(&(&str, f64, f64)) -> f64| quoted.filter(|_| *preset == Preset::Fls).map(value);
                let cells = vec![
                    Cell { published: published(|row| row.2), measured: of(|usage| usage.header) },
                    Cell { published: published(|row| row.1 - row.2), measured: of(|usage| usage.padding) },
                    Cell { published: published(|row| row.1), measured: of(|usage| usage.header + usage.padding) },
                ];
                (preset.name().to_string(), cells)
            })
            .collect();
        self.report.tables.push(Table {
            name: format!("figure-10-{}", workload.name()),
            title: "internal fragmentation at the peak, in percent of what is in use, published / measured".into(),
            columns: vec!["headers".into(), "padding".into(), "together".into()],
            rows,
        });
    }

    /// Figure 11: what is neither in an object nor on a free page when a collection begins.
    fn external(&mut self) {
        const LIMIT: f64 = 1.6;
        let mut rows = Vec::new();
        for (column, preset) in [Preset::Fls, Preset::FlsPf, Preset::FlsPf2, Preset::Best].into_iter().enumerate() {
            let config = crate::Config::preset(preset, bytes(LIMIT));
            let observe = Observe { samples: Some(20_000), ..Observe::default() };
            let run = measure::run_program(&config, observe, fragment::run);
            let external = run.as_ref().and_then(sub_page_share);
            let published = published::FIGURE_11.get(column).map(|(_, percent)| *percent);
            rows.push((preset.name().to_string(), vec![Cell { published, measured: external }]));
            if let Some(run) = run {
                let title = format!("figure-11: {} in {LIMIT} MB", preset.name());
                let svg = svg::usage(&title, &run.samples);
                self.report.plots.push(Plot { name: format!("figure-11-{}", preset.name()), svg });
            }
        }
        self.report.tables.push(Table {
            name: "figure-11".into(),
            title: format!("sub-page external fragmentation at collections in {LIMIT} MB, in percent of the heap"),
            columns: vec!["external".into()],
            rows,
        });
    }

    /// The same programs on malloc and free.
    fn malloc(&mut self) {
        let mut rows = Vec::new();
        for workload in self.options.malloc.iter().copied() {
            let config = measure::configure(Preset::Best, bytes(published::AMPLE), workload);
            // Short programs are run more often.
            let repeats = if matches!(workload, Workload::M3pp | Workload::M3 | Workload::Cube | Workload::Httpd) {
                self.options.repeats * 9
            } else {
                self.options.repeats * 3
            };
            let compared = measure::compare(&config, workload, repeats);
            if let Some(compared) = compared {
                for (ratio, how) in
                    compared.ratios.into_iter().zip(["", " without the reuse of temporaries", " backed at once"])
                {
                    let name = workload.name();
                    let statement = format!("{name}: best{how} takes at most 1.3 times what mimalloc takes");
                    let measured = format!("{ratio:.2} times (the median of {repeats} pairs of runs)");
                    self.claim(statement, measured, ratio <= 1.3);
                }
            }
            let times = compared.map(|compared| compared.times.map(|time| time.as_secs_f64() * 1e3));
            let ratios = compared.map(|compared| compared.ratios);
            let figures = times.into_iter().flatten().chain(ratios.into_iter().flatten());
            let mut cells: Vec<Cell> = figures.map(|figure| Cell { published: None, measured: Some(figure) }).collect();
            cells.resize(8, Cell::default());
            rows.push((workload.name().to_string(), cells));
        }
        self.report.tables.push(Table {
            name: "malloc".into(),
            title: "processor time in ms on one heap of 22.7 MB used again and again, also without the reuse of temporaries, and backed at once; and on malloc and free"
                .into(),
            columns: ["best", "no temporaries", "backed", "mimalloc", "system malloc", "best/mimalloc", "no temp./mimalloc", "backed/mimalloc"]
                .map(String::from)
                .to_vec(),
            rows,
        });
    }

    /// Pauses with much live data.
    fn live(&mut self) {
        let live = self.options.live;
        let limit = live + live * 6 / 10;
        let runs: Vec<(Statistics, Vec<Pause>)> = (0..self.options.repeats.clamp(1, 3))
            .filter_map(|_| live::run(&crate::Config::best(limit), live, live * 2))
            .collect();
        let pauses = Pauses::among(&runs.iter().map(|run| &run.0).collect::<Vec<_>>());
        let statistics = runs.last().map(|run| &run.0);
        if let (Some(statistics), Some(pauses)) = (statistics, pauses) {
            self.claim(
                format!("the longest pause of best with {} MB live is at most 1 ms", live / 1_000_000),
                format!("{} in {} collections", pauses.describe(), statistics.collections),
                pauses.processor <= 1.0 && pauses.undisturbed <= 1.0,
            );
        }
        let longest = pauses.map(|pauses| pauses.processor);
        let cells = [longest, statistics.map(|statistics| statistics.collections as f64)];
        self.report.tables.push(Table {
            name: "live".into(),
            title: format!("best with {} MB live in a heap of {} MB", live / 1_000_000, limit / 1_000_000),
            columns: vec!["longest pause ms".into(), "collections".into()],
            rows: vec![("lists".into(), cells.map(|measured| Cell { published: None, measured }).to_vec())],
        });
        let pauses = runs.into_iter().flat_map(|run| run.1).collect();
        self.report.tables.push(pauses::log("live-pauses", "the longest pauses of that", pauses));
        let pauses = pauses::control(live / BYTES_PER_SPELL);
        let title = "the longest of spells of 40 us that do nothing, measured in the same way right after";
        self.report.tables.push(pauses::log("control", title, pauses));
    }
}

/// Pages in use at the beginning of collections, in percent of the limit.
fn page_share(run: &Run) -> Option<f64> {
    mean(
        run.collections
            .iter()
            .map(|collection| 100.0 * collection.before.in_use as f64 / collection.before.limit.max(1) as f64),
    )
}

/// What of the pages in use is in no object, in percent of the limit, at the beginning of collections.
fn sub_page_share(run: &Run) -> Option<f64> {
    mean(run.collections.iter().map(|collection| {
        let before = collection.before;
        let inside = before.useful + before.header + before.padding;
        100.0 * before.in_use.saturating_sub(inside) as f64 / before.limit.max(1) as f64
    }))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_report_shows_published_beside_measured() {
        let mut evaluation = Evaluation { options: &Options::quick(), report: Report::default() };
        evaluation.times("figure-9", &[("M3PP", [1.5, 0.8, 0.05])], &[Preset::Fls, Preset::Best]);
        evaluation.claim("a", "b", false);
        let report = evaluation.report;
        assert_eq!(report.tables[0].rows.len(), 3);
        assert!(report.tables[0].rows[0].1.iter().all(|cell| cell.measured.is_some()));
        assert!(report.tables[0].rows[2].1.iter().all(|cell| cell.measured.is_none()), "64 KiB are not a heap");
        assert!(report.text().contains("FAILS") && report.csv().lines().count() == 7);
        assert!(report.plots[0].svg.starts_with("<svg") && report.plots[0].svg.ends_with("</svg>\n"));
    }

    #[test]
    fn the_smallest_heap_is_one_that_suffices() {
        let smallest = measure::smallest_heap(Preset::Fls, Workload::M3pp, 20).expect("some heap");
        let config = measure::configure(Preset::Fls, smallest, Workload::M3pp);
        assert!(measure::run(&config, Workload::M3pp, Observe::default()).is_some());
        assert!((100_000..1_000_000).contains(&smallest), "{smallest}");
    }
}
