//! The longest pauses of some runs, and a log that says what the operating system did in each.

use super::measure::Run;
use super::report::{Cell, Table};
use crate::statistics::{Cause, Log, Pause, Statistics};
use std::time::{Duration, Instant};

/// The longest pauses of some runs, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    pub(super) runs: usize,
    /// Processor time, the median over the runs.
    pub(super) processor: f64,
    /// By the clock on the wall, of pauses in which the thread was not preempted, the median over the runs.
    pub(super) undisturbed: f64,
    /// By the clock on the wall, the longest of all runs, and pauses of all runs in which the thread was preempted.
    pub(super) worst: f64,
    pub(super) preempted: u64,
}

impl Pauses {
    pub(super) fn of(runs: &[Run]) -> Option<Pauses> {
        let statistics: Vec<&Statistics> = runs.iter().map(|run| &run.statistics).collect();
        Pauses::among(&statistics)
    }

    pub(super) fn among(statistics: &[&Statistics]) -> Option<Pauses> {
        let each = |what: fn(&Statistics) -> Duration| {
            let mut each: Vec<f64> = statistics.iter().map(|statistics| what(statistics).as_secs_f64() * 1e3).collect();
            each.sort_by(f64::total_cmp);
            each
        };
        let median = |each: Vec<f64>| each.get(each.len() / 2).copied();
        Some(Pauses {
            runs: statistics.len(),
            processor: median(each(|statistics| statistics.longest_processor))?,
            undisturbed: median(each(|statistics| statistics.longest_undisturbed))?,
            worst: each(|statistics| statistics.longest_pause).last().copied()?,
            preempted: statistics.iter().map(|statistics| statistics.preempted_pauses).sum(),
        })
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "{:.3} ms of processor time, {:.3} ms by the clock on the wall where not preempted (medians of {}); {} pauses were preempted, at worst {:.3} ms",
            self.processor, self.undisturbed, self.runs, self.preempted, self.worst
        )
    }
}

/// What so many spells of a collector's length look like that do nothing and touch no memory, measured as pauses are:
/// what the machine alone does to a thread.
pub(super) fn control(spells: usize) -> Vec<Pause> {
    const SPELL: Duration = Duration::from_micros(40);
    let log = Log::new(SPELL * 2);
    log.measure_processor_time(true);
    for _ in 0..spells {
        let since = log.start();
        let end = Instant::now() + SPELL;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        log.pause(since, Cause::Increment);
    }
    log.pauses()
}

/// The pauses with the most processor time, and the longest by the clock on the wall, with what the operating system
/// did in them.
pub(super) fn log(name: &str, title: &str, mut pauses: Vec<Pause>) -> Table {
    const SHOWN: usize = 5;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let mut rows = Vec::new();
    let mut show = |label: &str, pauses: &[Pause]| {
        for pause in pauses.iter().take(SHOWN) {
            let mut figures = vec![milliseconds(pause.length)];
            if let Some(effort) = pause.effort {
                let disturbances = effort.disturbances;
                figures.push(milliseconds(effort.processor));
                figures.push(milliseconds(disturbances.kernel));
                figures.extend([disturbances.preempted, disturbances.waited, disturbances.faults].map(|n| n as f64));
            }
            let cells = figures.into_iter().map(|figure| Cell { published: None, measured: Some(figure) });
            rows.push((format!("{label} {:?}", pause.cause), cells.collect()));
        }
    };
    pauses.sort_by_key(|pause| std::cmp::Reverse(pause.effort.map(|effort| effort.processor)));
    show("processor", &pauses);
    pauses.sort_by_key(|pause| std::cmp::Reverse(pause.length));
    show("wall", &pauses);
    pauses.retain(|pause| pause.effort.is_some_and(|effort| effort.disturbances.preempted == 0));
    show("not preempted", &pauses);
    Table {
        name: name.into(),
        title: format!("{title}: by processor time, by the clock on the wall, by that where not preempted"),
        columns: ["wall ms", "processor ms", "of it kernel ms", "preempted", "waited", "page faults"]
            .map(String::from)
            .to_vec(),
        rows,
    }
}
