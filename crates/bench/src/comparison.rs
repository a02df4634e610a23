//! What a comparison found: every run, and its summary.

use atoll_statistics::RunStatistics;
use serde::Serialize;

use crate::contender::ContenderKind;
use crate::spread::{Spread, ratio};

/// Everything that a comparison found; as JSON it is what `--json FILE` writes.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The program as it was named.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The options that every contender got.
    pub runtime_options: Vec<String>,
    /// How often each was to run.
    pub runs: usize,
    /// The contender that the ratios are to.
    pub baseline: String,
    /// Where it ran.
    pub machine: Machine,
    /// Who took part, in the order in which they ran.
    pub contenders: Vec<ContenderResult>,
    /// What a reader has to know beside the figures.
    pub notes: Vec<String>,
}

/// What a comparison ran on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub processors: usize,
    /// Operating system.
    pub system: &'static str,
    /// Processor architecture.
    pub architecture: &'static str,
    /// Release and flavour of stock `erl`, such as `25 (jit)`.
    pub erl: Option<String>,
}

/// What one contender did.
#[derive(Clone, Debug, Serialize)]
pub struct ContenderResult {
    /// The architecture, or `erl`.
    pub name: String,
    /// What it is.
    pub kind: ContenderKind,
    /// Why it failed, if it did; it ran no more after that.
    pub failure: Option<Failure>,
    /// Where its output differed from the first contender's, if it did.
    pub output_difference: Option<String>,
    /// Real time for an empty program, in nanoseconds.
    pub startup_ns: Option<Spread>,
    /// The runs that succeeded.
    pub runs: Vec<Run>,
    /// Their medians; `None` if the contender failed.
    pub summary: Option<Summary>,
}

/// How a contender failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// In which round, from 1.
    pub round: usize,
    /// In one line.
    pub reason: String,
    /// The beginning of what it printed to standard error.
    pub stderr: String,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// From 1; in each round every contender runs once.
    pub round: usize,
    /// Real time of the whole process.
    pub wall_ns: u64,
    /// Processor time in user mode.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub system_ns: u64,
    /// Largest resident set of the whole process; at least that of the comparison itself (a few MB), which the kernel
    /// hands down, unless the process reports its own smaller one.
    pub peak_rss_bytes: u64,
    /// Bytes printed.
    pub output_bytes: u64,
    /// What atoll measured itself.
    pub statistics: Option<RunStatistics>,
}

/// Medians and spreads of one contender's runs. What was not measured is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Real time of the whole process.
    pub wall_ns: Spread,
    /// Processor time, user and kernel together.
    pub cpu_ns: Spread,
    /// Largest resident set.
    pub peak_rss_bytes: Spread,
    /// Time in the program itself.
    pub mutator_ns: Option<Spread>,
    /// Time in sending and sizing.
    pub send_ns: Option<Spread>,
    /// Time in copying.
    pub copy_ns: Option<Spread>,
    /// Time in minor collections.
    pub minor_ns: Option<Spread>,
    /// Time in major collections.
    pub major_ns: Option<Spread>,
    /// Minor collections.
    pub minor_collections: Option<Spread>,
    /// Major collections.
    pub major_collections: Option<Spread>,
    /// Longest minor pause.
    pub longest_minor_pause_ns: Option<Spread>,
    /// Longest major pause.
    pub longest_major_pause_ns: Option<Spread>,
    /// Longest pause of any kind.
    pub longest_pause_ns: Option<Spread>,
    /// Words of 8 bytes in use in all heaps, at the highest.
    pub heap_words_used_highest: Option<Spread>,
    /// Words of 8 bytes that the heaps had taken, at the highest.
    pub heap_words_allocated_highest: Option<Spread>,
    /// Median real time as a multiple of the baseline's.
    pub wall_to_baseline: Option<f64>,
    /// Median real time as a multiple of stock `erl`'s.
    pub wall_to_erl: Option<f64>,
    /// Like `wall_to_baseline`, the empty program's time taken off both.
    pub work_to_baseline: Option<f64>,
    /// Like `wall_to_erl`, the empty program's time taken off both.
    pub work_to_erl: Option<f64>,
}

impl Summary {
    /// The summary of the runs of one contender, without the ratios, which need the others; `None` without runs.
    pub(crate) fn of(runs: &[Run]) -> Option<Summary> {
        let of = |figure: fn(&RunStatistics) -> Option<u64>| {
            Spread::of_measured(runs.iter().map(|run| run.statistics.as_ref().and_then(figure)))
        };
        Some(Summary {
            wall_ns: Spread::of(runs.iter().map(|run| run.wall_ns))?,
            cpu_ns: Spread::of(runs.iter().map(|run| run.user_ns + run.system_ns))?,
            peak_rss_bytes: Spread::of(runs.iter().map(|run| run.peak_rss_bytes))?,
            mutator_ns: of(|run| run.mutator_ns),
            send_ns: of(RunStatistics::send_and_size_ns),
            copy_ns: of(|run| run.copy_ns),
            minor_ns: of(|run| run.minor_gc_ns),
            major_ns: of(|run| run.major_gc_ns),
            minor_collections: of(|run| Some(run.minor_collections)),
            major_collections: of(|run| Some(run.major_collections)),
            longest_minor_pause_ns: of(|run| run.longest_minor_pause_ns),
            longest_major_pause_ns: of(|run| run.longest_major_pause_ns),
            longest_pause_ns: of(RunStatistics::longest_pause_ns),
            heap_words_used_highest: of(|run| run.heap_words_used_highest),
            heap_words_allocated_highest: of(|run| run.heap_words_allocated_highest),
            wall_to_baseline: None,
            wall_to_erl: None,
            work_to_baseline: None,
            work_to_erl: None,
        })
    }
}

impl ContenderResult {
    /// Median real time, the empty program's taken off.
    pub(crate) fn work_ns(&self) -> Option<u64> {
        let wall = self.summary.as_ref()?.wall_ns.median;
        wall.checked_sub(self.startup_ns?.median).filter(|work| *work > 0)
    }

    fn wall_ns(&self) -> Option<u64> {
        Some(self.summary.as_ref()?.wall_ns.median)
    }
}

impl Comparison {
    /// The contender that the others are held against, unless it failed.
    pub(crate) fn baseline(&self) -> Option<&ContenderResult> {
        self.contenders.iter().find(|one| one.name == self.baseline)
    }

    pub(crate) fn erl(&self) -> Option<&ContenderResult> {
        self.contenders.iter().find(|one| one.kind == ContenderKind::Erl)
    }

    /// Fills in the ratios, which need every contender's median.
    pub(crate) fn relate(&mut self) {
        let figures = |one: Option<&ContenderResult>| {
            (one.and_then(ContenderResult::wall_ns), one.and_then(ContenderResult::work_ns))
        };
        let (base_wall, base_work) = figures(self.baseline());
        let (erl_wall, erl_work) = figures(self.erl());
        let to = |value: Option<u64>, base: Option<u64>| ratio(value?, base?);
        for one in &mut self.contenders {
            let (wall, work) = (one.wall_ns(), one.work_ns());
            if let Some(summary) = &mut one.summary {
                summary.wall_to_baseline = to(wall, base_wall);
                summary.wall_to_erl = to(wall, erl_wall);
                summary.work_to_baseline = to(work, base_work);
                summary.work_to_erl = to(work, erl_work);
            }
        }
    }

    /// Whether any contender failed.
    pub fn has_failures(&self) -> bool {
        self.contenders.iter().any(|one| one.failure.is_some())
    }
}
