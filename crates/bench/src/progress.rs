//! Shows how far a comparison has come.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Hears about each run before it begins.
pub trait Progress {
    /// The comparison will take this number of runs.
    fn begin(&mut self, runs: u64);
    /// A run begins; `what` says of whom, and which.
    fn run(&mut self, what: &str);
    /// A run that was counted will not take place.
    fn skip(&mut self);
    /// All runs are over.
    fn end(&mut self);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&mut self, _runs: u64) {}
    fn run(&mut self, _what: &str) {}
    fn skip(&mut self) {}
    fn end(&mut self) {}
}

/// A bar on standard error, drawn only where that is a terminal.
#[derive(Debug)]
pub struct TerminalBar {
    bar: ProgressBar,
    running: bool,
}

impl TerminalBar {
    /// A bar that is not yet drawn.
    pub fn new() -> Self {
        // Redrawn by nothing but the runs' beginnings: a ticking thread would take time from what is measured.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{bar:30.cyan/blue} {pos}/{len} runs  {wide_msg}");
        TerminalBar { bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())), running: false }
    }

    fn finish_run(&mut self) {
        if self.running {
            self.bar.inc(1);
            self.running = false;
        }
    }
}

impl Default for TerminalBar {
    fn default() -> Self {
        TerminalBar::new()
    }
}

impl Progress for TerminalBar {
    fn begin(&mut self, runs: u64) {
        self.bar.set_length(runs);
    }

    fn run(&mut self, what: &str) {
        self.finish_run();
        self.running = true;
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    fn skip(&mut self) {
        self.finish_run();
        self.bar.inc(1);
    }

    fn end(&mut self) {
        self.finish_run();
        self.bar.finish_and_clear();
    }
}
